package dispatch_test

import (
	"maps"
	"slices"
	"testing"
	"time"

	"claviger/internal/dispatch"
)

func TestPaceFollowsTheEndpoint(t *testing.T) {
	const usual, first, few, most = dispatch.UsualInFlight, dispatch.FirstInFlight, dispatch.SlowInFlight, 256
	const ms = time.Millisecond
	for name, c := range map[string]struct {
		limit float64
		best  time.Duration
		ok    bool
		took  time.Duration
		load  dispatch.Load
		want  float64
	}{
		"a success at the limit raises it":      {first, ms, true, ms, dispatch.Load{Lane: first, Spare: true, Most: most}, first + 1},
		"below the limit it does not":           {first, ms, true, ms, dispatch.Load{Lane: first - 1, Spare: true, Most: most}, first},
		"never past what is set":                {first, ms, true, ms, dispatch.Load{Lane: first, Spare: true, Most: first}, first},
		"a failure halves":                      {first, ms, false, ms, dispatch.Load{Lane: first, Spare: true, Most: most}, first / 2},
		"never to nothing":                      {1, ms, false, ms, dispatch.Load{Lane: 1, Spare: true, Most: most}, 1},
		"slowness halves":                       {usual, ms, true, dispatch.Slow + 1, dispatch.Load{Lane: usual, Spare: true, Most: most}, usual / 2},
		"but not what is just in time":          {usual, ms, true, dispatch.Slow, dispatch.Load{Lane: usual, Spare: true, Most: most}, usual},
		"but leaves a few":                      {few + 1, ms, true, dispatch.Slow + 1, dispatch.Load{Lane: few + 1, Spare: true, Most: most}, few},
		"and does not raise":                    {1, ms, true, dispatch.Slow + 1, dispatch.Load{Lane: 1, Spare: true, Most: most}, 1},
		"nor does promptness on a busy node":    {first, dispatch.Prompt - 1, true, dispatch.Prompt, dispatch.Load{Lane: first, Node: dispatch.BusyNode, Spare: true, Most: most}, first},
		"but what takes its time does":          {first, dispatch.Prompt, true, dispatch.Prompt, dispatch.Load{Lane: first, Node: dispatch.BusyNode, Spare: true, Most: most}, first + 1},
		"and promptness on one just below":      {first, ms, true, ms, dispatch.Load{Lane: first, Node: dispatch.BusyNode - 1, Spare: true, Most: most}, first + 1},
		"past the usual while there is much":    {usual, ms, true, 2 * ms, dispatch.Load{Lane: usual, Spare: true, Most: most}, usual + 1},
		"but not when others need it":           {usual, ms, true, ms, dispatch.Load{Lane: usual, Most: most}, usual},
		"nor when it makes the endpoint slower": {usual, ms, true, 2*ms + 1, dispatch.Load{Lane: usual, Spare: true, Most: most}, usual},
		"below the usual it may get slower":     {usual - 1, ms, true, 9 * ms, dispatch.Load{Lane: usual - 1, Most: most}, usual},
		"what is quicker than ever is the best": {usual, 9 * ms, true, ms, dispatch.Load{Lane: usual, Spare: true, Most: most}, usual + 1},
	} {
		t.Run(name, func(t *testing.T) {
			if got, _ := dispatch.Adapt(c.limit, c.best, c.ok, c.took, c.load); got != c.want {
				t.Errorf("%v became %v, want %v", c.limit, got, c.want)
			}
		})
	}
}

// The lowest latency counts from the endpoint's last failure.
func TestPaceRemembersTheBest(t *testing.T) {
	for name, c := range map[string]struct {
		best time.Duration
		ok   bool
		took time.Duration
		want time.Duration
	}{
		"the first answer": {0, true, 5, 5},
		"a quicker one":    {5, true, 4, 4},
		"a slower one":     {5, true, 6, 5},
		"a failure":        {5, false, 4, 0},
	} {
		t.Run(name, func(t *testing.T) {
			if _, got := dispatch.Adapt(1, c.best, c.ok, c.took, dispatch.Load{}); got != c.want {
				t.Errorf("the best is %v, want %v", got, c.want)
			}
		})
	}
}

// A hanging partner fills its own lane and no other.
func TestAHangingPartnerHoldsUpNoOther(t *testing.T) {
	r := newHarness(t)
	g, e := newGate(t), &endpoint{TB: t}
	r.partner(1, g.ServeHTTP)
	r.partner(2, e.ServeHTTP)
	r.store(1, 1000, 1000)
	r.license(2, 2000)
	out, _ := r.running(settings{times: hasty})
	g.next()
	for range 20 {
		id := r.event(out, 2000)
		r.until("the healthy partner has its event", func() bool { return slices.Contains(e.list(), id) })
	}
	r.until("none but the first few of the hanging partner are in flight", func() bool {
		// The healthy one's last answer may be in flight.
		return out.Dispatcher.Counts().InFlight == dispatch.FirstInFlight
	})
	if n := r.count(`SELECT count(*) FROM webhook_responses AS r JOIN deliveries AS d ON d.event_id = r.event_id WHERE d.license_id < 2000`); n != 0 {
		t.Errorf("%d attempts of the hanging partner are on record", n)
	}
}

