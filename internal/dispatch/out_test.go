package dispatch_test

import (
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	"claviger/internal/sqldb"
	"claviger/internal/webhook"
)

// afterThirty retries events after thirty seconds, one hour and two hours.
var afterThirty = webhook.Schedule{30 * time.Second, time.Hour, 2 * time.Hour}

// failTwice returns a harness with an endpoint that failed for one event of each of n licenses, and
// again after thirty seconds. The events now wait an hour.
func failTwice(t *testing.T, n int64, s settings) (*harness, *endpoint, *outbox) {
	t.Helper()
	r := steppedHarness(t)
	e := &endpoint{TB: t, all: 500}
	r.partner(1, e.ServeHTTP)
	s.schedule, s.parkAfter = afterThirty, 1000*time.Hour
	out := r.stepped(s)
	for l := range n {
		r.sell(r.out, l+1)
	}
	r.step(out)
	r.clock.step(30 * time.Second)
	r.step(out)
	e.taken()
	return r, e, out
}

// sell creates a license with an event.
func (r *harness) sell(out *outbox, license int64) {
	r.Helper()
	r.license(1, license)
	r.event(out, license)
}

// When an endpoint recovers from an outage, waiting retries are sent at a ramp.
func TestASuccessAfterAnOutageSendsWhatWaits(t *testing.T) {
	const n = 31
	r, _, out := failTwice(t, n, settings{})
	g := newGate(t)
	r.point(1, g.ServeHTTP)
	r.run(out)
	r.sell(out, n+1)
	r.finish(200, g.next())
	for _, want := range []int{1, 2, 4, 8, 16} {
		callers := g.callers(want)
		if n := out.Dispatcher.Counts().InFlight; n != want {
			t.Fatalf("%d in flight, want %d", n, want)
		}
		if want == 4 { // it now searches for more than the first sixteen, or the pace would not grow
			r.until("the rest is in memory", func() bool { return int64(out.Dispatcher.Counts().Held) == r.open() })
		}
		r.finish(200, callers...)
	}
	same(t, "open", r.open(), 0)
}

// An endpoint that fails occasionally keeps its schedule.
func TestASuccessAfterFewFailuresSendsNothingEarly(t *testing.T) {
	r, e, out := failTwice(t, 2, settings{})
	e.answer(200)
	r.sell(out, 3)
	r.step(out)
	same(t, "states", r.states(), []string{"1 pending after 2", "2 pending after 2", "3 delivered after 1"})
}

// A failed early attempt ends draining for all, is made once, and does not change the schedule of
// its event.
func TestAnEarlyAttemptIsNotCounted(t *testing.T) {
	var log strings.Builder
	r, e, out := failTwice(t, 3, settings{log: &log})
	e.answer(200)
	e.answerTo(1, 500)
	r.clock.step(10 * time.Second)
	for license := range int64(2) { // the second success makes nothing due again
		r.sell(out, license+4)
		r.step(out)
		same(t, "waiting", r.states()[:3], []string{"1 pending after 3", "2 pending after 2", "3 pending after 2"})
		same(t, "waits", r.waits(), []string{"1 in 59m50s", "2 in 59m50s", "3 in 59m50s"})
	}
	for _, c := range []struct {
		after time.Duration
		want  string
	}{
		{59*time.Minute + 50*time.Second, "1 pending after 4"},
		{2*time.Hour - 1, "1 pending after 4"},
		{1, "1 exhausted after 5"},
	} {
		r.clock.step(c.after)
		r.step(out)
		same(t, "states", r.states()[:3], []string{c.want, "2 delivered after 3", "3 delivered after 3"})
	}
	r.redeliver(out, 1)
	r.step(out)
	same(t, "redelivered", r.waits(), []string{"1 in 30s"}) // it starts from the beginning
	var attempts []string
	for _, found := range regexp.MustCompile(`event_id=1 .*(attempt=.*) outcome=.*?( early=\w+|)(?: cause|\n)`).FindAllStringSubmatch(log.String(), -1) {
		attempts = append(attempts, found[1]+found[2])
	}
	same(t, "logged", attempts, []string{
		"attempt=1 of=4", "attempt=2 of=4", "attempt=3 of=4 early=true", "attempt=4 of=5", "attempt=5 of=5", "attempt=1 of=4",
	})
}

