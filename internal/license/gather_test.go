package license_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"testing"
	"time"

	"claviger/internal/fault"
	"claviger/internal/license"
	"claviger/internal/partner"
	"claviger/internal/sqldb"
)

// hold holds the lock of a partner, so that its set cannot finish until release is called.
func (h *harness) hold(partnerID int64) (release func()) {
	h.Helper()
	held, let, ended := make(chan struct{}), make(chan struct{}), make(chan error, 1)
	go func() {
		ended <- h.db.Write(context.WithoutCancel(h.Context()), func(tx *sqldb.Tx) error {
			_, err := partner.Lock(tx, partnerID).One(h.Context())
			close(held)
			<-let
			return err
		})
	}()
	<-held
	return func() {
		h.Helper()
		close(let)
		if err := <-ended; err != nil {
			h.Error(err)
		}
	}
}

// await waits until this number of orders of a partner wait behind the current set.
func (h *harness) await(partnerID int64, want int) {
	for {
		if n, under := h.licenses.Gather.Waiting(partnerID); under && n == want {
			return
		}
		runtime.Gosched()
	}
}

// awaitNone waits until no set of a partner is being sold: the goroutine ends when no order waits.
func (h *harness) awaitNone(partnerID int64) {
	for {
		if _, under := h.licenses.Gather.Waiting(partnerID); !under {
			return
		}
		runtime.Gosched()
	}
}

// TestOrdersThatComeTogether checks that orders during a set join the next one: fifty orders take
// two transactions. An order that is cancelled before its set begins is not sold.
func TestOrdersThatComeTogether(t *testing.T) {
	h := newHarness(t)
	p := h.partner()
	release := h.hold(p)
	var wg sync.WaitGroup
	buy := func(ctx context.Context, order license.Purchase, want string) {
		wg.Go(func() {
			order.PartnerID, order.Quantity = p, 1
			if _, err := h.licenses.Purchase(ctx, tester, order); code(err) != want {
				t.Errorf("%s: got %q, want %q", order.ExternalID, code(err), want)
			}
		})
	}
	buy(t.Context(), license.Purchase{Tier: 1, ExternalID: "first"}, "")
	h.await(p, 0)
	before, _ := h.db.Counts()
	for i := range 47 {
		buy(t.Context(), license.Purchase{Tier: 1, ExternalID: fmt.Sprint("order ", i%40)}, "")
	}
	buy(t.Context(), license.Purchase{Tier: 9, ExternalID: "refused"}, "unknown_tier")
	h.await(p, 48)
	gone, leave := context.WithCancel(t.Context())
	buy(gone, license.Purchase{Tier: 1, ExternalID: "gone"}, "wait for a sale: context canceled")
	h.await(p, 49)
	leave()
	release()
	wg.Wait()
	if after, _ := h.db.Counts(); after-before != 3 { // including the one that held the lock
		t.Errorf("%d transactions, want 3", after-before)
	}
	if n := h.count(`SELECT count(*) FROM licenses`); n != 41 {
		t.Errorf("%d licenses, want 41", n)
	}
	h.awaitNone(p)
	h.verify()
}

// TestSetsAreBounded checks the limits of orders and licenses per set, which bound the wait of the
// last order. The rest is in the next set.
func TestSetsAreBounded(t *testing.T) {
	for name, c := range map[string]struct{ orders, quantity int }{
		"orders":   {300, 1},  // a set has at most 256
		"licenses": {12, 100}, // a set has at most 1,000
	} {
		t.Run(name, func(t *testing.T) {
			h := newHarness(t)
			p := h.partner()
			release := h.hold(p)
			var wg sync.WaitGroup
			buy := func(n, quantity int) {
				wg.Go(func() {
					if _, err := h.licenses.Purchase(t.Context(), tester, license.Purchase{PartnerID: p, Tier: 1, Quantity: quantity, ExternalID: fmt.Sprint(n)}); err != nil {
						t.Error(err)
					}
				})
			}
			buy(0, 1)
			h.await(p, 0)
			before, _ := h.db.Counts()
			for n := range c.orders {
				buy(n+1, c.quantity)
			}
			h.await(p, c.orders)
			release()
			wg.Wait()
			if after, _ := h.db.Counts(); after-before != 4 { // the lock's, the first order's, and two sets
				t.Errorf("%d transactions, want 4", after-before)
			}
			h.verify()
		})
	}
}

// TestOrdersThatWaitAreBounded checks that an order over the limit of waiting orders is refused for
// now. When the queue is empty, orders are sold as before.
func TestOrdersThatWaitAreBounded(t *testing.T) {
	h := newHarness(t)
	p := h.partner()
	order := license.Purchase{PartnerID: p, Tier: 1, Quantity: 1}
	release := h.hold(p)
	ctx, leave := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	wait := func() {
		wg.Go(func() {
			if _, err := h.licenses.Purchase(ctx, tester, order); !errors.Is(err, context.Canceled) {
				t.Errorf("who went away was answered %v", err)
			}
		})
	}
	wait()
	h.await(p, 0)
	const most = 10_000
	for range most {
		wait()
	}
	h.await(p, most)
	_, err := h.licenses.Purchase(t.Context(), tester, order)
	if f := fault.Of(err); f == nil || f.Kind != fault.Busy || f.Code != "too_many_orders" || f.After != time.Second {
		t.Errorf("one more was answered %v", err)
	}
	leave()
	release()
	wg.Wait()
	h.awaitNone(p)
	if _, err := h.licenses.Purchase(t.Context(), tester, order); err != nil {
		t.Errorf("afterwards: %v", err)
	}
	h.verify()
}
