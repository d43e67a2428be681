package dispatch_test

import (
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"claviger/internal/dispatch"
	"claviger/internal/sqldb"
	"claviger/internal/webhook"
	"claviger/internal/webhook/queue"
)

// minutely retries events every minute.
var minutely = webhook.Schedule{
	time.Minute, time.Minute, time.Minute, time.Minute, time.Minute, time.Minute, time.Minute, time.Minute, time.Minute, time.Minute,
	time.Minute, time.Minute, time.Minute, time.Minute, time.Minute, time.Minute, time.Minute, time.Minute, time.Minute, time.Minute,
}

// poison returns a harness with a partner that refuses the first event of license 1 and accepts
// those of license 2.
func poison(t *testing.T, schedule webhook.Schedule) (*harness, *endpoint, *outbox) {
	t.Helper()
	r := steppedHarness(t)
	e := &endpoint{TB: t}
	e.answerTo(1, 422)
	r.partner(1, e.ServeHTTP)
	r.license(1, 1, 2)
	out := r.stepped(settings{schedule: schedule})
	r.event(out, 1)
	r.step(out)
	return r, e, out
}

// statesOf returns the states of one license.
func (r *harness) statesOf(license int64) []string {
	r.Helper()
	ids, err := sqldb.All(r.Context(), r.db, sqldb.Value[int64], `SELECT event_id FROM deliveries WHERE license_id = $1`, license)
	if err != nil {
		r.Fatal(err)
	}
	return slices.DeleteFunc(r.states(), func(s string) bool {
		return !slices.ContainsFunc(ids, func(id int64) bool { return strings.HasPrefix(s, fmt.Sprint(id, " ")) })
	})
}

// pass lets minutes pass while the dispatcher runs; in each, an event of another license is
// delivered.
func (r *harness) pass(out *outbox, minutes int) {
	r.Helper()
	for minute := range minutes {
		r.clock.step(time.Minute)
		r.event(out, 2)
		if minute == 0 {
			defer r.run(out)()
		}
		r.settle(out)
	}
}

// TestRefusedEventMakesWay: the newest event of the license is delivered at the first refusal after
// ten minutes, and the older ones are superseded.
func TestRefusedEventMakesWay(t *testing.T) {
	r, e, out := poison(t, minutely)
	refund := r.event(out, 1)
	r.pass(out, 9)
	same(t, "before ten minutes", r.statesOf(1), []string{"1 pending after 10", "2 pending after 0"})
	e.taken()
	r.pass(out, 2)
	same(t, "after ten minutes", r.statesOf(1), []string{"1 superseded after 12", "2 delivered after 1"})
	// Events of the other license are sent meanwhile.
	of := slices.DeleteFunc(e.taken(), func(id int64) bool { return id != 1 && id != refund })
	same(t, "sent of the license", of, []int64{1, 1, refund})
	stats, err := out.Stats(t.Context())
	if err != nil || stats.Superseded != 1 || stats.Exhausted != 0 {
		t.Errorf("%+v, %v", stats, err)
	}
	if n := r.count(`SELECT max(superseded) FROM outages WHERE partner_id = 1 AND exhausted = superseded`); n != 1 {
		t.Errorf("%d are told of", n)
	}
}

// TestSupersededAreCounted: each superseded event logs a line, and the metrics count all of them
// and those not redelivered.
func TestSupersededAreCounted(t *testing.T) {
	r := steppedHarness(t)
	e := &endpoint{TB: t}
	e.answerTo(1, 422)
	r.partner(1, e.ServeHTTP)
	r.license(1, 1, 2)
	registry := prometheus.NewRegistry()
	waiting := &queue.Figures{DB: r.db, Now: r.clock.now}
	registry.MustRegister(waiting)
	log := &journal{}
	out := r.stepped(settings{schedule: minutely, metrics: dispatch.NewMetrics(registry), log: log})
	r.event(out, 1)
	r.step(out)
	r.event(out, 1)
	r.event(out, 1)
	r.pass(out, 11)
	for _, line := range []string{"event_id=1 partner_id=1", "event_id=2 partner_id=1"} {
		same(t, line, len(log.lines("level=INFO", "webhook superseded by a newer event of its license", line)), 1)
	}
	if err := waiting.Count(t.Context()); err != nil {
		t.Fatal(err)
	}
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]float64{}
	for _, f := range families {
		for _, m := range f.GetMetric() {
			name := f.GetName()
			for _, l := range m.GetLabel() {
				name += " " + l.GetValue()
			}
			seen[name] = m.GetCounter().GetValue() + m.GetGauge().GetValue()
		}
	}
	if seen["claviger_webhook_superseded_total"] != 2 || seen["claviger_webhook_deliveries superseded"] != 2 || seen["claviger_webhook_deliveries exhausted"] != 0 {
		t.Errorf("got %v", seen)
	}
}

