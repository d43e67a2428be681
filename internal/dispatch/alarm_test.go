package dispatch_test

import (
	"testing"
	"time"

	"claviger/internal/cluster"
	"claviger/internal/dispatch"
	"claviger/internal/sqldb"
	"claviger/internal/webhook"
)

// A retry that is due before the next poll needs none, whatever else waits longer.
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

// What becomes due behind the place that a long search has come to is found after the next
// poll.
func TestDueBehindTheSearch(t *testing.T) {
	r, g := newHarness(t), newGate(t)
	r.partner(1, g.ServeHTTP)
	const n = 2 * dispatch.PerRequest * dispatch.FirstInFlight // more than a new lane takes into memory
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

// A secret that ends is not used from that time on: the endpoint is looked up again first.
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
	r.point(1, to.ServeHTTP) // and nobody says so
	r.aim(1, func(e *webhook.Endpoint) { e.Until = time.Time{} })
	r.clock.step(time.Hour - 1)
	send()
	r.clock.step(1)
	send()
	send()
	same(t, "by what was known", old.list(), []int64{1, 2})
	same(t, "by what is known", to.list(), []int64{3, 4})
}

// Nothing is begun under a claim that does not hold: it stays in memory until the claim
// does, or the lane ends.
func TestNothingIsBegunWithoutAClaim(t *testing.T) {
	r, g := steppedHarness(t), newGate(t)
	r.partner(1, g.ServeHTTP)
	r.license(1, 1, 2, 3)
	r.event(r.out, 1)
	r.event(r.out, 2)
	out := r.stepped(settings{})
	node, claim := out.Dispatcher.Store.Node, cluster.Claim{Shard: cluster.ShardOf(1)} // which the node does not have
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

// What is cut off when a shard is handed over is due a little later, and no attempt.
func TestWhatIsCutOffIsPutOff(t *testing.T) {
	r, g := steppedHarness(t), newGate(t)
	r.partner(1, g.ServeHTTP)
	r.license(1, 1, 2)
	r.event(r.out, 1)
	out := r.stepped(settings{times: hasty})
	stop := r.run(out)
	g.next()
	r.write(func(tx *sqldb.Tx) { // at once, so that nobody begins it
		insertEvent(tx, r.out.Outbox, notice(2, 1, 2, start))
		putOff(2, start.Add(time.Hour))(tx)
	})
	stop()
	same(t, "states", r.states(), []string{"1 pending after 0", "2 pending after 0"})
	same(t, "waits", r.waits(), []string{"1 in 10s", "2 in 1h0m0s"})
	same(t, "not before", r.count(`SELECT count(*) FROM outbox WHERE event_id = 1 AND not_before = due_at`), 1)
	same(t, "attempts", r.attempts(), 0)
}

// An endpoint that is back is drained until it fails, or nothing is left to send.
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
				out.Dispatcher.Hear("1:0") // looks for what is due
			}
			r.until("draining is over", func() bool { return r.count(draining) == 0 })
		})
	}
}
