package e2e_test

import (
	"context"
	"syscall"
	"testing"
	"time"

	"claviger/internal/sqldb/sqldbtest"
)

// Documented limits of a stop and of a request to a partner: 15 s for running requests, then 10 s
// for background work.
const (
	stopBound    = 30 * time.Second
	requestBound = 10 * time.Second
)

// TestStopUnderLoad stops the program while it sells and the partner does not answer. It ends in
// time and counts no attempt for requests that it cut off. The next start delivers them.
func TestStopUnderLoad(t *testing.T) {
	t.Parallel()
	db := sqldbtest.URL(t)
	e := newEndpoint(t, friendly)
	c := launch(t, "--db", db, "--webhook", e.URL, "--retry", quickly)
	e.know(c.card.Partner.WebhookSecret)
	m := newMarket(clients, 11)
	m.tradeFor(t, 50, c)
	e.closeGate()
	stopped := stopTrading(t, m, e, c)
	e.openGate()

	next := launch(t, "--db", db, "--webhook", e.URL, "--retry", quickly)
	m.settle(t, next)
	e.awaitAll(t, next)
	if err := next.end(syscall.SIGTERM); err != nil {
		t.Errorf("the next one did not end in order: %v", err)
	}
	reader := launch(t, "--db", db, "--webhook", e.URL)
	orders := m.check(t, reader)
	b := openBooks(t, reader, e)
	b.checkTold()
	b.checkOrder()
	cutOff := b.checkRecords(true)
	checkNotCounted(t, b, stopped)
	n := e.count()
	t.Logf("%d orders, %d events; %d requests, %d of them cut off, %d duplicates", orders, len(b.feed), n.arrivals, cutOff, n.duplicates)
}

// stopTrading sells until requests hang at the partner, and sends SIGTERM meanwhile. It returns
// that time on the endpoint's clock.
func stopTrading(t *testing.T, m *market, e *endpoint, c *child) (stopped int64) {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	f := newFuse(40)
	m.onAck = f.burn
	wait := m.trade(ctx, t, func(int) *child { return c })
	f.await(t)
	e.await(t, "requests that hang", func() bool {
		stopped = e.clock
		return e.open > 0
	})
	ended := make(chan error, 1)
	go func() { ended <- c.end(syscall.SIGTERM) }()
	select {
	case err := <-ended:
		if err != nil {
			t.Errorf("it did not end in order: %v", err)
		}
	case <-time.After(stopBound):
		t.Fatalf("it has not ended %v after SIGTERM", stopBound)
	}
	wait()
	return stopped
}

// checkNotCounted: a request that the stop cut off is not recorded, unless it had its whole time,
// and was repeated with the same number.
func checkNotCounted(t *testing.T, b *books, stopped int64) {
	t.Helper()
	cut := 0
	for _, v := range b.feed {
		came := b.arrivals[v.ID]
		for i, a := range came {
			if a.cut <= stopped || b.timedOut(a) {
				continue
			}
			cut++
			if i+1 == len(came) || came[i+1].attempt != a.attempt {
				t.Errorf("event %d was cut off at attempt %s and then came as %+v", v.ID, a.attempt, came[i+1:])
			}
		}
		for _, r := range b.records[v.Key] {
			if r.Status == 0 && r.Took < requestBound.Milliseconds() {
				t.Errorf("an attempt that was cut off is on record: %+v", r)
			}
		}
	}
	if cut == 0 {
		t.Error("nothing was cut off")
	}
}

// timedOut reports whether an attempt is recorded as a timeout.
func (b *books) timedOut(a *arrival) bool {
	for _, r := range b.records[a.license] {
		if r.header("X-Licensing-Signature") == a.signature {
			return r.Status == 0 && r.Took >= requestBound.Milliseconds()
		}
	}
	return false
}
