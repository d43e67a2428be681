package area_test

import (
	"slices"
	"testing"
	"time"

	"claviger/internal/area"
	"claviger/internal/batch"
	"claviger/internal/redelivery"
	"claviger/internal/ui"
	"claviger/internal/webhook/history"
)

// TestRedeliveryBar: the progress bar is full only when the whole redelivery is done.
func TestRedeliveryBar(t *testing.T) {
	now := time.Unix(1, 0)
	for name, c := range map[string]struct {
		state   batch.State
		percent int64
	}{
		"running":   {batch.State{}, 7},
		"cancelled": {batch.State{Stopped: batch.Cancelled, FinishedAt: now}, 7},
		"done":      {batch.State{FinishedAt: now}, 100},
	} {
		t.Run(name, func(t *testing.T) {
			j := area.Redelivery{Job: redelivery.Job{Progress: redelivery.Progress{Expected: 14, Count: 1}, State: c.state}}
			if got := j.Progress().Percent; got != c.percent {
				t.Errorf("%d percent, want %d", got, c.percent)
			}
		})
	}
}

// TestRedeliverySentence: the page says how much was sent, with which results, and how much was
// skipped. Sent does not count as delivered.
func TestRedeliverySentence(t *testing.T) {
	for want, c := range map[string]struct {
		progress redelivery.Progress
		outcome  history.Outcome
		known    bool
	}{
		"Sent 5 of 24 events: 3 were delivered, 2 failed; 19 skipped: delivered since it began.": {
			redelivery.Progress{Expected: 24, Count: 5, Skipped: 19}, history.Outcome{Taken: 3, Failed: 2}, true,
		},
		"Sent 1 of 1 event: 1 waits for its attempt.": {redelivery.Progress{Expected: 1, Count: 1}, history.Outcome{Waiting: 1}, true},
		"Sent 0 of 2 events, 2 skipped: delivered since it began.": {
			redelivery.Progress{Expected: 2, Skipped: 2}, history.Outcome{}, true,
		},
		"Sent 3 events: 3 were delivered.": {redelivery.Progress{Expected: 2, Count: 3}, history.Outcome{Taken: 3}, true},
		"Sent 2 of more than 10,000 events. Sent does not mean taken: the list of deliveries has what failed.": {
			redelivery.Progress{Expected: redelivery.MaxCounted, Count: 2}, history.Outcome{}, false,
		},
	} {
		j := area.Redelivery{Job: redelivery.Job{Progress: c.progress}, Outcome: c.outcome, Known: c.known, Deliveries: "/deliveries"}
		got := j.Progress()
		if got.Text != want {
			t.Errorf("got %q, want %q", got.Text, want)
		}
		linked := slices.ContainsFunc(got.Facts, func(f ui.JobFact) bool { return f.URL == "/deliveries?range=all&state=failed" })
		if linked != (c.outcome.Failed > 0 || !c.known) {
			t.Errorf("%q: linked %t", want, linked)
		}
	}
}
