package webhook_test

import (
	"testing"
	"time"

	"claviger/internal/webhook"
)

func TestLanesAdapt(t *testing.T) {
	const most, start, few = webhook.LaneMost, webhook.LaneStart, webhook.LaneSlow
	for name, c := range map[string]struct {
		width    float64
		inFlight int // beside the one that was answered
		ok       bool
		took     time.Duration
		crowd    bool
		want     float64
	}{
		"a success in a full lane widens":     {start, start - 1, true, time.Millisecond, false, start + 1},
		"in one that is not full it does not": {start, start - 2, true, time.Millisecond, false, start},
		"never too wide":                      {most, most, true, time.Millisecond, false, most},
		"a failure halves":                    {start, start - 1, false, time.Millisecond, false, start / 2},
		"never to nothing":                    {1, 0, false, time.Millisecond, false, 1},
		"slowness halves":                     {most, most - 1, true, webhook.Slow + 1, false, most / 2},
		"but leaves a few":                    {few + 1, few, true, webhook.Slow + 1, false, few},
		"and does not widen":                  {1, 0, true, webhook.Slow + 1, false, 1},
		"nor does promptness in a crowd":      {start, start - 1, true, webhook.Prompt - 1, true, start},
		"but what takes its time does":        {start, start - 1, true, webhook.Prompt, true, start + 1},
	} {
		t.Run(name, func(t *testing.T) {
			if got := webhook.Adapt(c.width, c.inFlight, c.ok, c.took, c.crowd); got != c.want {
				t.Errorf("%v became %v, want %v", c.width, got, c.want)
			}
		})
	}
}

// A partner that hangs fills its own lane and no other.
func TestAHangingPartnerHoldsUpNoOther(t *testing.T) {
	r := newRig(t)
	g, e := newGate(t), &endpoint{TB: t}
	r.partner(1, g.ServeHTTP)
	r.partner(2, e.ServeHTTP)
	r.store(1, 1000, 1000)
	r.license(2, 2000)
	out, _ := r.running(settings{})
	out.Dispatcher.DrainIn(0)
	g.next()
	for i := range 20 {
		r.event(out, 2000)
		r.until("the healthy partner has its event", func() bool { return len(e.list()) == i+1 })
	}
	r.until("none but the first few of the hanging partner are in flight", func() bool {
		_, inFlight, _ := out.Dispatcher.Counts() // the healthy one's last answer may be on its way
		return inFlight == webhook.LaneStart
	})
	if n := r.count(`SELECT count(*) FROM webhook_responses AS r JOIN deliveries AS d ON d.event_id = r.event_id WHERE d.license_id < 2000`); n != 0 {
		t.Errorf("%d attempts of the hanging partner are on record", n)
	}
}

// Where no more may be in flight, lanes take turns: none has two before another
// that waits has one.
func TestLanesTakeTurns(t *testing.T) {
	r := steppedRig(t)
	g := newGate(t)
	const partners, each = 5, 4
	for p := range int64(partners) {
		r.partner(p+1, g.ServeHTTP)
		for l := range int64(each) {
			r.license(p+1, p*each+l+1)
			r.event(r.out, p*each+l+1)
		}
	}
	out := r.stepped(settings{})
	out.Dispatcher.Limit(2, 1000, 1000)
	r.begin(out)
	callers := g.callers(2)
	g.nobody("past the bound")
	had := map[int64]int{}
	for n := 1; n <= partners*each; n++ {
		c := callers[0]
		callers = callers[1:]
		had[r.count(`SELECT partner_id FROM deliveries WHERE event_id = $1`, c.id)]++
		c.answer <- 200
		if n <= partners*each-2 {
			callers = append(callers, g.next())
		}
		if n%partners == 0 {
			for p := range int64(partners) {
				if had[p+1] != n/partners {
					t.Fatalf("after %d requests the partners had %v", n, had)
				}
			}
		}
	}
	r.step(out)
	if n := r.open(); n != 0 {
		t.Errorf("%d wait still", n)
	}
}

// Once half of all requests there may be are in flight, a lane has one of the
// rest: those that hang leave room for those that do not.
func TestManyThatHangLeaveRoom(t *testing.T) {
	r := steppedRig(t)
	g, e := newGate(t), &endpoint{TB: t}
	const hanging = 4
	for p := range int64(hanging) {
		r.partner(p+1, g.ServeHTTP)
		for l := range int64(10) {
			r.license(p+1, p*10+l+1)
			r.event(r.out, p*10+l+1)
		}
	}
	r.partner(9, e.ServeHTTP)
	r.license(9, 900)
	out := r.stepped(settings{})
	out.Dispatcher.Limit(16, 1000, 1000)
	r.begin(out)
	g.callers(8) // half of all, which the first lanes may fill
	r.event(r.out, 900)
	out.Dispatcher.InvalidateEndpoint(9)
	r.round(out)
	r.until("the healthy partner has its event", func() bool { return len(e.list()) == 1 })
}

// A delivery that this node writes for a partner whose lane is ready needs no
// search at all: nothing but Enqueue is called here.
func TestNewDeliveriesAreBornLeased(t *testing.T) {
	r := steppedRig(t)
	e := &endpoint{TB: t}
	r.partner(1, e.ServeHTTP)
	r.license(1, 1, 2)
	out := r.stepped(settings{})
	r.event(out, 1)
	r.step(out) // the lane is known from now on
	e.taken()
	for i := range 10 {
		r.event(out, int64(i%2+1))
		out.Dispatcher.Landed()
		out.Dispatcher.Record()
	}
	same(t, "got", e.taken(), []int64{2, 3, 4, 5, 6, 7, 8, 9, 10, 11})
	if n := r.open(); n != 0 {
		t.Errorf("%d wait", n)
	}
}

