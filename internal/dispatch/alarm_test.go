package dispatch_test

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"claviger/internal/cluster"
	"claviger/internal/dispatch"
	"claviger/internal/sqldb"
	"claviger/internal/webhook"
)

// A retry that is due before the next poll is sent without it, even if other retries wait longer.
func TestAShortRetryNeedsNoPoll(t *testing.T) {
	for name, longerFirst := range map[string]bool{"before a longer one": false, "after a longer one": true} {
		t.Run(name, func(t *testing.T) {
			r, g := newHarness(t), newGate(t)
			r.partner(1, g.ServeHTTP)
			r.license(1, 1, 2)
			r.event(r.out, 1)
			out := r.manual(settings{schedule: webhook.Schedule{time.Millisecond, 50 * time.Second, time.Hour}})
			r.recordAll(out, 500, g.next())
			twice := g.next()
			r.event(out, 2)
			once := g.next()
			answers := []*caller{once, twice}
			if longerFirst {
				answers = []*caller{twice, once}
			}
			r.recordAll(out, 500, answers...)
			same(t, "sent next", g.next().id, 2)
		})
	}
}

// A delivery that becomes due behind the position of a long search is found after the next poll.
func TestDueBehindTheSearch(t *testing.T) {
	r, g := newHarness(t), newGate(t)
	r.partner(1, g.ServeHTTP)
	const n = 2 * dispatch.PerRequest * dispatch.FirstInFlight // more than a new lane holds in memory
	r.store(1, n, n)
	r.license(1, n+1)
	late := r.event(r.out, n+1)
	r.write(putOff(late, now().Add(time.Hour)))
	out := r.manual(settings{})
	r.until("the lane is full", func() bool { return out.Dispatcher.Counts().Held == dispatch.PerRequest*dispatch.FirstInFlight })
	first := g.next()
	r.write(putOff(late, now().Add(-time.Hour)))
	r.poll(out)
	for c := first; c.id != late; c = g.next() {
		r.recordAll(out, 200, c)
	}
}

// A secret is not used after it ends: the endpoint is loaded again first.
func TestASecretThatEnds(t *testing.T) {
	r := steppedHarness(t)
	old, to := &endpoint{TB: t}, &endpoint{TB: t}
	r.partner(1, old.ServeHTTP)
	r.aim(1, func(e *webhook.Endpoint) { e.Until = start.Add(time.Hour) })
	r.license(1, 1)
	out := r.stepped(settings{})
	r.run(out)
	send := func() {
		r.event(out, 1)
		r.until("it is delivered", func() bool { return r.open() == 0 })
	}
	send()
	r.point(1, to.ServeHTTP) // without a notification
	r.aim(1, func(e *webhook.Endpoint) { e.Until = time.Time{} })
	r.clock.step(time.Hour - 1)
	send()
	r.clock.step(1)
	send()
	send()
	same(t, "by what was known", old.list(), []int64{1, 2})
	same(t, "by what is known", to.list(), []int64{3, 4})
}

// While the endpoint is loaded because a secret has ended, messages cause no second load, and
// deliveries in memory stay there.
func TestASecretThatEndsIsLoadedOnce(t *testing.T) {
	r, g := steppedHarness(t), newGate(t)
	r.partner(1, g.ServeHTTP)
	r.aim(1, func(e *webhook.Endpoint) { e.Until = start.Add(time.Hour) })
	r.license(1, 1, 2)
	r.event(r.out, 1)
	r.event(r.out, 2)
	out := r.stepped(settings{inFlight: 1, times: hasty})
	lookUp := out.Dispatcher.Store.Endpoint
	var loads atomic.Int64
	asked, answer := make(chan struct{}), make(chan struct{})
	out.Dispatcher.Store.Endpoint = func(ctx context.Context, id int64) (webhook.Endpoint, error) {
		if loads.Add(1) == 2 {
			close(asked)
			<-answer
		}
		return lookUp(ctx, id)
	}
	r.runNode(out)
	r.poll(out)
	c := g.next()
	r.until("the other is in memory", func() bool { return out.Dispatcher.Counts().Held == 2 })
	r.aim(1, func(e *webhook.Endpoint) { e.Until = time.Time{} })
	r.clock.step(time.Hour)
	for n := range 3 {
		out.Dispatcher.Hint(1, 2)
		if n == 0 {
			<-asked
		}
		r.heard(out, 1)
	}
	close(answer)
	r.recordAll(out, 200, c)
	same(t, "sent next", g.next().id, 3-c.id)
	same(t, "loads", loads.Load(), 2)
}

// No request starts under an invalid claim: deliveries stay in memory until the claim is valid or
// the lane ends.
func TestNothingIsBegunWithoutAClaim(t *testing.T) {
	r, g := steppedHarness(t), newGate(t)
	r.partner(1, g.ServeHTTP)
	r.license(1, 1, 2, 3)
	r.event(r.out, 1)
	r.event(r.out, 2)
	out := r.stepped(settings{})
	node, claim := out.Dispatcher.Store.Node, cluster.Claim{Shard: cluster.ShardOf(1)} // the node does not have it
	node.Gained(claim)
	r.poll(out)
	r.until("they are found", func() bool { return out.Dispatcher.Counts().Held == 2 })
	r.event(out, 3)
	r.until("all are in memory", func() bool { return out.Dispatcher.Counts().Held == 3 })
	same(t, "in flight", out.Dispatcher.Counts().InFlight, 0)
	node.Lost(claim)
	g.nobody("without a claim")
	same(t, "in memory", out.Dispatcher.Counts().Held, 0)
}

// A request that is cut off when a shard is handed over is due a little later and is not an
// attempt.
func TestWhatIsCutOffIsPutOff(t *testing.T) {
	r, g := steppedHarness(t), newGate(t)
	r.partner(1, g.ServeHTTP)
	r.license(1, 1, 2)
	r.event(r.out, 1)
	out := r.stepped(settings{times: hasty})
	stop := r.run(out)
	g.next()
	r.write(func(tx *sqldb.Tx) { // in one transaction, so that it is not sent
		insertEvent(tx, r.out.Outbox, notice(2, 1, 2, start))
		putOff(2, start.Add(time.Hour))(tx)
	})
	stop()
	same(t, "states", r.states(), []string{"1 pending after 0", "2 pending after 0"})
	same(t, "waits", r.waits(), []string{"1 in 10s", "2 in 1h0m0s"})
	same(t, "not before", r.count(`SELECT count(*) FROM outbox WHERE event_id = 1 AND not_before = due_at`), 1)
	same(t, "attempts", r.attempts(), 0)
}

// A recovered endpoint is drained until it fails or nothing is left to send.
func TestDrainingEnds(t *testing.T) {
	const draining = `SELECT draining FROM endpoints`
	for name, status := range map[string]int{"when it fails": 500, "when nothing is left": 200} {
		t.Run(name, func(t *testing.T) {
			r, g := steppedHarness(t), newGate(t)
			r.partner(1, g.ServeHTTP)
			r.license(1, 1)
			r.event(r.out, 1)
			out := r.manual(settings{schedule: hourly})
			r.recordAll(out, 500, g.next())
			r.write(func(tx *sqldb.Tx) { out.Unpark(tx, 1) })
			c := g.next()
			same(t, "draining", r.count(draining) > 0, true)
			r.recordAll(out, status, c)
			if status == 200 {
				same(t, "draining", r.count(draining) > 0, true)
				out.Dispatcher.Hear("1:0") // starts a search
			}
			r.until("draining is over", func() bool { return r.count(draining) == 0 })
		})
	}
}
