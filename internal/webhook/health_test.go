package webhook_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"claviger/internal/webhook"
)

// TestHealthAfterAnswers: a success ends a failing period and opens a parked endpoint; failures are
// counted; failures only, for long enough, park it; a success after enough failures starts
// draining.
func TestHealthAfterAnswers(t *testing.T) {
	const second, minute = time.Second, time.Minute
	policy := webhook.Policy{ParkAfter: time.Hour, ProbeEvery: 5 * minute}
	now := start.Add(24 * time.Hour)
	ago := func(d time.Duration) time.Time { return now.Add(-d) }
	// Each took a second.
	attempt := func(status int, sent time.Duration) *webhook.Attempt {
		return &webhook.Attempt{
			Item: &webhook.Item{LicenseID: 7}, To: &webhook.Destination{}, At: ago(sent), Took: second,
			Outcome: webhook.Outcome{Status: status, OK: status == 200},
		}
	}
	ok := func(sent time.Duration) *webhook.Attempt { return attempt(200, sent) }
	failed := func(sent time.Duration) *webhook.Attempt { return attempt(500, sent) }
	probe := func(a *webhook.Attempt) *webhook.Attempt { a.Probe = true; return a }
	const text, goneText = "it answered 500 Internal Server Error", "it answered 410 Gone"
	for name, c := range map[string]struct {
		before   webhook.Row
		attempts []*webhook.Attempt
		want     webhook.Row
	}{
		"the first success":     {webhook.Row{}, []*webhook.Attempt{ok(3 * second)}, webhook.Row{TakenAt: ago(2 * second)}},
		"one soon after":        {webhook.Row{TakenAt: ago(10*second - 1)}, []*webhook.Attempt{ok(3 * second)}, webhook.Row{TakenAt: ago(10*second - 1)}},
		"one ten seconds after": {webhook.Row{TakenAt: ago(10 * second)}, []*webhook.Attempt{ok(3 * second)}, webhook.Row{TakenAt: ago(2 * second)}},
		"one at the same time":  {webhook.Row{TakenAt: now}, []*webhook.Attempt{ok(3 * second)}, webhook.Row{TakenAt: now}},
		"the clock fell":        {webhook.Row{TakenAt: now.Add(1)}, []*webhook.Attempt{ok(3 * second)}, webhook.Row{TakenAt: ago(2 * second)}},
		"the later of two":      {webhook.Row{}, []*webhook.Attempt{ok(3 * second), ok(5 * second)}, webhook.Row{TakenAt: ago(2 * second)}},
		"one after failures": {
			webhook.Row{FailingSince: ago(minute), Failures: 3, TakenAt: ago(second), Error: "x", ErrorAt: ago(minute), Draining: webhook.DrainAll},
			[]*webhook.Attempt{ok(3 * second)},
			webhook.Row{TakenAt: ago(2 * second), Error: "x", ErrorAt: ago(minute), Draining: webhook.DrainAll},
		},
		"one after a failure of the batch": {
			webhook.Row{TakenAt: ago(second)}, []*webhook.Attempt{attempt(410, 4*second), ok(3 * second)}, webhook.Row{TakenAt: ago(2 * second)},
		},
		"one after a failure while it drains": {
			webhook.Row{Draining: webhook.DrainAll}, []*webhook.Attempt{failed(4 * second), ok(3 * second)}, webhook.Row{TakenAt: ago(2 * second)},
		},
		"one to a parked endpoint, after a failure": {
			webhook.Row{ParkedAt: ago(minute), ProbeAt: now, FailingSince: ago(time.Hour), Failures: 9},
			[]*webhook.Attempt{failed(4 * second), probe(ok(3 * second))},
			webhook.Row{TakenAt: ago(2 * second), Probed: 7, Draining: webhook.DrainWaiting},
		},
		"one to a parked endpoint, and a failure before the next": {
			webhook.Row{ParkedAt: ago(minute), ProbeAt: now, FailingSince: ago(time.Hour), Failures: 9},
			[]*webhook.Attempt{probe(ok(4 * second)), failed(4 * second), ok(3 * second)},
			webhook.Row{TakenAt: ago(2 * second), Probed: 7},
		},
		"one after five failures over thirty seconds": {
			webhook.Row{FailingSince: ago(minute), Failures: 5, ErrorAt: ago(30 * second)},
			[]*webhook.Attempt{ok(3 * second)},
			webhook.Row{TakenAt: ago(2 * second), ErrorAt: ago(30 * second), Draining: webhook.DrainWaiting},
		},
		"one after four": {
			webhook.Row{FailingSince: ago(minute), Failures: 4, ErrorAt: ago(30 * second)},
			[]*webhook.Attempt{ok(3 * second)},
			webhook.Row{TakenAt: ago(2 * second), ErrorAt: ago(30 * second)},
		},
		"one after five over less": {
			webhook.Row{FailingSince: ago(minute), Failures: 5, ErrorAt: ago(30*second + 1)},
			[]*webhook.Attempt{ok(3 * second)},
			webhook.Row{TakenAt: ago(2 * second), ErrorAt: ago(30*second + 1)},
		},
		"one after five, the last in its batch": {
			webhook.Row{FailingSince: ago(30 * second), Failures: 4, ErrorAt: ago(29 * second)},
			[]*webhook.Attempt{failed(4 * second), ok(3 * second)},
			webhook.Row{TakenAt: ago(2 * second), ErrorAt: ago(29 * second), Draining: webhook.DrainWaiting},
		},
		"one after five, all in its batch": {
			webhook.Row{ErrorAt: ago(time.Hour)},
			[]*webhook.Attempt{failed(30 * second), failed(4 * second), failed(4 * second), failed(4 * second), failed(4 * second), ok(3 * second), ok(3 * second)},
			webhook.Row{TakenAt: ago(2 * second), ErrorAt: ago(time.Hour), Draining: webhook.DrainWaiting},
		},
		"one after five, all in its batch, over less": {
			webhook.Row{},
			[]*webhook.Attempt{failed(30*second - 1), failed(4 * second), failed(4 * second), failed(4 * second), failed(4 * second), ok(3 * second)},
			webhook.Row{TakenAt: ago(2 * second)},
		},
		"two while it drains, and a failure between them": {
			webhook.Row{Draining: webhook.DrainAll}, []*webhook.Attempt{ok(4 * second), failed(4 * second), ok(3 * second)}, webhook.Row{TakenAt: ago(2 * second)},
		},
		"one before the first failure": {
			webhook.Row{TakenAt: ago(9 * second)},
			[]*webhook.Attempt{ok(3 * second), failed(2 * second)},
			webhook.Row{TakenAt: ago(2 * second), Failures: 1, FailingSince: ago(2 * second), ErrorAt: now, Error: text},
		},
		"one after five, and a failure before the next": {
			webhook.Row{FailingSince: ago(minute), Failures: 5, ErrorAt: ago(30 * second)},
			[]*webhook.Attempt{ok(3 * second), failed(3 * second), ok(3 * second)},
			webhook.Row{TakenAt: ago(2 * second), ErrorAt: ago(30 * second)},
		},
		"one before a failure of the batch": {
			webhook.Row{TakenAt: ago(second), Failures: 4, FailingSince: ago(48 * time.Hour)},
			[]*webhook.Attempt{ok(3 * second), failed(2 * second)},
			webhook.Row{TakenAt: ago(2 * second), Failures: 1, FailingSince: ago(2 * second), ErrorAt: now, Error: text},
		},
		"one to a parked endpoint": {
			webhook.Row{ParkedAt: ago(minute), ProbeAt: now, FailingSince: ago(time.Hour), Failures: 9},
			[]*webhook.Attempt{probe(ok(3 * second))},
			webhook.Row{TakenAt: ago(2 * second), Probed: 7, Draining: webhook.DrainWaiting},
		},
		"failures": {
			webhook.Row{Draining: webhook.DrainWaiting},
			[]*webhook.Attempt{failed(3 * second), failed(2 * second)},
			webhook.Row{FailingSince: ago(3 * second), Failures: 2, ErrorAt: now, Error: text},
		},
		"four over days": {
			webhook.Row{FailingSince: ago(48 * time.Hour), Failures: 3},
			[]*webhook.Attempt{failed(second)},
			webhook.Row{FailingSince: ago(48 * time.Hour), Failures: 4, ErrorAt: now, Error: text},
		},
		"five over an hour": {
			webhook.Row{FailingSince: ago(time.Hour), Failures: 4},
			[]*webhook.Attempt{failed(second)},
			webhook.Row{FailingSince: ago(time.Hour), Failures: 5, ErrorAt: now, Error: text, ParkedAt: now, ProbeAt: now.Add(5 * minute)},
		},
		"five over less": {
			webhook.Row{FailingSince: ago(time.Hour - 1), Failures: 4},
			[]*webhook.Attempt{failed(second)},
			webhook.Row{FailingSince: ago(time.Hour - 1), Failures: 5, ErrorAt: now, Error: text},
		},
		"it asks to be left alone": {
			webhook.Row{},
			[]*webhook.Attempt{attempt(410, 2*second), failed(second)},
			webhook.Row{FailingSince: ago(2 * second), Failures: 2, ErrorAt: now, Error: text, ParkedAt: now, ProbeAt: now.Add(5 * minute)},
		},
		"a parked one stays": {
			webhook.Row{ParkedAt: ago(minute), ProbeAt: now, FailingSince: ago(time.Hour), Failures: 9, Probed: 3},
			[]*webhook.Attempt{attempt(410, second)},
			webhook.Row{ParkedAt: ago(minute), ProbeAt: now, FailingSince: ago(time.Hour), Failures: 10, Probed: 3, ErrorAt: now, Error: goneText},
		},
		"and is probed again later": {
			webhook.Row{ParkedAt: ago(minute), ProbeAt: now, FailingSince: ago(time.Hour), Failures: 9},
			[]*webhook.Attempt{probe(failed(second))},
			webhook.Row{ParkedAt: ago(minute), ProbeAt: now.Add(5 * minute), FailingSince: ago(time.Hour), Failures: 10, Probed: 7, ErrorAt: now, Error: text},
		},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, c.before.After(now, policy, c.attempts...)); diff != "" {
				t.Errorf("after (-want +got)\n%s", diff)
			}
		})
	}
}

// TestCauseInWords: a broken attempt keeps its own text; otherwise the status is described.
func TestCauseInWords(t *testing.T) {
	for want, o := range map[string]webhook.Outcome{
		"no answer within 10s":                             {Broke: "no answer within 10s", Status: 200},
		"it answered with a 2xx that does not say success": {Status: 200},
		"it answered 500 Internal Server Error":            {Status: 500},
	} {
		if got := o.Cause(); got != want {
			t.Errorf("%+v is %q, want %q", o, got, want)
		}
	}
}
