package dispatch_test

import (
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"claviger/internal/cluster"
	"claviger/internal/sqldb"
	"claviger/internal/sqldb/sqldbtest"
)

// hanging is the endpoint of a partner that does not answer until it is told to.
type hanging struct {
	*endpoint
	over     chan struct{}
	mu       sync.Mutex
	inFlight map[int64]int // by event
	twice    atomic.Int64  // events that were in flight twice at the same time
}

func (h *hanging) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	id := got(h.TB, req)
	h.mu.Lock()
	if h.inFlight[id]++; h.inFlight[id] > 1 {
		h.twice.Add(1)
	}
	h.mu.Unlock()
	select {
	case <-h.over:
	case <-req.Context().Done():
	}
	h.mu.Lock()
	h.inFlight[id]--
	h.mu.Unlock()
}

func (h *hanging) hangs() (n int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, in := range h.inFlight {
		n += in
	}
	return n
}

// A node joins and leaves under load while half of the partners hang. The other partners get each
// event once and in order. Hanging requests are cut off, are not attempts, and are repeated when
// the partner is back.
func TestJoinAndLeaveUnderLoad(t *testing.T) {
	if !sqldbtest.Postgres() {
		t.Skip("on SQLite one process sends")
	}
	r := steppedHarness(t)
	e, h := &endpoint{TB: t}, &hanging{endpoint: &endpoint{TB: t}, over: make(chan struct{}), inFlight: map[int64]int{}}
	healthy, stuck := r.serve(e.ServeHTTP), r.serve(h.ServeHTTP)
	const partners = 32 // in as many shards
	for p := int64(1); p <= partners; p++ {
		r.partnerAt(p, map[bool]string{true: healthy, false: stuck}[p%2 == 0])
		r.license(p, p)
	}
	times := quick
	times.HandOver = time.Millisecond
	r.shared = true
	a := r.stepped(settings{times: times})
	r.run(a)
	r.until("the first has all", func() bool { return a.Dispatcher.Owned() == cluster.Shards })
	for p := int64(1); p <= partners; p += 2 {
		r.event(a, p)
	}
	r.until("all that hang do", func() bool { return h.hangs() == partners/2 })
	sell := func(outs ...*outbox) { // to healthy partners, by the nodes in turn
		for i := range 4 {
			for p := int64(2); p <= partners; p += 2 {
				r.event(outs[i%len(outs)], p)
			}
		}
	}
	sell(a)
	b := r.stepped(settings{times: times})
	stop := r.run(b)
	for a.Dispatcher.Owned()+b.Dispatcher.Owned() < cluster.Shards || b.Dispatcher.Owned() < cluster.Shards/4 {
		sell(a, b)
	}
	r.until("what is sold is delivered, whoever hangs", func() bool { return r.open() == partners/2 })
	go stop()
	for a.Dispatcher.Owned() < cluster.Shards {
		sell(a)
	}
	stop()
	r.until("what is sold is delivered, whoever hangs", func() bool { return r.open() == partners/2 })
	same(t, "attempts of what hangs", r.count(`SELECT count(*) FROM webhook_responses AS w JOIN deliveries AS d ON d.event_id = w.event_id WHERE d.partner_id % 2 = 1`), 0)
	close(h.over)
	r.clock.step(time.Minute)
	r.until("what was cut off is delivered", func() bool { return r.open() == 0 })
	same(t, "sent twice at once", h.twice.Load(), 0)
	r.checkOnceInOrder(e)
}

// checkOnceInOrder checks that an endpoint got each event once, and the events of a license in
// order.
func (r *harness) checkOnceInOrder(e *endpoint) {
	r.Helper()
	last := map[int64]int64{}
	for _, id := range e.list() {
		license := r.count(`SELECT license_id FROM deliveries WHERE event_id = $1`, id)
		if id <= last[license] {
			r.Errorf("event %d of license %d came after %d", id, license, last[license])
		}
		last[license] = id
	}
}

// While the head of a license is recorded, another event may be written after the search for the
// next delivery and before the commit. It is sent without a poll.
func TestASaleBetweenTheReadAndTheCommit(t *testing.T) {
	if !sqldbtest.Postgres() {
		t.Skip("on SQLite nobody writes meanwhile")
	}
	r, g := steppedHarness(t), newGate(t)
	r.partner(1, g.ServeHTTP)
	r.license(1, 1)
	r.event(r.out, 1)
	out := r.manual(settings{})
	answer(200, g.next())
	r.until("answered", func() bool { return out.Dispatcher.Answers() == 1 })
	var recording sync.WaitGroup
	err := patient(r).Write(t.Context(), func(tx *sqldb.Tx) error {
		if _, err := tx.Exec(t.Context(), `SELECT 1 FROM outbox WHERE event_id = 1 FOR UPDATE`); err != nil {
			return err
		}
		recording.Go(func() { out.Dispatcher.Record(t.Context()) })
		r.until("the recorder waits to remove the head", func() bool {
			return r.count(`SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock' AND query LIKE 'DELETE FROM outbox%'`) == 1
		})
		r.event(out, 1)
		stable, err := r.out.DB.StableRows(t.Context(), "webhook_responses")
		same(t, "readers of attempts may go up to", stable, 0) // an attempt that is being recorded may still appear
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	recording.Wait()
	same(t, "sent next", g.next().id, 2)
}
