package webhook_test

import (
	"testing"
	"time"

	"claviger/internal/sqldb"
	"claviger/internal/sqldb/sqldbtest"
	"claviger/internal/webhook"
)

// pair is a rig with two nodes and an endpoint where requests wait; n licenses
// have one event each, and more the first if asked for.
func pair(t *testing.T, n, more int64) (r *rig, g *gate, a, b *webhook.Outbox) {
	t.Helper()
	r, g = steppedRig(t), newGate(t)
	r.partner(1, g.ServeHTTP)
	for l := range n {
		r.license(1, l+1)
		r.event(r.out, l+1)
	}
	for range more {
		r.event(r.out, 1)
	}
	s := settings{schedule: webhook.Schedule{time.Hour}, shared: true}
	return r, g, r.stepped(s), r.stepped(s)
}

// finish answers what is in flight of a node and records it.
func (r *rig) finish(out *webhook.Outbox, status int, callers ...*caller) {
	r.Helper()
	answer(status, callers...)
	out.Dispatcher.Landed()
	out.Dispatcher.Record()
}

// renew renews the leases of a node; search has it look for all that is due.
func (r *rig) renew(out *webhook.Outbox) {
	r.Helper()
	if err := out.Dispatcher.Renew(r.Context()); err != nil {
		r.Fatal(err)
	}
}

func (r *rig) search(out *webhook.Outbox) {
	r.Helper()
	if err := out.Dispatcher.Search(r.Context()); err != nil {
		r.Fatal(err)
	}
}

func answer(status int, callers ...*caller) {
	for _, c := range callers {
		c.answer <- status
	}
}

func TestALeaseKeepsOthersOff(t *testing.T) {
	r, g, a, b := pair(t, 1, 1)
	r.begin(a)
	c := g.next()
	r.clock.step(webhook.LeaseTime - time.Second)
	r.begin(b)
	r.nothingHeld(b)
	r.renew(a)
	r.finish(a, 200, c)
	r.finish(a, 200, g.next())
	same(t, "states", r.states(), []string{"1 delivered after 1", "2 delivered after 1"})
}

// Whoever lost its lease changes nothing, but what it did is on record; also
// when its failure comes after the other's success, what follows is not put off.
func TestAnExpiredLeaseIsTakenOver(t *testing.T) {
	r, g, a, b := pair(t, 1, 1)
	r.begin(a)
	slow := g.next()
	r.clock.step(webhook.LeaseTime)
	r.begin(b)
	r.finish(b, 200, g.next())
	next := g.next()
	r.finish(a, 500, slow)
	same(t, "states", r.states(), []string{"1 delivered after 2", "2 pending after 0"})
	same(t, "waits", r.waits(), []string{"2 in 0s"})
	same(t, "leased", r.leased(), map[int64]string{2: b.Dispatcher.Node()})
	same(t, "record", r.record(), []string{"1: 200 true", "1: 500 false"})
	g.nobody("by the node that lost its lease")
	r.finish(b, 200, next)
	same(t, "states", r.states(), []string{"1 delivered after 2", "2 delivered after 1"})
	for _, out := range []*webhook.Outbox{a, b} {
		if held, inFlight, unrecorded := out.Dispatcher.Counts(); held+inFlight+unrecorded != 0 {
			t.Errorf("%d in memory, %d in flight, %d not recorded", held, inFlight, unrecorded)
		}
	}
}

// The other way round: the one that lost its lease succeeds while the other is
// at it. The success counts for nothing, as the other's word stands.
func TestALateSuccessDoesNotCountForAnother(t *testing.T) {
	r, g, a, b := pair(t, 1, 1)
	r.begin(a)
	slow := g.next()
	r.clock.step(webhook.LeaseTime)
	r.begin(b)
	again := g.next()
	r.finish(a, 200, slow)
	g.nobody("while the event before it is in flight")
	same(t, "leased", r.leased(), map[int64]string{1: b.Dispatcher.Node()})
	r.finish(b, 500, again)
	same(t, "states", r.states(), []string{"1 pending after 1", "2 pending after 0"})
	same(t, "waits", r.waits(), []string{"1 in 1h0m0s", "2 in 1h0m0s"})
}

