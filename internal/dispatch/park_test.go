package dispatch_test

import (
	"testing"
	"time"

	"claviger/internal/dispatch"
	"claviger/internal/sqldb"
	"claviger/internal/webhook"
)

// parked reports whether the partner's endpoint is parked.
func (r *harness) parked(partnerID int64) bool {
	r.Helper()
	return r.count(`SELECT count(*) FROM endpoints WHERE partner_id = $1 AND parked_at <> 0`, partnerID) == 1
}

// hourly retries events every hour.
var hourly = webhook.Schedule{
	time.Hour, time.Hour, time.Hour, time.Hour, time.Hour, time.Hour, time.Hour, time.Hour, time.Hour, time.Hour, time.Hour, time.Hour,
}

func TestParking(t *testing.T) {
	// An act is the endpoint's answer to an event of a new license, some time after the previous
	// act.
	type act struct {
		after  time.Duration
		status int
	}
	const m = time.Minute
	for name, c := range map[string]struct {
		acts []act
		want bool
	}{
		"five failures over an hour":           {[]act{{0, 500}, {m, 500}, {m, 500}, {m, 500}, {57 * m, 500}}, true},
		"five failures, not yet an hour":       {[]act{{0, 500}, {m, 500}, {m, 500}, {m, 500}, {56 * m, 500}}, false},
		"four failures over days":              {[]act{{0, 500}, {3 * time.Hour, 500}, {9 * time.Hour, 500}, {99 * time.Hour, 500}}, false},
		"a success in between":                 {[]act{{0, 500}, {m, 500}, {m, 500}, {m, 500}, {m, 200}, {m, 500}, {m, 500}, {50 * m, 500}, {m, 500}, {m, 500}}, false},
		"a success in between, then an hour":   {[]act{{0, 500}, {m, 200}, {m, 500}, {m, 500}, {m, 500}, {m, 500}, {57 * m, 500}}, true},
		"failures of every sort count":         {[]act{{0, 301}, {m, 404}, {m, 500}, {m, 429}, {57 * m, 503}}, true},
		"gone parks at once":                   {[]act{{0, 410}}, true},
		"a success opens what gone closed":     {[]act{{0, 410}, {5 * m, 200}}, false},
		"failures long after the last attempt": {[]act{{0, 500}, {0, 500}, {0, 500}, {0, 500}, {24 * time.Hour, 500}}, true},
	} {
		t.Run(name, func(t *testing.T) {
			r := steppedHarness(t)
			e := &endpoint{TB: t}
			r.partner(1, e.ServeHTTP)
			out := r.stepped(settings{schedule: webhook.Schedule{1000 * time.Hour}, parkAfter: time.Hour, probeEvery: 5 * m})
			for i, a := range c.acts {
				r.clock.step(a.after)
				e.answer(a.status)
				r.license(1, int64(i+1))
				r.event(out, int64(i+1))
				r.step(out)
			}
			if got := r.parked(1); got != c.want {
				t.Errorf("parked: %v, want %v; %v", got, c.want, r.record())
			}
		})
	}
}

// park returns a harness with a broken endpoint that is parked because it answered 410 to event 1
// of license 1. Licenses 2 to n have two events each.
func park(t *testing.T, n int64, s settings) (*harness, *endpoint, *outbox) {
	t.Helper()
	r := steppedHarness(t)
	e := &endpoint{TB: t, all: 410}
	r.partner(1, e.ServeHTTP)
	r.license(1, 1)
	out := r.stepped(s)
	r.event(out, 1)
	r.step(out)
	for l := int64(2); l <= n; l++ {
		r.license(1, l)
		r.event(out, l)
		r.event(out, l)
	}
	e.answer(500)
	e.taken()
	return r, e, out
}

