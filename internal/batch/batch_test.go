package batch_test

import (
	"context"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"claviger/internal/batch"
)

// TestWorkerRests: a worker looks every other second while there is no work, and five times a
// second while there is.
func TestWorkerRests(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		looks, work := 0, false
		w := batch.Worker{Log: slog.New(slog.DiscardHandler), Once: func(context.Context) (bool, error) {
			looks++
			did := work
			work = false
			return did, nil
		}}
		ctx, stop := context.WithCancel(t.Context())
		defer stop()
		go w.Run(ctx)
		count := func(d time.Duration) int {
			before := looks
			time.Sleep(d)
			synctest.Wait()
			return looks - before
		}
		if n := count(time.Minute); n > 33 || n < 28 {
			t.Errorf("%d looks in an idle minute", n)
		}
		work = true
		if n := count(4 * time.Second); n < 6 {
			t.Errorf("%d looks in the four seconds after there was work", n)
		}
		count(time.Minute)
		if n := count(time.Minute); n > 32 {
			t.Errorf("%d looks in an idle minute after work", n)
		}
	})
}
