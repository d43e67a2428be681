package area_test

import (
	"testing"
	"time"

	"claviger/internal/area"
	"claviger/internal/batch"
	"claviger/internal/replay"
)

// TestRecoveryBar: the bar shows what was done; it is full only where the whole recovery
// is done.
func TestRecoveryBar(t *testing.T) {
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
			j := area.Recovery{Job: replay.Job{Progress: replay.Progress{Expected: 14, Count: 1}, State: c.state}}
			if got := j.Progress().Percent; got != c.percent {
				t.Errorf("%d percent, want %d", got, c.percent)
			}
		})
	}
}
