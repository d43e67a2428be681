package dispatch_test

import (
	"net/http"
	"sync"
	"testing"
	"time"

	"claviger/internal/dispatch"
	"claviger/internal/webhook"
)

func TestEventsArriveInOrderPerLicense(t *testing.T) {
	r := newHarness(t)
	e := &endpoint{TB: t}
	r.partner(1, e.ServeHTTP)
	r.license(1, 1, 2, 3, 4, 5)
	// Some exist before the dispatchers start, some come while they run.
	for i := range 20 {
		r.event(r.out, int64(i%5+1))
	}
	r.shared = true
	a, _ := r.running(settings{times: quick})
	b, _ := r.running(settings{times: quick})
	var wg sync.WaitGroup
	for l := range int64(5) {
		wg.Go(func() {
			for i := range 10 {
				r.event([]*outbox{a, b}[i%2], l+1)
			}
		})
	}
	wg.Wait()
	r.until("all delivered", func() bool { return r.open() == 0 })
	seen := map[int64]int64{} // by license
	for _, id := range e.list() {
		license := r.count(`SELECT license_id FROM events WHERE id = $1`, id)
		if id <= seen[license] {
			t.Errorf("event %d of license %d came after %d", id, license, seen[license])
		}
		seen[license] = id
	}
	if n := len(e.list()); n != 70 {
		t.Errorf("%d requests for 70 events", n)
	}
}

// A failing event delays neither other licenses of its partner nor other partners; the next event
// of its license waits.
func TestOneFailureHoldsUpOnlyItsLicense(t *testing.T) {
	r := steppedHarness(t)
	a, b := &endpoint{TB: t}, &endpoint{TB: t}
	r.partner(1, a.ServeHTTP)
	r.partner(2, b.ServeHTTP)
	r.license(1, 1, 2)
	r.license(2, 3)
	for _, l := range []int64{1, 1, 2, 3} { // events 1, 2, 3, 4
		r.event(r.out, l)
	}
	a.answerTo(1, 500)
	r.step(r.stepped(settings{schedule: webhook.Schedule{time.Hour}}))
	same(t, "states", r.states(), []string{"1 pending after 1", "2 pending after 0", "3 delivered after 1", "4 delivered after 1"})
}

// Deliveries behind a failed event wait as long as it does, even if they came later. They are sent
// when it is settled, by any node and after a restart.
func TestFollowersWaitForTheHead(t *testing.T) {
	for name, c := range map[string]struct {
		second int // answer to the retry of the first event
		want   []string
	}{
		"which is delivered": {200, []string{"1 delivered after 2", "2 delivered after 1", "3 delivered after 1"}},
		"which is exhausted": {500, []string{"1 exhausted after 2", "2 delivered after 1", "3 delivered after 1"}},
	} {
		t.Run(name, func(t *testing.T) {
			r := steppedHarness(t)
			e := &endpoint{TB: t}
			r.partner(1, e.ServeHTTP)
			r.license(1, 1)
			r.event(r.out, 1)
			r.event(r.out, 1)
			e.answerTo(1, 500)
			first := r.stepped(settings{schedule: webhook.Schedule{time.Hour}})
			r.step(first)
			r.clock.step(time.Minute)
			r.event(first, 1)
			same(t, "waits", r.waits(), []string{"1 in 59m0s", "2 in 59m0s", "3 in 59m0s"})
			r.clock.step(58 * time.Minute)
			r.step(first)
			same(t, "got before the retry is due", e.taken(), []int64{1})
			r.clock.step(time.Minute)
			e.answerTo(1, c.second)
			r.step(r.stepped(settings{schedule: webhook.Schedule{time.Hour}}))
			same(t, "got", e.taken(), []int64{1, 2, 3})
			same(t, "states", r.states(), c.want)
		})
	}
}

// A success makes the next event due regardless of its delay.
func TestAFollowerPutOffLongerIsDueWithTheHead(t *testing.T) {
	r := steppedHarness(t)
	e := &endpoint{TB: t}
	r.partner(1, e.ServeHTTP)
	r.license(1, 1)
	r.event(r.out, 1)
	r.event(r.out, 1)
	r.write(putOff(2, start.Add(time.Hour)))
	out := r.stepped(settings{})
	g := newGate(t)
	r.point(1, g.ServeHTTP)
	stop := r.run(out)
	c := g.next()
	go stop() // it records, but starts no request
	r.until("it stops", func() bool { return out.Dispatcher.Owned() == 0 })
	r.finish(200, c)
	stop()
	same(t, "waits", r.waits(), []string{"2 in 0s"})
	r.point(1, e.ServeHTTP)
	r.step(out)
	same(t, "states", r.states(), []string{"1 delivered after 1", "2 delivered after 1"})
}

func TestNoURLMeansNoAttempt(t *testing.T) {
	r := steppedHarness(t)
	r.partner(1, nil)
	r.partner(2, func(http.ResponseWriter, *http.Request) {})
	r.license(1, 1)
	r.license(2, 2)
	out := r.stepped(settings{})
	r.event(r.out, 1)
	r.event(r.out, 2)
	r.step(out)
	same(t, "states", r.states(), []string{"1 pending after 0", "2 delivered after 1"})
	e := &endpoint{TB: t}
	r.point(1, e.ServeHTTP)
	r.step(out)
	same(t, "what an endpoint gets that nobody told of", e.taken(), []int64{})
	r.reload(out, 1)
	r.step(out)
	same(t, "states", r.states(), []string{"1 delivered after 1", "2 delivered after 1"})
}

// Removing a URL stops the deliveries in memory and does not lose them.
func TestAURLTakenAwayLosesNothing(t *testing.T) {
	r := steppedHarness(t)
	g := newGate(t)
	r.partner(1, g.ServeHTTP)
	out := r.stepped(settings{})
	for l := range int64(20) {
		r.license(1, l+1)
		r.event(r.out, l+1)
	}
	r.run(out)
	callers := g.callers(dispatch.FirstInFlight)
	r.point(1, nil)
	r.reload(out, 1)
	r.until("it is known to have none", func() bool { return r.count(`SELECT count(*) FROM endpoints WHERE closed = TRUE`) == 1 })
	r.finish(200, callers...)
	r.settle(out)
	g.nobody("to a URL that was taken away")
	e := &endpoint{TB: t}
	r.point(1, e.ServeHTTP)
	r.reload(out, 1)
	r.settle(out)
	if n := r.open(); n != 0 {
		t.Errorf("%d deliveries are stuck", n)
	}
	if n := r.count(`SELECT count(*) FROM webhook_responses`); n != 20 {
		t.Errorf("%d attempts for 20 events", n)
	}
}
