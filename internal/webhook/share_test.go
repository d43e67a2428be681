package webhook_test

import (
	"testing"
	"time"

	"claviger/internal/sqldb"
	"claviger/internal/sqldb/sqldbtest"
	"claviger/internal/webhook"
)

// All that a search finds of a partner has one lease, which ends with the last of it.
func TestOneLeaseForAllThatIsFound(t *testing.T) {
	const n = 2 * webhook.LaneStart
	r, g, a, _ := pair(t, n, 0)
	leases := func() int64 { return r.count(`SELECT count(*) FROM leases`) }
	r.begin(a)
	callers := g.callers(webhook.LaneStart)
	same(t, "leased", len(r.leased()), n)
	same(t, "rows", leases(), 1)
	same(t, "names", r.count(`SELECT count(*) FROM outbox WHERE node <> ''`), 0)
	answer(200, callers...)
	last := g.callers(webhook.LaneStart)
	a.Dispatcher.Record()
	r.round(a)
	same(t, "rows", leases(), 1)
	r.finish(a, 200, last...)
	r.round(a)
	same(t, "rows", leases(), 0)
	r.nothingHeld(a)
}

// What one node has no room for, another takes.
func TestNodesShareWhatIsDue(t *testing.T) {
	const room, rest = 16 * webhook.LaneStart, 40
	r, _, a, b := pair(t, room+rest, 0)
	r.begin(a)
	r.begin(b)
	got := map[string]int{}
	for _, node := range r.leased() {
		got[node]++
	}
	same(t, "leased", got, map[string]int{a.Dispatcher.Node(): room, b.Dispatcher.Node(): rest})
}

// While one node looks for a partner's deliveries, another is turned away, and looks
// again by itself.
func TestNodesTakeTurns(t *testing.T) {
	if !sqldbtest.Postgres() {
		t.Skip("on SQLite nothing runs side by side")
	}
	r, g, a, _ := pair(t, 1, 0)
	r.write(func(tx *sqldb.Tx) {
		if ours, err := tx.TryLock(webhook.Searching(1)).One(t.Context()); !ours || err != nil {
			t.Fatalf("%v, %v", ours, err)
		}
		r.begin(a)
		r.nothingHeld(a)
	})
	r.until("it looks again", func() bool {
		r.round(a)
		held, _, _ := a.Dispatcher.Counts()
		return held == 1
	})
	r.finish(a, 200, g.next())
	same(t, "open", r.open(), 0)
}

// An answer that is recorded while another node removes the lease waits for that, and
// counts for nothing then.
func TestARecordMeetsATakeover(t *testing.T) {
	if !sqldbtest.Postgres() {
		t.Skip("on SQLite nothing runs side by side")
	}
	r, g, a, _ := pair(t, 1, 0)
	r.begin(a)
	answer(200, g.next())
	a.Dispatcher.Landed()
	recorded := make(chan int)
	r.write(func(tx *sqldb.Tx) {
		if _, err := tx.Exec(t.Context(), `DELETE FROM leases`); err != nil {
			t.Fatal(err)
		}
		go func() { recorded <- a.Dispatcher.Record() }()
		r.until("the record waits", func() bool {
			return r.count(`SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`) == 1
		})
	})
	<-recorded
	a.Dispatcher.Apart()
	same(t, "states", r.states(), []string{"1 pending after 0"})
	same(t, "record", r.record(), []string{"1: 200 true"})
}

// The other way round: a lease that has run out stays while answers to what is leased
// are being recorded.
func TestATakeoverMeetsARecord(t *testing.T) {
	if !sqldbtest.Postgres() {
		t.Skip("on SQLite nothing runs side by side")
	}
	r, g, a, b := pair(t, 1, 0)
	r.begin(a)
	c := g.next()
	r.clock.step(webhook.LeaseTime)
	r.write(func(tx *sqldb.Tx) {
		if _, err := tx.Exec(t.Context(), `SELECT id FROM leases`+tx.ForKeyShare()); err != nil {
			t.Fatal(err)
		}
		r.begin(b)
		r.nothingHeld(b)
	})
	r.finish(a, 200, c)
	same(t, "open", r.open(), 0)
}

// A lease that ends between the record of an event and the taking on of the next has no
// say in that: it is looked for.
func TestALeaseEndsBeforeTheNextIsTakenOn(t *testing.T) {
	r, g, a, _ := pair(t, 1, 1)
	r.begin(a)
	answer(200, g.next())
	a.Dispatcher.Landed()
	takeOn := a.Dispatcher.RecordOnly(t, func() {})
	r.round(a)
	takeOn()
	r.nothingHeld(a)
	r.round(a)
	r.finish(a, 200, g.next())
	same(t, "open", r.open(), 0)
	r.nothingHeld(a)
}

