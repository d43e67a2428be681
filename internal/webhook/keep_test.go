package webhook_test

import (
	"testing"
	"time"

	"claviger/internal/sqldb"
	"claviger/internal/webhook"
)

// lone is a rig with one node that is alone, and an endpoint where requests wait; n
// licenses have one event each.
func lone(t *testing.T, n int64) (*rig, *gate, *webhook.Outbox) {
	t.Helper()
	r, g := steppedRig(t), newGate(t)
	r.partner(1, g.ServeHTTP)
	for l := range n {
		r.license(1, l+1)
		r.event(r.out, l+1)
	}
	return r, g, r.stepped(settings{alone: true})
}

func (r *rig) nothingHeld(out *webhook.Outbox) {
	r.Helper()
	if held, inFlight, unrecorded := out.Dispatcher.Counts(); held+inFlight+unrecorded != 0 {
		r.Errorf("%d in memory, %d in flight, %d not recorded", held, inFlight, unrecorded)
	}
}

// sendsRest checks that these events are sent one after another, and nothing else.
func (r *rig) sendsRest(g *gate, out *webhook.Outbox, events ...int64) {
	r.Helper()
	for _, want := range events {
		if err := out.Dispatcher.Search(r.Context()); err != nil {
			r.Fatal(err)
		}
		c := g.next()
		same(r, "sent", c.id, want)
		r.finish(out, 200, c)
	}
	same(r, "open", r.open(), 0)
	r.nothingHeld(out)
}

// A node that is alone leases nothing of what it finds, and takes nothing twice,
// however often it searches.
func TestAloneNothingIsLeased(t *testing.T) {
	const n = 2 * webhook.LaneStart
	r, g, out := lone(t, n)
	r.begin(out)
	callers := g.callers(webhook.LaneStart)
	same(t, "leased", r.leased(), map[int64]string{})
	for range 3 {
		if err := out.Dispatcher.SearchWhile(t.Context(), 1, func() {}, func() {}); err != nil {
			t.Fatal(err)
		}
	}
	answer(200, callers...)
	r.finish(out, 200, g.callers(webhook.LaneStart)...)
	same(t, "open", r.open(), 0)
	same(t, "attempts", r.count(`SELECT count(*) FROM webhook_responses`), n)
	r.nothingHeld(out)
}

// What is recorded while a search is under way, which does not see it, is not sent
// again, whatever came of it: neither what was in memory when it was found, nor
// what another search took on in the meantime.
func TestAloneASearchMayBeOld(t *testing.T) {
	nothing := func() {}
	for name, status := range map[string]int{"delivered": 200, "failed": 500} {
		t.Run("in memory before, "+name, func(t *testing.T) {
			r, g, out := lone(t, 1)
			r.begin(out)
			c := g.next()
			if err := out.Dispatcher.SearchWhile(t.Context(), 1, func() { r.finish(out, status, c) }, nothing); err != nil {
				t.Fatal(err)
			}
			g.nobody("that was answered before")
			same(t, "attempts", r.count(`SELECT count(*) FROM webhook_responses`), 1)
			r.nothingHeld(out)
		})
		t.Run("taken on since, "+name, func(t *testing.T) {
			r, g, out := lone(t, 1)
			r.event(r.out, 1)
			r.begin(out)
			answer(200, g.next())
			out.Dispatcher.Landed()
			takeOn := out.Dispatcher.RecordOnly(t, func() {})
			err := out.Dispatcher.SearchWhile(t.Context(), 1, nothing, func() {
				takeOn()
				r.finish(out, status, g.next())
			})
			if err != nil {
				t.Fatal(err)
			}
			g.nobody("that was answered before")
			same(t, "attempts", r.count(`SELECT count(*) FROM webhook_responses`), 2)
			r.nothingHeld(out)
		})
	}
}

// An event that is reopened and found just before the next of its license is taken
// on waits for that.
func TestAloneASearchMeetsARedelivery(t *testing.T) {
	r, g, out := lone(t, 1)
	r.event(r.out, 1)
	r.begin(out)
	answer(200, g.next())
	out.Dispatcher.Landed()
	takeOn := out.Dispatcher.RecordOnly(t, func() {})
	r.redeliver(out, 1)
	var second *caller
	err := out.Dispatcher.SearchWhile(t.Context(), 1, func() {}, func() {
		takeOn()
		r.round(out) // it looks at the endpoint anew
		second = g.next()
	})
	if err != nil {
		t.Fatal(err)
	}
	same(t, "sent", second.id, 2)
	g.nobody("while another of its license is in flight")
	r.finish(out, 200, second)
	r.sendsRest(g, out, 1, 2)
}