// At the limit of requests in flight, lanes take turns: none gets two before a waiting lane gets
// one.
func TestLanesTakeTurns(t *testing.T) {
	r := steppedHarness(t)
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
	out.Dispatcher.Limit(2, 1000)
	r.run(out)
	callers := g.callers(2)
	r.until("all lanes have found theirs", func() bool { return out.Dispatcher.Counts().Held == partners*each })
	g.nobody("past the bound")
	of := func(c *caller) int64 { return r.count(`SELECT partner_id FROM deliveries WHERE event_id = $1`, c.id) }
	had := map[int64]int{}
	for n := 1; n <= partners*each; n++ {
		wait := map[int64]bool{}
		for p := range int64(partners) {
			wait[p+1] = had[p+1] < each
		}
		for _, c := range callers {
			delete(wait, of(c))
		}
		maps.DeleteFunc(wait, func(_ int64, waits bool) bool { return !waits })
		r.until("who has something to send waits", func() bool {
			waiting, _ := out.Dispatcher.Waiting()
			return waiting == len(wait)
		})
		c := callers[0]
		callers = callers[1:]
		had[of(c)]++
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
	r.settle(out)
	if n := r.open(); n != 0 {
		t.Errorf("%d wait still", n)
	}
}

// Once half of all allowed requests are in flight, a lane gets one of the rest: hanging partners
// leave enough for the others.
func TestManyThatHangLeaveEnough(t *testing.T) {
	r := steppedHarness(t)
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
	out := r.stepped(settings{times: hasty})
	out.Dispatcher.Limit(16, 1000)
	r.run(out)
	g.callers(8) // half of all, which the first lanes may fill
	r.event(out, 900)
	r.until("the healthy partner has its event", func() bool { return len(e.list()) == 1 })
}

// A delivery written by this node for a partner with a ready lane needs no search.
func TestNewDeliveriesNeedNoSearch(t *testing.T) {
	r := steppedHarness(t)
	e := &endpoint{TB: t}
	r.partner(1, e.ServeHTTP)
	r.license(1, 1, 2)
	out, _ := r.running(settings{now: r.clock.now})
	r.event(out, 1)
	r.settle(out) // the lane is now known
	e.taken()
	// By this clock they are due in an hour, so no search finds them.
	ahead := silent(out.DB, func() time.Time { return r.clock.now().Add(time.Hour) })
	ahead.Tell = out.Tell
	for i := range 10 {
		r.event(ahead, int64(i%2+1))
		r.until("delivered", func() bool { return r.open() == 0 })
	}
	same(t, "got", e.taken(), []int64{2, 3, 4, 5, 6, 7, 8, 9, 10, 11})
}

// Deliveries that do not fit into memory are found in the table when there is space, without a
// poll.
func TestAFullLaneLeavesTheRestToTheTable(t *testing.T) {
	r := steppedHarness(t)
	g := newGate(t)
	r.partner(1, g.ServeHTTP)
	const n = 300
	for l := range int64(n) {
		r.license(1, l+1)
	}
	out := r.manual(settings{})
	r.recording(out)
	r.event(out, 1)
	r.finish(200, g.next())
	for l := range int64(n - 1) {
		r.event(out, l+2)
	}
	r.until("the lane is full", func() bool {
		return out.Dispatcher.Counts() == dispatch.Counted{Held: dispatch.PerRequest * dispatch.FirstInFlight, InFlight: dispatch.FirstInFlight}
	})
	go func() {
		for c := range g.arrived {
			c.answer <- 200
		}
	}()
	r.until("all are delivered", func() bool { return r.open() == 0 })
	close(g.arrived)
	same(t, "attempts", r.attempts(), int64(n))
}

// The number of deliveries in memory is limited over all partners, and each gets its turn.
func TestNotMoreIsClaimedThanMemoryHolds(t *testing.T) {
	r := steppedHarness(t)
	g := newGate(t)
	const partners = 64
	for p := range int64(partners) {
		r.partner(p+1, g.ServeHTTP)
		r.license(p+1, p+1)
		r.event(r.out, p+1)
	}
	out := r.stepped(settings{})
	const most = 20
	out.Dispatcher.Limit(1000, most)
	r.run(out)
	served := map[int64]bool{}
	for len(served) < partners {
		if n := out.Dispatcher.Counts().Held; n > most {
			t.Fatalf("%d in memory", n)
		}
		c := g.next()
		served[c.id] = true
		c.answer <- 200
	}
}

// Unused lanes end.
func TestIdleLanesEnd(t *testing.T) {
	r := newHarness(t)
	e, g := &endpoint{TB: t}, newGate(t)
	for p := range int64(3) {
		r.partner(p+1, e.ServeHTTP)
		r.license(p+1, p+1)
	}
	r.point(3, g.ServeHTTP)
	out := r.node(settings{times: hasty})
	out.Dispatcher.IdleAfter(0)
	r.run(out)
	for p := range int64(3) {
		r.event(out, p+1)
	}
	g.next()
	r.until("idle lanes have ended", func() bool { return len(e.list()) == 2 && out.Dispatcher.Lanes() == 1 })
	r.event(out, 2)
	r.until("an ended lane begins anew", func() bool { return len(e.list()) == 3 })
}

// A record counts as activity, so the lane stays for a while. It wakes for a retry before the next
// poll, and knows the next delivery when a search finds it.
func TestALaneAfterARecord(t *testing.T) {
	out := steppedHarness(t).node(settings{})
	for name, c := range map[string]struct {
		wait  time.Duration
		next  bool
		wakes bool
	}{
		"delivered":              {0, false, false},
		"delivered, and another": {0, true, false},
		"tried again soon":       {time.Minute - 1, false, true},
		"tried again later":      {time.Minute, false, false},
	} {
		t.Run(name, func(t *testing.T) {
			lives, wakes, again := out.Dispatcher.EndRecord(c.wait, c.next)
			same(t, "lives", lives, true)
			same(t, "wakes", wakes, c.wakes)
			same(t, "looked at again", again, false)
		})
	}
}