// TestTheNewestIsSentNext: events between the refused one and the newest are skipped, because the
// newest contains the complete state.
func TestTheNewestIsSentNext(t *testing.T) {
	r, e, out := poison(t, minutely)
	for range 3 {
		r.event(out, 1)
	}
	e.taken()
	r.pass(out, 11)
	same(t, "states", r.statesOf(1), []string{"1 superseded after 12", "2 superseded after 0", "3 superseded after 0", "4 delivered after 1"})
}

// TestNewEventSupersedesAtOnce: if the refused event has waited long enough, a newer event does not
// wait for its next attempt, hours away.
func TestNewEventSupersedesAtOnce(t *testing.T) {
	const long = 12 * time.Hour
	r, e, out := poison(t, webhook.Schedule{time.Minute, time.Minute, 10 * time.Minute, long, long})
	r.pass(out, 20) // the fourth refusal is twelve minutes after the first
	same(t, "alone", r.statesOf(1), []string{"1 pending after 4"})
	e.taken()
	r.run(out)
	refund := r.event(out, 1)
	r.until("it is delivered", func() bool { return slices.Contains(r.statesOf(1), fmt.Sprintf("%d delivered after 1", refund)) })
	same(t, "got at once", e.taken(), []int64{refund})
}

// TestNewEventOfAnotherProcessSupersedes: an event written by a process that stopped right after,
// or sends nothing, is found within seconds.
func TestNewEventOfAnotherProcessSupersedes(t *testing.T) {
	const long = 12 * time.Hour
	r, e, out := poison(t, webhook.Schedule{time.Minute, time.Minute, 10 * time.Minute, long, long})
	r.pass(out, 20)
	e.taken()
	refund := r.event(r.out, 1)
	r.clock.step(10 * time.Second)
	r.run(out)
	r.until("it is delivered", func() bool { return slices.Contains(r.statesOf(1), fmt.Sprintf("%d delivered after 1", refund)) })
	same(t, "got", e.taken(), []int64{refund})
}

// TestRefusedEventsOfAGainedShard: refused events are checked when the shard is gained, however
// recent the last check.
func TestRefusedEventsOfAGainedShard(t *testing.T) {
	const long = 12 * time.Hour
	r, e, out := poison(t, webhook.Schedule{time.Minute, time.Minute, 10 * time.Minute, long, long})
	r.pass(out, 20)
	e.taken()
	refund := r.event(r.out, 1)
	r.run(out)
	r.until("it is delivered", func() bool { return slices.Contains(r.statesOf(1), fmt.Sprintf("%d delivered after 1", refund)) })
}

// TestOutageSupersedesNothing: an endpoint that refuses everything for an hour gets all events in
// order once it is back.
func TestOutageSupersedesNothing(t *testing.T) {
	for name, answers := range map[string]func(*endpoint){
		"it refuses everything": func(e *endpoint) { e.answer(403) },
		"it is down":            func(e *endpoint) { e.answer(500) },
	} {
		t.Run(name, func(t *testing.T) {
			r, e, out := poison(t, minutely)
			r.event(out, 1)
			answers(e)
			e.answerTo(1, 0)
			r.pass(out, 15)
			e.answer(200)
			e.taken()
			r.clock.step(time.Minute)
			r.step(out)
			r.clock.step(time.Minute)
			r.step(out)
			var ours []int64
			for _, id := range e.taken() {
				if id <= 2 {
					ours = append(ours, id)
				}
			}
			same(t, "the license's events", ours, []int64{1, 2})
		})
	}
}