func TestWhenNewDeliveriesAreNotBornLeased(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*rig, *webhook.Outbox)
		later  bool // it is delivered when the dispatcher looks
	}{
		"the lane is not known": {func(r *rig, out *webhook.Outbox) {
			r.clock.step(2 * webhook.UsedFor)
			out.Dispatcher.Refresh(r.Context())
		}, true},
		"it was not looked at":     {func(r *rig, _ *webhook.Outbox) { r.clock.step(2 * webhook.FreshFor) }, true},
		"it was forgotten":         {func(_ *rig, out *webhook.Outbox) { out.Dispatcher.InvalidateEndpoint(1) }, true},
		"the endpoint is parked":   {func(r *rig, out *webhook.Outbox) { r.gone(out) }, false},
		"the URL was taken away":   {func(r *rig, out *webhook.Outbox) { r.point(1, nil); out.Dispatcher.InvalidateEndpoint(1); r.step(out) }, false},
		"the dispatcher stops":     {func(_ *rig, out *webhook.Outbox) { out.Dispatcher.Stop() }, false},
		"an earlier event is open": {func(r *rig, _ *webhook.Outbox) { r.event(r.out, 1) }, true},
	} {
		t.Run(name, func(t *testing.T) {
			r := steppedRig(t)
			e := &endpoint{TB: t}
			r.partner(1, e.ServeHTTP)
			r.partner(2, e.ServeHTTP)
			r.license(1, 1, 99)
			out := r.stepped(settings{})
			r.event(out, 1)
			r.step(out)
			c.change(r, out)
			e.taken()
			id := r.event(out, 1)
			same(t, "leased", r.leased(), map[int64]string{})
			out.Dispatcher.Landed()
			same(t, "got at once", e.taken(), []int64{})
			if c.later {
				r.step(out)
				if ids := e.taken(); len(ids) == 0 || ids[len(ids)-1] != id {
					t.Errorf("got %v when it was looked for", ids)
				}
			}
		})
	}
}

// gone has the endpoint of partner 1 answer 410.
func (r *rig) gone(out *webhook.Outbox) {
	r.Helper()
	r.point(1, (&endpoint{TB: r.TB, all: 410}).ServeHTTP)
	out.Dispatcher.InvalidateEndpoint(1)
	r.event(out, 99)
	r.step(out)
}

func TestAFullLaneLeavesTheRestToTheTable(t *testing.T) {
	r := steppedRig(t)
	g := newGate(t)
	r.partner(1, g.ServeHTTP)
	out := r.stepped(settings{})
	const n = 300
	for l := range int64(n) {
		r.license(1, l+1)
	}
	r.event(out, 1)
	r.begin(out)
	g.next().answer <- 200
	out.Dispatcher.Landed()
	out.Dispatcher.Record()
	for l := range int64(n - 1) {
		r.event(out, l+2)
	}
	held, inFlight, _ := out.Dispatcher.Counts()
	if held != 16*webhook.LaneStart || inFlight != webhook.LaneStart || len(r.leased()) != held {
		t.Errorf("%d in memory, %d in flight, %d leased", held, inFlight, len(r.leased()))
	}
	go func() {
		for c := range g.arrived {
			c.answer <- 200
		}
	}()
	r.step(out)
	close(g.arrived)
	same(t, "open", r.open(), 0)
	same(t, "attempts", r.count(`SELECT count(*) FROM webhook_responses`), n)
}

// What is in memory is bounded over all partners, and each has its turn.
func TestNotMoreIsClaimedThanMemoryHolds(t *testing.T) {
	r := steppedRig(t)
	g := newGate(t)
	const partners = 64
	for p := range int64(partners) {
		r.partner(p+1, g.ServeHTTP)
		r.license(p+1, p+1)
		r.event(r.out, p+1)
	}
	out := r.stepped(settings{})
	out.Dispatcher.Limit(1000, 20, 1000)
	r.begin(out)
	served := map[int64]bool{}
	for len(served) < partners {
		held, inFlight, _ := out.Dispatcher.Counts()
		if held > 20+16 {
			t.Fatalf("%d in memory", held)
		}
		for _, c := range g.callers(inFlight) {
			served[c.id] = true
			c.answer <- 200
		}
		out.Dispatcher.Landed()
		out.Dispatcher.Record()
		if err := out.Dispatcher.Search(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
}

// Lanes that nobody needs end, and those in use know their endpoint.
func TestRefresh(t *testing.T) {
	r := steppedRig(t)
	e := &endpoint{TB: t}
	out := r.stepped(settings{})
	for p := range int64(3) {
		r.partner(p+1, e.ServeHTTP)
		r.license(p+1, p+1)
		r.event(out, p+1)
	}
	r.step(out)
	r.clock.step(webhook.UsedFor / 2)
	r.event(out, 1)
	r.step(out)
	r.clock.step(webhook.UsedFor/2 + time.Second)
	out.Dispatcher.Refresh(t.Context())
	if n := out.Dispatcher.Lanes(); n != 1 {
		t.Errorf("%d lanes", n)
	}
	id := r.event(out, 1)
	same(t, "leased", r.leased(), map[int64]string{id: out.Dispatcher.Node()})
	out.Dispatcher.Landed()
	if ids := e.taken(); ids[len(ids)-1] != id {
		t.Errorf("got %v", ids)
	}
}