// TestASearchKnowsLessThanARecord: the health that a search read before an answer was recorded is
// ignored, unless the endpoint changed.
func TestASearchKnowsLessThanARecord(t *testing.T) {
	r := steppedHarness(t)
	e := &endpoint{TB: t, all: 410}
	r.partner(1, e.ServeHTTP)
	out := r.stepped(settings{schedule: hourly, probeEvery: 5 * time.Minute})
	health := func() webhook.Health {
		f, err := out.Dispatcher.Store.Find(t.Context(), webhook.Search{PartnerID: 1, Reload: true})
		if err != nil {
			t.Fatal(err)
		}
		return f.To.Health
	}
	before := health()
	r.license(1, 1)
	r.event(out, 1)
	r.step(out)
	parked := health()
	changed := before
	changed.Changed++
	for name, c := range map[string]struct {
		searched, recorded webhook.Health
		open, again        bool
	}{
		"it was parked meanwhile":      {before, parked, false, true},
		"it was opened meanwhile":      {parked, before, true, true},
		"nothing changed":              {before, before, true, false},
		"it was parked before an act":  {changed, parked, true, false},
		"it is parked, as before":      {parked, parked, false, false},
		"an act came after the search": {before, changed, true, false},
	} {
		open, again := out.Dispatcher.OpenAfter(c.searched, c.recorded)
		same(t, name+", is open", open, c.open)
		same(t, name+", searches again", again, c.again)
	}
}

func TestAParkedEndpointGetsProbesOnly(t *testing.T) {
	s := settings{schedule: hourly, probeEvery: 5 * time.Minute}
	r, e, a := park(t, 3, s)
	b := r.stepped(s)
	// One every five minutes over all nodes, with the head of one license after another.
	for i, want := range []int64{1, 2, 4, 1, 2, 4, 1} {
		r.clock.step(5*time.Minute - time.Second)
		r.step(a, b)
		same(t, "got before it is time", e.taken(), []int64{})
		r.clock.step(time.Second)
		if i%2 == 0 {
			r.step(a, b)
		} else {
			r.step(b, a)
		}
		same(t, "probed with", e.taken(), []int64{want})
	}
	same(t, "states", r.states(), []string{"1 pending after 4", "2 pending after 2", "3 pending after 0", "4 pending after 2", "5 pending after 0"})
}

func TestProbesExhaustEvents(t *testing.T) {
	r, e, out := park(t, 2, settings{schedule: webhook.Schedule{time.Hour}, probeEvery: time.Minute})
	for range 6 {
		r.clock.step(time.Minute)
		r.step(out)
	}
	same(t, "probed with", e.taken(), []int64{1, 2, 2, 3, 3})
	same(t, "states", r.states(), []string{"1 exhausted after 2", "2 exhausted after 2", "3 exhausted after 2"})
	if !r.parked(1) {
		t.Error("it is open")
	}
}

// When the endpoint is back, waiting retries are due and sent at a ramp.
func TestASuccessOpensAParkedEndpoint(t *testing.T) {
	const n = 40
	r, _, out := park(t, n, settings{schedule: webhook.Schedule{100 * time.Hour}, probeEvery: time.Minute})
	g := newGate(t)
	r.point(1, g.ServeHTTP)
	r.clock.step(time.Minute)
	r.run(out)
	r.finish(200, g.next())
	if r.parked(1) {
		t.Fatal("it is still parked")
	}
	// One, then two, then four …
	for _, want := range []int{1, 2, 4, 8, 16} {
		callers := g.callers(want)
		if n := out.Dispatcher.Counts().InFlight; n != want {
			t.Fatalf("%d in flight, want %d", n, want)
		}
		r.finish(200, callers...)
	}
	go func() {
		for c := range g.arrived {
			c.answer <- 200
		}
	}()
	r.settle(out)
	close(g.arrived)
	if n := r.open(); n != 0 {
		t.Errorf("%d wait still", n)
	}
}

// The dispatcher also probes if nothing is due yet.
func TestProbesDoNotWaitForTheSchedule(t *testing.T) {
	r, e, out := park(t, 1, settings{schedule: webhook.Schedule{100 * time.Hour}, probeEvery: time.Minute})
	e.answer(200)
	r.clock.step(time.Minute)
	r.step(out)
	same(t, "states", r.states(), []string{"1 delivered after 2"})
}