// TestRecoverySupersedesNothing: a refusal before the recovery, recorded after the endpoint
// accepted another event, belongs to the outage.
func TestRecoverySupersedesNothing(t *testing.T) {
	r := steppedHarness(t)
	var well atomic.Bool
	refuse := make(chan struct{})
	r.partner(1, func(w http.ResponseWriter, req *http.Request) {
		if got(t, req) == 1 && r.clock.now().Sub(start) > 14*time.Minute {
			<-refuse
			w.WriteHeader(403)
		} else if !well.Load() {
			w.WriteHeader(403)
		}
	})
	r.license(1, 1, 2)
	out := r.stepped(settings{schedule: minutely})
	r.event(out, 1)
	r.event(out, 1)
	r.step(out)
	for range 14 {
		r.clock.step(time.Minute)
		r.step(out)
	}
	r.clock.step(time.Minute)
	r.run(out) // event 1 is in flight, and hangs
	r.until("it is on its way", func() bool { return out.Dispatcher.Counts().InFlight == 1 })
	well.Store(true)
	r.clock.step(time.Second)
	r.event(out, 2)
	r.until("the other license is delivered", func() bool { return slices.Equal(r.statesOf(2), []string{"3 delivered after 1"}) })
	close(refuse)
	r.settle(out)
	same(t, "states", r.statesOf(1), []string{"1 pending after 16", "2 pending after 0"})
}

// TestTakenInTheSameBatch: an event accepted after a refusal counts, even if both are recorded
// together and the endpoint never failed otherwise.
func TestTakenInTheSameBatch(t *testing.T) {
	r := steppedHarness(t)
	e := &endpoint{TB: t}
	e.answerTo(2, 422)
	r.partner(1, e.ServeHTTP)
	r.license(1, 1, 2)
	// One by one: first the one due longer.
	out := r.stepped(settings{schedule: slices.Repeat(webhook.Schedule{5 * time.Second}, 200), inFlight: 1})
	r.event(r.out, 2)
	r.step(out) // the endpoint is known and healthy
	r.event(r.out, 1)
	r.event(r.out, 1)
	defer r.run(out)()
	for range 125 {
		r.event(r.out, 2)
		r.settle(out)
		r.clock.step(5 * time.Second)
	}
	if got := r.statesOf(1); !strings.Contains(got[0], "superseded") || !strings.Contains(got[1], "delivered") {
		t.Errorf("got %v", got)
	}
}

// TestServerErrorsSupersedeNothing: a server error is not a refusal.
func TestServerErrorsSupersedeNothing(t *testing.T) {
	for _, status := range []int{500, 408, 425, 429} {
		r, e, out := poison(t, minutely)
		e.answerTo(1, status)
		r.event(out, 1)
		r.write(func(tx *sqldb.Tx) { tx.Queue(`UPDATE outbox SET refusals = 0, refused_since = 0`) })
		r.pass(out, 15)
		same(t, "states", r.statesOf(1), []string{"1 pending after 16", "2 pending after 0"})
	}
}

// TestSupersededCanBeRedelivered: a superseded event is sent again, followed by the newest. Refused
// again, it gets as many attempts as at first before it is superseded.
func TestSupersededCanBeRedelivered(t *testing.T) {
	r, e, out := poison(t, minutely)
	r.event(out, 1)
	r.pass(out, 11)
	e.taken()
	r.redeliver(out, 1)
	r.step(out)
	r.pass(out, 5)
	same(t, "refused again", r.statesOf(1), []string{"1 pending after 6", "2 pending after 0"})
	e.answerTo(1, 200)
	e.taken()
	r.clock.step(time.Minute)
	r.step(out)
	same(t, "got", e.taken(), []int64{1, 2})

	e.answerTo(1, 422)
	r.redeliver(out, 1)
	r.step(out)
	r.pass(out, 11)
	same(t, "refused for as long again", r.statesOf(1), []string{"1 superseded after 12", "2 delivered after 3"})
	same(t, "redelivered", r.redeliverFailed(out, start.Add(time.Second)), 2)
}

// TestAnotherURLStartsAnew: refusals of the old URL do not count for the new one.
func TestAnotherURLStartsAnew(t *testing.T) {
	r, _, out := poison(t, minutely)
	r.event(out, 1)
	r.pass(out, 9)
	r.write(func(tx *sqldb.Tx) { out.Unpark(tx, 1) })
	r.pass(out, 2)
	same(t, "states", r.statesOf(1), []string{"1 pending after 12", "2 pending after 0"})
}

// TestSayingNoIsARefusal: success: false counts like 422.
func TestSayingNoIsARefusal(t *testing.T) {
	r := steppedHarness(t)
	r.partner(1, func(w http.ResponseWriter, req *http.Request) {
		if got(t, req) == 1 {
			_, _ = io.WriteString(w, `{"success":false}`)
		}
	})
	r.license(1, 1, 2)
	out := r.stepped(settings{schedule: minutely})
	r.event(out, 1)
	r.event(out, 1)
	r.step(out)
	r.pass(out, 11)
	same(t, "states", r.statesOf(1), []string{"1 superseded after 12", "2 delivered after 1"})
}
