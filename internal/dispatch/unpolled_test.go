package dispatch_test

import (
	"sync/atomic"
	"testing"
	"time"

	"claviger/internal/sqldb"
	"claviger/internal/webhook"
)

// These need no poll: the lane learns enough from an answer.

// When a probe succeeds, waiting deliveries are sent immediately.
func TestWhatWaitsFollowsAProbe(t *testing.T) {
	r, g := steppedHarness(t), newGate(t)
	r.partner(1, g.ServeHTTP)
	r.license(1, 1, 2)
	r.event(r.out, 1)
	out := r.manual(settings{schedule: hourly, probeEvery: time.Minute})
	r.recordAll(out, 410, g.next())
	r.event(out, 2)
	r.clock.step(time.Minute)
	r.poll(out)
	probe := g.next()
	r.recordAll(out, 200, probe)
	same(t, "the probe and what follows", probe.id+g.next().id, 3)
}

// A superseded event is followed immediately by the newer one.
func TestTheNewestFollowsTheRefused(t *testing.T) {
	r, g := steppedHarness(t), newGate(t)
	r.partner(1, g.ServeHTTP)
	r.license(1, 1, 2)
	r.event(r.out, 1)
	out := r.manual(settings{schedule: webhook.Schedule{time.Hour, time.Hour, time.Hour, time.Hour, time.Hour}})
	r.recordAll(out, 422, g.next())
	r.clock.step(time.Minute)
	r.event(out, 2)
	r.recordAll(out, 200, g.next()) // it accepts others
	for range 2 {
		r.clock.step(time.Hour)
		r.poll(out)
		r.recordAll(out, 422, g.next())
	}
	refund := r.event(out, 1)
	r.heard(out, 1)
	r.clock.step(time.Hour)
	r.poll(out)
	r.recordAll(out, 422, g.next())
	same(t, "sent next", g.next().id, refund)
}

// A lane that knows of a change ignores the endpoint's health from before it.
func TestOldHealthIsNotLearned(t *testing.T) {
	r, g := steppedHarness(t), newGate(t)
	r.partner(1, g.ServeHTTP)
	r.license(1, 1, 2, 3)
	r.event(r.out, 1)
	out := r.manual(settings{schedule: hourly})
	answer(410, g.next())
	r.until("answered", func() bool { return out.Dispatcher.Answers() == 1 })
	var second *caller
	out.Dispatcher.RecordThen(t, func() { // that it is parked
		r.write(func(tx *sqldb.Tx) { out.Unpark(tx, 1) })
		r.event(out, 2)
		second = g.next()
		same(t, "sent to the new URL", second.id, 2)
	})
	answer(200, second) // it starts with one request at a time
	r.heard(out, 1)
	r.event(out, 3)
	next := g.next()
	if next.id == 1 { // a new URL makes it due again, before or after
		next = g.next()
	}
	same(t, "sent to the new URL", next.id, 3)
}

// A successful delivery causes no search.
func TestASuccessNeedsNoSearch(t *testing.T) {
	r, g := steppedHarness(t), newGate(t)
	r.partner(1, g.ServeHTTP)
	r.license(1, 1)
	var asked atomic.Int64 // calls of now: by each search and each request
	out := r.manual(settings{now: func() time.Time { asked.Add(1); return r.clock.now() }})
	r.event(out, 1)
	r.recordAll(out, 200, g.next()) // the lane is now known
	r.heard(out, 1)
	counts := func() int64 {
		before := asked.Load()
		r.event(out, 1)
		r.recordAll(out, 200, g.next())
		r.heard(out, 1)
		return asked.Load() - before
	}
	first := counts()
	for range 20 {
		same(t, "asked for the time", counts(), first)
	}
	const perEvent = 4 // two to write it, one to send it, one to record it
	if first > perEvent {
		t.Errorf("one delivery asks %d times for the time", first)
	}
}

// A new lane learns from its search that the endpoint is parked, and searches no more.
func TestALaneOfAParkedEndpointComesToRest(t *testing.T) {
	r := steppedHarness(t)
	r.partner(1, (&endpoint{TB: t}).ServeHTTP)
	r.license(1, 1)
	r.event(r.out, 1)
	r.write(func(tx *sqldb.Tx) {
		tx.Queue(`INSERT INTO endpoints (partner_id, failing_since, failures, parked_at, probe_at, probed, updated_at) VALUES (1, $1, 9, $1, $2, 0, $1)`,
			start, start.Add(time.Hour))
	})
	var asked atomic.Int64 // calls of now: by each search
	out := r.manual(settings{now: func() time.Time { asked.Add(1); return r.clock.now() }})
	out.Dispatcher.Hint(1, 1)
	r.until("it searches", func() bool { return asked.Load() > 0 && out.Dispatcher.Heard(1) })
	r.until("it searches no more", func() bool {
		before := asked.Load()
		time.Sleep(20 * time.Millisecond)
		return asked.Load() == before
	})
	same(t, "attempts", r.attempts(), 0)
}