// One that was called back and is found by a search keeps that mark, if an earlier
// event is reopened before it is taken on: it goes out after that.
func TestAloneACalledBackOneStaysSo(t *testing.T) {
	r, g, out := lone(t, 1)
	r.event(r.out, 1)
	r.begin(out)
	r.finish(out, 200, g.next())
	r.finish(out, 500, g.next())
	r.write(func(tx *sqldb.Tx) { tx.Queue(`UPDATE outbox SET node = '*', due_at = $1`, start) })
	err := out.Dispatcher.SearchWhile(t.Context(), 1, func() { r.redeliver(out, 1) }, func() {})
	if err != nil {
		t.Fatal(err)
	}
	r.sendsRest(g, out, 1, 2)
}

// More than a lane holds may be due at the same moment, as after a redelivery of
// many: the search goes on after what it found.
func TestAloneMuchIsDueAtOnce(t *testing.T) {
	r, e := steppedRig(t), &endpoint{TB: t}
	r.partner(1, e.ServeHTTP)
	r.store(1, 3000, 3000)
	r.write(func(tx *sqldb.Tx) { tx.Queue(`UPDATE outbox SET due_at = $1`, start) })
	out := r.stepped(settings{alone: true})
	r.step(out)
	same(t, "open", r.open(), 0)
	same(t, "attempts", r.count(`SELECT count(*) FROM webhook_responses`), 3000)
	r.nothingHeld(out)
}

// What a killed node had in memory or in flight, the next one finds at once.
func TestAloneWhatWasKeptIsFoundAgain(t *testing.T) {
	r, g, out := lone(t, 2*webhook.LaneStart)
	r.begin(out)
	g.callers(webhook.LaneStart)
	again := r.stepped(settings{alone: true})
	r.begin(again)
	callers := g.callers(webhook.LaneStart)
	answer(200, callers...)
	r.finish(again, 200, g.callers(webhook.LaneStart)...)
	same(t, "open", r.open(), 0)
}

// What is due by a clock that was set back is found, although searches have come
// farther by the clock as it was.
func TestAloneTheClockIsSetBack(t *testing.T) {
	r, e := steppedRig(t), &endpoint{TB: t}
	r.partner(1, e.ServeHTTP)
	r.license(1, 1, 2)
	out := r.stepped(settings{alone: true})
	r.event(r.out, 1)
	r.step(out)
	r.clock.step(-30 * time.Second)
	r.event(r.out, 2)
	out.Dispatcher.Refresh(t.Context())
	r.step(out)
	same(t, "open", r.open(), 0)
}

// A delivery in flight when its endpoint is parked is no probe: it stays its own.
func TestAloneAProbeLeavesWhatIsInFlight(t *testing.T) {
	r, g, out := lone(t, 2)
	r.begin(out)
	first, second := g.two()
	answer(410, second) // parks the endpoint while event 1 is in flight
	r.until("it is parked", func() bool { return out.Dispatcher.Record() > 0 })
	r.write(func(tx *sqldb.Tx) { tx.Queue(`UPDATE endpoints SET probe_at = 0, probed = 0`) })
	out.Dispatcher.InvalidateEndpoint(1)
	r.round(out)
	g.nobody("while it is in flight")
	r.finish(out, 200, first)
	same(t, "states", r.states(), []string{"1 delivered after 1", "2 pending after 1"})
}

// A search that comes by before a retry is on record, or a new event committed, does
// not make it wait for the next look at the endpoint.
func TestAloneASearchIsAhead(t *testing.T) {
	r, g, out := lone(t, 1)
	out.Dispatcher.Schedule = webhook.Schedule{10 * time.Millisecond}
	r.begin(out)
	answer(500, g.next())
	out.Dispatcher.Landed() // due in 10 ms, and not on record yet
	r.clock.step(20 * time.Millisecond)
	r.license(1, 2)
	r.event(r.out, 2)
	if err := out.Dispatcher.Search(t.Context()); err != nil {
		t.Fatal(err)
	}
	r.finish(out, 200, g.next())
	if err := out.Dispatcher.Search(t.Context()); err != nil {
		t.Fatal(err)
	}
	c := g.next()
	same(t, "sent", c.id, 1)
	r.finish(out, 200, c)
	same(t, "open", r.open(), 0)
}