// A delay that the endpoint asked for is kept, also for early retries.
func TestRetryAfterSurvivesAnOutage(t *testing.T) {
	r, e, out := failTwice(t, 3, settings{})
	e.answer(503)
	e.header = http.Header{"Retry-After": {"7200"}}
	r.sell(out, 4)
	r.step(out)
	e.answer(200)
	e.answerTo(3, 503)
	r.sell(out, 5)
	r.step(out)
	same(t, "states", r.states(), []string{"1 delivered after 3", "2 delivered after 3", "3 pending after 3", "4 pending after 1", "5 delivered after 1"})
	same(t, "waits", r.waits(), []string{"3 in 2h0m0s", "4 in 2h0m0s"})
}

// An early retry that is cut off when a shard is handed over keeps its own due time. The next owner
// continues with the others.
func TestWhatCameEarlyAndIsCutOffKeepsItsTime(t *testing.T) {
	r, _, out := failTwice(t, 3, settings{times: hasty})
	g := newGate(t)
	r.point(1, g.ServeHTTP)
	stop := r.run(out)
	r.sell(out, 4)
	r.finish(200, g.next())
	same(t, "came early", g.next().id, 1)
	stop()
	same(t, "waits", r.waits(), []string{"1 in 1h0m0s", "2 in 1h0m0s", "3 in 1h0m0s"})
	r.point(1, (&endpoint{TB: t}).ServeHTTP)
	r.step(r.stepped(settings{schedule: afterThirty}))
	same(t, "at once", r.states(), []string{"1 pending after 2", "2 delivered after 3", "3 delivered after 3", "4 delivered after 1"})
}

// A new event behind early retries is sent immediately when draining ends.
func TestTheNewIsSentWhenNothingComesEarly(t *testing.T) {
	const n = 30 // more than a new lane holds in memory
	r, _, out := failTwice(t, n, settings{})
	g := newGate(t)
	r.point(1, g.ServeHTTP)
	out.Dispatcher.PollEvery(time.Hour)
	r.run(out)
	r.sell(out, n+1)
	r.finish(200, g.next())
	c := g.next()
	r.sell(out, n+2)
	r.until("the lane was told", func() bool { return out.Dispatcher.Heard(1) })
	r.finish(500, c)
	c = g.next()
	same(t, "sent next", c.id, n+2)
	r.finish(200, c)
}

// Retries that were not sent early because draining ended are sent when due: immediately if they
// are due now, without a poll.
func TestWhatDidNotComeEarlyIsSentInItsTime(t *testing.T) {
	r, _, out := failTwice(t, 3, settings{})
	begun, answer := make(chan struct{}), make(chan struct{})
	r.point(1, func(w http.ResponseWriter, q *http.Request) {
		if q.Header.Get("webhook-id") == "evt_1" {
			close(begun)
			<-answer
			w.Header().Set("Retry-After", "7200") // a retry soon after would make the lane search
			w.WriteHeader(503)
		}
	})
	out.Dispatcher.PollEvery(time.Hour)
	r.run(out)
	r.sell(out, 4)
	<-begun
	r.until("the others are in memory", func() bool { return int64(out.Dispatcher.Counts().Held) == r.open() })
	r.clock.step(time.Hour)
	close(answer)
	r.until("the others are sent", func() bool { return r.open() == 1 })
	same(t, "states", r.states(), []string{"1 pending after 3", "2 delivered after 3", "3 delivered after 3", "4 delivered after 1"})
}

// A first attempt is counted, even before its due time, which may come from another node's clock.
func TestAFirstAttemptIsCounted(t *testing.T) {
	r, _, out := failTwice(t, 0, settings{})
	r.license(1, 1)
	r.write(func(tx *sqldb.Tx) {
		insertEvent(tx, r.out.Outbox, notice(1, 1, 1, start))
		putOff(1, r.clock.now().Add(time.Second))(tx)
	})
	r.run(out)
	out.Dispatcher.Hint(1, 1)
	r.until("it was sent", func() bool { return r.attempts() == 1 })
	same(t, "waits", r.waits(), []string{"1 in 30s"})
}
