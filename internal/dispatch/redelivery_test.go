package dispatch_test

import (
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"claviger/internal/dispatch"
	"claviger/internal/redelivery"
	"claviger/internal/sqldb"
	"claviger/internal/sqldb/sqldbtest"
	"claviger/internal/webhook/history"
)

// While a batch of a partner's redelivery hangs in its transaction with all its locks, other partners
// sell, receive events and have their answers recorded. Each batch is small.
func TestARedeliveryHoldsUpNoOther(t *testing.T) {
	if !sqldbtest.Postgres() {
		t.Skip("on SQLite one transaction writes at a time")
	}
	r := newHarness(t)
	redelivered, other := &endpoint{TB: t}, &endpoint{TB: t}
	r.partner(1, redelivered.ServeHTTP)
	r.partner(2, other.ServeHTTP)
	const events = 1000
	r.store(1, events, events)
	r.license(2, events+1)
	out, _ := r.running(settings{})
	r.event(out, events+1)
	r.until("all are delivered", func() bool { return r.open() == 0 })
	jobs := &redelivery.Store{DB: out.DB, Outbox: out.Outbox, Now: now}
	errEnough := errors.New("enough")
	var beginning sync.WaitGroup
	err := patient(r).Write(t.Context(), func(tx *sqldb.Tx) error {
		const first = `INSERT INTO outbox (event_id, partner_id, license_id, state, attempts, due_at, created_at, updated_at) VALUES (1, 1, 1, 1, 0, 0, 0, 0)`
		if _, err := tx.Exec(t.Context(), first); err != nil {
			return err
		}
		beginning.Go(func() {
			if _, err := jobs.Begin(t.Context(), tester, redelivery.Request{PartnerID: 1, Filter: history.Filter{From: start.Add(-time.Hour)}}); err != nil {
				t.Error(err)
			}
		})
		r.until("the redelivery stands still", func() bool {
			return r.count(`SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock' AND query LIKE 'INSERT INTO outbox%'`) == 1
		})
		for i := range 20 {
			r.event(out, events+1)
			r.until("another's is delivered", func() bool { return r.open() == 0 })
			same(t, "taken by the other", len(other.list()), i+2)
		}
		return errEnough
	})
	if !errors.Is(err, errEnough) {
		t.Fatal(err)
	}
	beginning.Wait()
	for more := true; more; {
		if more, err = (&redelivery.Worker{Store: jobs}).Once(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	r.until("all are delivered again", func() bool { return r.open() == 0 })
	same(t, "taken", len(redelivered.list()), 2*events)
}

// An endpoint's rate follows from the limit of requests in flight and their latency.
func TestTheRateFollowsTheBound(t *testing.T) {
	const latency = 200 * time.Millisecond
	for name, c := range map[string]struct {
		most  int
		spare bool
		want  int // concurrent requests
	}{
		"as set":                         {20, true, 20},
		"as set, less than at first":     {dispatch.UsualInFlight, true, dispatch.UsualInFlight},
		"as much as is usual":            {256, false, dispatch.UsualInFlight},
		"more, while others need little": {256, true, 256},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				answers := make(chan time.Duration)
				limit, best, inFlight := float64(dispatch.FirstInFlight), time.Duration(0), 0
				answered := 0
				begin := func() {
					for ; inFlight < int(limit); inFlight++ {
						go func(begun time.Time) {
							time.Sleep(latency)
							answers <- time.Since(begun)
						}(time.Now())
					}
				}
				began := time.Now()
				for begin(); time.Since(began) < 20*time.Second+latency; begin() {
					took := <-answers
					limit, best = dispatch.Adapt(limit, best, true, took, dispatch.Load{Lane: inFlight, Node: inFlight, Spare: c.spare, Most: c.most})
					inFlight--
					if since := time.Since(began); since > 10*time.Second && since <= 20*time.Second {
						answered++
					}
				}
				same(t, "in flight", int(limit), c.want)
				same(t, "answers in ten seconds", answered, c.want*int(10*time.Second/latency))
				for ; inFlight > 0; inFlight-- {
					<-answers
				}
			})
		})
	}
}
