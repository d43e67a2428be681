package dispatch_test

import (
	"testing"
	"time"

	"claviger/internal/webhook"
)

func (r *harness) tryNow(out *outbox) {
	r.Helper()
	if err := out.TryNow(r.Context(), tester, 1); err != nil {
		r.Fatal(err)
	}
}

// A parked endpoint is probed immediately, with one event; the following probe comes at the usual
// interval.
func TestTryNowProbesAParkedEndpoint(t *testing.T) {
	r, e, out := park(t, 3, settings{schedule: hourly, probeEvery: 5 * time.Minute})
	r.clock.step(time.Second)
	r.step(out)
	same(t, "got before it was asked for", e.taken(), []int64{})
	r.tryNow(out)
	r.step(out)
	same(t, "probed with", e.taken(), []int64{1})
	if !r.parked(1) || r.count(`SELECT count(*) FROM audit_entries WHERE action = 'endpoint.try' AND partner_id = 1`) != 1 {
		t.Error("it is open, or nobody wrote down who tried")
	}
	r.clock.step(4 * time.Minute)
	r.step(out)
	same(t, "got before the next probe", e.taken(), []int64{})
}

// Waiting retries are sent immediately, but only while the endpoint accepts them.
func TestTryNowSendsWhatWaits(t *testing.T) {
	r := steppedHarness(t)
	e := &endpoint{TB: t, all: 500}
	r.partner(1, e.ServeHTTP)
	out := r.stepped(settings{schedule: webhook.Schedule{100 * time.Hour}, parkAfter: 1000 * time.Hour, probeEvery: time.Minute})
	for l := int64(1); l <= 3; l++ {
		r.license(1, l)
		r.event(out, l)
	}
	r.step(out)
	e.taken()
	e.all = 500
	r.tryNow(out)
	r.step(out)
	if got := len(e.taken()); got == 0 || got > 3 {
		t.Errorf("%d were sent to an endpoint that still fails", got)
	}
	e.all = 200
	r.tryNow(out)
	r.step(out)
	if left := r.count(`SELECT count(*) FROM outbox WHERE state = 1`); left != 0 {
		t.Errorf("%d still wait for an endpoint that is well: %v", left, r.states())
	}
}

// A healthy endpoint does not change.
func TestTryNowOfAWellEndpoint(t *testing.T) {
	r := steppedHarness(t)
	e := &endpoint{TB: t, all: 200}
	r.partner(1, e.ServeHTTP)
	r.license(1, 1)
	out := r.stepped(settings{schedule: hourly, probeEvery: time.Minute})
	r.event(out, 1)
	r.step(out)
	e.taken()
	r.tryNow(out)
	r.step(out)
	same(t, "got", e.taken(), []int64{})
	if n := r.count(`SELECT count(*) FROM endpoints WHERE draining <> 0 OR probe_at <> 0`); n != 0 {
		t.Error("it has something to drain, or a probe")
	}
}