// One event that the partner never accepts parks a quiet endpoint, but delays other events only
// until they are used as probes.
func TestAPoisonedEventDoesNotParkForEver(t *testing.T) {
	r := steppedHarness(t)
	e := &endpoint{TB: t}
	r.partner(1, e.ServeHTTP)
	r.license(1, 1, 2, 3)
	out := r.stepped(settings{schedule: hourly, probeEvery: 5 * time.Minute})
	r.event(out, 2) // the poisoned one
	e.answerTo(1, 500)
	for range 5 {
		r.step(out)
		r.clock.step(time.Hour)
	}
	if !r.parked(1) {
		t.Fatal("it is not parked")
	}
	e.taken()
	r.event(out, 1)
	r.event(out, 3)
	for range 2 {
		r.clock.step(5 * time.Minute)
		r.step(out)
	}
	same(t, "states", r.states(), []string{"1 pending after 6", "2 delivered after 1", "3 delivered after 1"})
	if r.parked(1) {
		t.Error("it is parked")
	}
}

// When the endpoint is parked, deliveries in memory are dropped untried.
func TestParkingEmptiesTheLane(t *testing.T) {
	r := steppedHarness(t)
	g := newGate(t)
	r.partner(1, g.ServeHTTP)
	out := r.stepped(settings{schedule: hourly})
	for l := range int64(20) {
		r.license(1, l+1)
		r.event(out, l+1)
	}
	r.run(out)
	callers := g.callers(dispatch.FirstInFlight)
	r.finish(410, callers[0])
	r.until("what is not begun is let go", func() bool { return out.Dispatcher.Counts().Held == len(callers)-1 })
	r.finish(500, callers[1:]...)
	r.settle(out)
	g.nobody("to a parked endpoint")
	same(t, "attempts", r.attempts(), int64(dispatch.FirstInFlight))
	r.until("nothing is in memory", func() bool { return out.Dispatcher.Counts().Held == 0 })
}

func TestRedeliveryToAParkedEndpointProbesIt(t *testing.T) {
	r, e, out := park(t, 3, settings{schedule: hourly, probeEvery: time.Hour})
	if err := out.Redeliver(t.Context(), tester, 1, 4); err != nil {
		t.Fatal(err)
	}
	r.step(out)
	same(t, "probed with", e.taken(), []int64{4})
	r.clock.step(59 * time.Minute)
	r.step(out)
	same(t, "got before it is time again", e.taken(), []int64{})
	e.answer(200)
	r.redeliverFailed(out, start.Add(time.Hour))
	r.step(out)
	if n := r.open(); n != 0 || r.parked(1) {
		t.Errorf("%d wait, parked: %v", n, r.parked(1))
	}
}

// A new URL is a new endpoint.
func TestUnpark(t *testing.T) {
	r, _, out := park(t, 3, settings{schedule: hourly, probeEvery: time.Hour})
	e := &endpoint{TB: t}
	r.point(1, e.ServeHTTP)
	r.write(func(tx *sqldb.Tx) { out.Unpark(tx, 1) })
	if r.parked(1) {
		t.Error("it is parked")
	}
	r.step(out)
	if n := r.open(); n != 0 {
		t.Errorf("%d wait: %v", n, r.waits())
	}
	if n := len(e.taken()); n != 5 {
		t.Errorf("the new endpoint got %d of 5 events", n)
	}
}

// Failures in a row start at zero after Unpark, and waiting retries are due even if the endpoint
// was not parked yet.
func TestUnparkBeforeParking(t *testing.T) {
	r := steppedHarness(t)
	e := &endpoint{TB: t, all: 500}
	r.partner(1, e.ServeHTTP)
	r.license(1, 1)
	out := r.stepped(settings{schedule: hourly})
	r.event(out, 1)
	r.step(out)
	r.write(func(tx *sqldb.Tx) { out.Unpark(tx, 1) })
	if n := r.count(`SELECT failures FROM endpoints`); n != 0 {
		t.Errorf("%d failures are counted", n)
	}
	e.answer(200)
	r.step(out)
	same(t, "states", r.states(), []string{"1 delivered after 2"})
}