func TestLeasesAreRenewedWhileInMemory(t *testing.T) {
	const n = 2 * webhook.LaneStart // so half of them wait in the lane
	r, g, a, b := pair(t, n, 0)
	r.begin(a)
	callers := g.callers(webhook.LaneStart)
	for range 10 {
		r.clock.step(webhook.RenewEvery)
		r.renew(a)
		r.begin(b)
	}
	g.nobody("by another node")
	answer(200, callers...)
	r.finish(a, 200, g.callers(webhook.LaneStart)...)
	same(t, "open", r.open(), 0)
}

// A node whose clock is ahead, by as much as is allowed, takes nothing that
// another holds: neither while that renews its leases in time, nor while it
// cannot and still has requests in flight.
func TestClocksMayDiffer(t *testing.T) {
	r, g, a, _ := pair(t, 2*webhook.LaneStart, 0)
	ahead := r.stepped(settings{shared: true, now: func() time.Time { return r.clock.now().Add(webhook.ClockSkew) }})
	r.begin(a)
	callers := g.callers(webhook.LaneStart)
	r.clock.step(webhook.RenewEvery)
	r.renew(a)
	// From here on it cannot renew. What it begins at the last moment ends before
	// the other takes it.
	r.clock.step(webhook.LeaseTime - webhook.LeaseSpare)
	answer(200, callers[1:]...)
	last := g.callers(webhook.LaneStart)
	r.clock.step(webhook.LeaseSpare - webhook.ClockSkew - time.Microsecond)
	r.begin(ahead)
	r.nothingHeld(ahead)
	r.finish(a, 200, append(last, callers[0])...)
	same(t, "open", r.open(), 0)
	same(t, "record", r.count(`SELECT count(*) FROM webhook_responses`), 2*webhook.LaneStart)
}

// What is in memory with too little left of its lease is not sent, and not lost.
func TestALeaseThatRunsOutIsNotBegun(t *testing.T) {
	r, g, a, b := pair(t, 2*webhook.LaneStart, 0)
	r.begin(a)
	callers := g.callers(webhook.LaneStart)
	r.clock.step(webhook.LeaseTime - webhook.LeaseSpare + time.Microsecond)
	r.finish(a, 200, callers...)
	g.nobody("with a lease that may run out before it is answered")
	r.begin(b)
	r.nothingHeld(b)
	r.round(a) // it gives them back
	r.search(b)
	r.finish(b, 200, g.callers(webhook.LaneStart)...)
	same(t, "open", r.open(), 0)
	same(t, "attempts", r.count(`SELECT count(*) FROM webhook_responses`), 2*webhook.LaneStart)
}

// A lease that the node knows nothing of, as when it claimed and never heard of
// the commit, is not renewed and comes free.
func TestALeaseNobodyKnowsOfRunsOut(t *testing.T) {
	for name, sql := range map[string]string{
		"by name": `UPDATE outbox SET node = $1, lease_until = $2 WHERE license_id = ANY($3)`,
		"of some": `INSERT INTO leases (partner_id, node, lease_until, licenses) VALUES (1, $1, $2, $3)`,
	} {
		t.Run(name, func(t *testing.T) {
			r, g, a, b := pair(t, 1, 0)
			r.write(func(tx *sqldb.Tx) { tx.Queue(sql, a.Dispatcher.Node(), start.Add(webhook.LeaseTime), []int64{1}) })
			r.begin(b)
			r.nothingHeld(b)
			for range 3 {
				r.clock.step(webhook.RenewEvery)
				r.renew(a)
			}
			r.search(b)
			r.finish(b, 200, g.next())
			same(t, "open", r.open(), 0)
		})
	}
}

