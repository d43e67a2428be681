package dispatch_test

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"claviger/internal/sqldb/sqldbtest"
	"claviger/internal/webhook"
)

// Nothing outlives Run: it returns when the last poll and the last search are done, however long
// they take.
func TestNothingOutlivesRun(t *testing.T) {
	if sqldbtest.Postgres() {
		t.Skip("the clock of a test stands still while a connection is read")
	}
	for name, hang := range map[string]func(r *harness, out *outbox, wait func()){
		"a poll": func(_ *harness, out *outbox, wait func()) {
			out.Dispatcher.Store.Now = func() time.Time { wait(); return now() }
		},
		"a search": func(r *harness, out *outbox, wait func()) {
			out.Dispatcher.Store.Endpoint = func(context.Context, int64) (webhook.Endpoint, error) { wait(); return webhook.Endpoint{}, nil }
			r.event(r.out, 1)
		},
	} {
		t.Run(name, func(t *testing.T) {
			url := sqldbtest.URL(t)
			synctest.Test(t, func(t *testing.T) {
				r := harnessAt(t, url)
				r.partner(1, nil)
				r.license(1, 1)
				out := r.node(settings{})
				var waits atomic.Int64
				goOn := make(chan struct{})
				hang(r, out, func() { waits.Add(1); <-goOn })
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				done := make(chan error, 1)
				go func() { done <- out.Dispatcher.Run(ctx) }()
				synctest.Wait()
				same(t, "waits", waits.Load(), 1)
				cancel()
				time.Sleep(time.Hour)
				same(t, "ended before", len(done), 0)
				close(goOn)
				if err := <-done; err != nil {
					t.Error(err)
				}
			})
		})
	}
}