// A node does not probe a parked endpoint with what another has in flight.
func TestAProbeLeavesWhatAnotherNodeHas(t *testing.T) {
	r, g, a, b := pair(t, 2, 0)
	r.begin(a)
	first, second := g.two()
	answer(410, second) // parks the endpoint while event 1 is in flight
	r.until("it is parked", func() bool { return a.Dispatcher.Record() > 0 })
	due := func(tx *sqldb.Tx) { tx.Queue(`UPDATE endpoints SET probe_at = 0, probed = 0`) }
	r.write(due)
	r.begin(b)
	r.nothingHeld(b)
	r.finish(a, 500, first)
	r.round(a) // its lease ends
	r.clock.step(time.Hour)
	r.write(due)
	r.search(b)
	r.finish(b, 200, g.next())
	same(t, "states", r.states()[0], "1 delivered after 2")
}

// What a killed node leaves of its leases goes when another renews its own, unless it may
// still be alive; so do leases of the node itself that it does not know of.
func TestLeasesAreSweptOut(t *testing.T) {
	r, _, a, b := pair(t, 1, 0)
	r.begin(b)
	r.write(func(tx *sqldb.Tx) {
		insert := func(partner int64, node string, left time.Duration) {
			tx.Queue(`INSERT INTO leases (partner_id, node, lease_until, licenses) VALUES ($1, $2, $3, $4)`, partner, node, start.Add(left), []int64{1})
		}
		insert(10, a.Dispatcher.Node(), 0)
		insert(100, a.Dispatcher.Node(), time.Second)
		insert(1000, b.Dispatcher.Node(), time.Second)
	})
	r.renew(b)
	same(t, "left of partners", r.count(`SELECT sum(partner_id) FROM leases`), 101)
}

// A lease is trimmed to what is in memory: what failed is anybody's again, though the rest
// of what was found with it is not answered for long.
func TestALeaseIsTrimmed(t *testing.T) {
	const n = 2 * webhook.LaneStart
	r, g, a, b := pair(t, n, 0)
	r.begin(a)
	callers := g.callers(webhook.LaneStart)
	failed := callers[1:]
	answer(500, failed...)
	recorded := 0
	r.until("recorded", func() bool {
		recorded += a.Dispatcher.Record()
		return recorded == len(failed)
	})
	r.clock.step(2 * time.Hour)
	r.renew(a)
	r.license(1, n+1)
	r.event(r.out, n+1) // due after what failed, so that the other's search comes farther
	r.begin(b)
	later := g.next()
	same(t, "taken by the other", later.id, n+1)
	r.trim(a)
	same(t, "leased", len(r.leased()), n-len(failed)+1)
	r.search(b)
	held, _, _ := b.Dispatcher.Counts()
	same(t, "in the other's memory", held, len(failed)+1)
	r.finish(b, 200, append(g.callers(len(failed)), later)...)
	same(t, "open", r.open(), int64(n-len(failed)))
}

func (r *rig) trim(out *webhook.Outbox) {
	r.Helper()
	if err := out.Dispatcher.Trim(r.Context()); err != nil {
		r.Fatal(err)
	}
}

// What comes next of a license that was taken off the lease meanwhile is not sent under it.
func TestALeaseIsTrimmedBeforeTheNextIsTakenOn(t *testing.T) {
	r, g, a, _ := pair(t, 2, 1)
	r.begin(a)
	first, other := g.two()
	answer(200, first)
	r.until("answered", func() bool { _, _, unrecorded := a.Dispatcher.Counts(); return unrecorded == 1 })
	takeOn := a.Dispatcher.RecordOnly(t, func() {})
	r.trim(a)
	takeOn()
	held, _, _ := a.Dispatcher.Counts()
	same(t, "in memory", held, 1)
	r.round(a)
	next := g.next()
	same(t, "sent", next.id, 3)
	r.finish(a, 200, next, other)
	same(t, "open", r.open(), 0)
}

// A new delivery that another node took over stays with that: the late answer does not
// set it free.
func TestALateAnswerLeavesWhatAnotherNodeHas(t *testing.T) {
	r, g, a, b := pair(t, 1, 0)
	r.begin(a)
	r.finish(a, 200, g.next()) // its lane is ready
	r.license(1, 2)
	r.event(a, 2)
	slow := g.next()
	same(t, "leased", r.leased(), map[int64]string{2: a.Dispatcher.Node()})
	r.clock.step(webhook.LeaseTime)
	r.begin(b)
	again := g.next()
	r.finish(a, 200, slow)
	r.nothingHeld(a)
	same(t, "leased", r.leased(), map[int64]string{2: b.Dispatcher.Node()})
	r.finish(b, 200, again)
	same(t, "open", r.open(), 0)
}

// A lease that nothing is taken on of ends all the same.
func TestALeaseOfNothingEnds(t *testing.T) {
	r, g, a, _ := pair(t, 1, 0)
	r.begin(a)
	c := g.next()
	a.Dispatcher.LeaseWhile(t, 1, func() { r.finish(a, 500, c) })
	r.round(a)
	same(t, "rows", r.count(`SELECT count(*) FROM leases`), 0)
}