// What waits in memory and is another's by now is let go, whether it was found or new.
func TestRenewingFindsOutWhatIsLost(t *testing.T) {
	const n = 2 * webhook.LaneStart
	for name, c := range map[string]struct{ stored, born int64 }{"found": {n, 0}, "new": {1, n}} {
		t.Run(name, func(t *testing.T) {
			r, g, a, b := pair(t, c.stored, 0)
			r.begin(a)
			if c.born > 0 { // the lane is ready for it
				r.finish(a, 200, g.next())
			}
			for l := range c.born {
				r.license(1, c.stored+l+1)
				r.event(a, c.stored+l+1)
			}
			callers := g.callers(webhook.LaneStart)
			r.write(func(tx *sqldb.Tx) {
				until := start.Add(webhook.LeaseTime)
				tx.Queue(`UPDATE leases SET id = id + 1000, node = $1, lease_until = $2`, b.Dispatcher.Node(), until)
				tx.Queue(`UPDATE outbox SET node = $1, lease_until = $2 WHERE node = $3`, b.Dispatcher.Node(), until, a.Dispatcher.Node())
			})
			r.renew(a)
			r.finish(a, 200, callers...)
			g.nobody("by a node that lost it")
			r.round(a)
			same(t, "still the other's", len(r.leased()), n)
			r.nothingHeld(a)
		})
	}
}

// foundTooEarly is a rig with a node that failed to deliver an event, which was redelivered
// and found after that was recorded, and before the node had let go of it.
func foundTooEarly(t *testing.T) (*rig, *gate, *webhook.Outbox) {
	t.Helper()
	r, g, a, _ := pair(t, 1, 0)
	r.begin(a)
	answer(500, g.next())
	a.Dispatcher.Landed()
	a.Dispatcher.RecordOnly(t, func() {
		r.redeliver(a, 1)
		r.search(a)
	})
	return r, g, a
}

// A delivery that is due again and claimed before the node has let go of it, after
// the answer was recorded, is not leased and forgotten.
func TestADeliveryIsClaimedBeforeItIsLetGo(t *testing.T) {
	r, g, a := foundTooEarly(t)
	r.round(a)
	r.finish(a, 200, g.next())
	same(t, "open", r.open(), 0)
	r.nothingHeld(a)
}

// One that is found again before it is let go of, and leased by name right after that, as a
// probe is, keeps its name.
func TestADeliveryIsFoundBeforeItIsLetGo(t *testing.T) {
	r, _, a := foundTooEarly(t)
	r.write(func(tx *sqldb.Tx) {
		tx.Queue(`UPDATE outbox SET node = $1, lease_until = $2`, a.Dispatcher.Node(), start.Add(webhook.LeaseTime))
	})
	r.round(a)
	same(t, "names", r.count(`SELECT count(*) FROM outbox WHERE node = $1`, a.Dispatcher.Node()), 1)
	r.nothingHeld(a)
}

// A node that slept past its own leases does not send twice what it claims anew.
func TestANodeDoesNotTakeWhatItHolds(t *testing.T) {
	r, g, a, _ := pair(t, 2*webhook.LaneStart, 0)
	r.begin(a)
	callers := g.callers(webhook.LaneStart)
	r.clock.step(time.Hour)
	r.search(a)
	r.finish(a, 200, callers...)
	r.search(a)
	r.finish(a, 200, g.callers(webhook.LaneStart)...)
	same(t, "open", r.open(), 0)
	same(t, "attempts", r.count(`SELECT count(*) FROM webhook_responses`), 2*webhook.LaneStart)
}

// Stopping cuts off what hangs without counting it, records what was answered,
// and hands everything back.
func TestStoppingIsNoFailure(t *testing.T) {
	r, g := newRig(t), newGate(t)
	r.partner(1, g.ServeHTTP)
	for l := range int64(20) {
		r.license(1, l+1)
		r.event(r.out, l+1)
	}
	out := r.node(settings{})
	out.Dispatcher.DrainIn(50 * time.Millisecond)
	stop := r.run(out)
	callers := g.callers(webhook.LaneStart)
	callers[0].answer <- 200
	r.until("answered", func() bool { return r.open() == 19 })
	stop()
	same(t, "leased", r.leased(), map[int64]string{})
	same(t, "attempts", r.count(`SELECT count(*) FROM webhook_responses`), 1)
	same(t, "record", len(r.record()), 1)
}

