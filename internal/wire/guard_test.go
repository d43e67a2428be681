package wire_test

import (
	"context"
	"errors"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"claviger/internal/wire"
)

// TestGuardBoundsLookups: for an address with too many failures, only a few lookups run
// concurrently. Others do not wait for them, and each gets its turn.
func TestGuardBoundsLookups(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const flood = 50
		g := &wire.Guard{Failures: &wire.Limiter{PerMinute: 1}}
		bad, good := httptest.NewRequestWithContext(t.Context(), "GET", "/", nil), httptest.NewRequestWithContext(t.Context(), "GET", "/", nil)
		bad.RemoteAddr, good.RemoteAddr = "192.0.2.1:1", "192.0.2.2:1"
		if q := g.Count(wire.Client(bad)); !q.OK {
			t.Fatalf("the first failure: %+v", q)
		}
		release := make(chan struct{})
		var running, done atomic.Int32
		for range flood {
			go func() {
				_ = g.Lookup(bad, func() error {
					running.Add(1)
					<-release
					running.Add(-1)
					return nil
				})
				done.Add(1)
			}()
		}
		synctest.Wait()
		if n := running.Load(); n < 1 || n > 8 {
			t.Errorf("%d lookups run at once", n)
		}
		if err := g.Lookup(good, func() error { return nil }); err != nil {
			t.Errorf("another address: %v", err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if err := g.Lookup(bad.WithContext(ctx), func() error { return nil }); !errors.Is(err, context.Canceled) {
			t.Errorf("a client that left: %v", err)
		}
		close(release)
		synctest.Wait()
		if n := done.Load(); n != flood {
			t.Errorf("%d of %d had their turn", n, flood)
		}
	})
}
