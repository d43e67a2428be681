package console

import (
	"testing"
	"time"

	"claviger/internal/batch"
	"claviger/internal/bulk"
)

// TestBulkBar: the progress bar is full only when the act is complete.
func TestBulkBar(t *testing.T) {
	at := time.Unix(1, 0)
	for name, c := range map[string]struct {
		state   batch.State
		done    int64
		percent int64
	}{
		"running":   {batch.State{}, 1, 25},
		"cancelled": {batch.State{Stopped: batch.Cancelled, FinishedAt: at}, 1, 25},
		"done":      {batch.State{FinishedAt: at}, 4, 100},
	} {
		j := bulk.Job{State: c.state, StartedAt: at, Progress: bulk.Progress{Total: 5, Checked: 5, Skipped: 1, Succeeded: c.done}}
		if got := progressOf(j, "Ada").Percent; got != c.percent {
			t.Errorf("%s: %d %%, want %d", name, got, c.percent)
		}
	}
}