// What is born leased while the dispatcher stops, and committed when it has
// handed everything back, is handed back too.
func TestADeliveryBornTooLateIsHandedBack(t *testing.T) {
	if !sqldbtest.Postgres() {
		t.Skip("SQLite has one writer, and it hands back last")
	}
	r, e := newRig(t), &endpoint{TB: t}
	r.partner(1, e.ServeHTTP)
	r.license(1, 1, 2)
	out, stop := r.running(settings{})
	r.event(out, 1)
	r.until("the lane is ready", func() bool { return r.open() == 0 })
	err := r.db.Write(t.Context(), func(tx *sqldb.Tx) error {
		insertEvent(tx, out, notice(9, 1, 2, now()))
		n, err := sqldb.One(t.Context(), tx, sqldb.Value[int64], `SELECT lease_until FROM outbox WHERE event_id = 9`)
		if n == 0 {
			t.Error("it is not born leased")
		}
		stop()
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	same(t, "leased", r.leased(), map[int64]string{})
	same(t, "got", e.list(), []int64{1})
}

// What the record of one answer sets free while the dispatcher stops is handed back, and
// nothing else: other answers wait to be recorded.
func TestStoppingHandsBackWhatIsSetFree(t *testing.T) {
	r, g, a, _ := pair(t, 1, 0)
	r.begin(a)
	r.finish(a, 200, g.next()) // its lane is ready
	r.license(1, 2, 3)
	r.event(a, 2)
	r.event(a, 2)
	r.event(a, 3)
	callers := g.callers(2)
	for i, event := range []int64{2, 4} { // that with a next one first
		for _, c := range callers {
			if c.id == event {
				answer(200, c)
			}
		}
		r.until("answered", func() bool { _, _, unrecorded := a.Dispatcher.Counts(); return unrecorded == i+1 })
	}
	a.Dispatcher.RecordClosed()
	same(t, "states", r.states(), []string{"1 delivered after 1", "2 delivered after 1", "3 pending after 0", "4 delivered after 1"})
	same(t, "leased", r.leased(), map[int64]string{})
}

// Alone on its database, a dispatcher takes back at once what an earlier run
// held; with others about, that may be theirs.
func TestAloneTakesBackAtTheStart(t *testing.T) {
	for alone, want := range map[bool]int64{true: 0, false: 1} {
		r, e := steppedRig(t), &endpoint{TB: t}
		r.partner(1, e.ServeHTTP)
		r.license(1, 1)
		r.event(r.out, 1)
		r.write(func(tx *sqldb.Tx) {
			tx.Queue(`UPDATE outbox SET node = 'killed', lease_until = $1`, start.Add(webhook.LeaseTime))
		})
		r.step(r.stepped(settings{alone: alone, shared: !alone}))
		same(t, "open", r.open(), want)
	}
}

// The time of an event may come from another node's clock; what is leased and
// due goes by this node's.
func TestANewDeliveryGoesByItsNodesClock(t *testing.T) {
	r, e := steppedRig(t), &endpoint{TB: t}
	r.partner(1, e.ServeHTTP)
	r.license(1, 1, 2)
	out := r.stepped(settings{})
	r.write(func(tx *sqldb.Tx) { insertEvent(tx, out, notice(1, 1, 1, r.clock.now().Add(4*time.Second))) })
	same(t, "waits", r.waits(), []string{"1 in 0s"})
	r.step(out)
	same(t, "got", e.taken(), []int64{1})
	r.write(func(tx *sqldb.Tx) { insertEvent(tx, out, notice(2, 1, 2, r.clock.now().Add(-time.Hour))) })
	out.Dispatcher.Landed()
	same(t, "got", e.taken(), []int64{2})
	same(t, "lease", r.count(`SELECT lease_until FROM outbox WHERE event_id = 2`), r.clock.now().Add(webhook.LeaseTime).UnixNano())
}
