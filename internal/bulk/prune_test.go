package bulk_test

import (
	"testing"
	"time"

	"claviger/internal/bulk"
	"claviger/internal/prune"
)

// TestPruneFinishedAndPrepared: both kinds of old jobs are pruned, even with the same retention.
func TestPruneFinishedAndPrepared(t *testing.T) {
	h := newHarness(t)
	h.sell(2)
	finished := h.prepare(bulk.Hold, "chargeback")
	h.start(finished)
	h.finish(finished)
	h.prepare(bulk.Reinstate, "")
	h.clock.Advance(24*time.Hour + time.Minute)
	fresh := h.prepare(bulk.Reinstate, "")
	h.clock.Advance(time.Hour)
	n, err := prune.Rows(t.Context(), h.DB, h.clock.Now(), bulk.Expiring(24*time.Hour))
	if left := h.Count(`SELECT min(id) FROM bulk_jobs`); n != 2 || err != nil || left != fresh.ID || h.Count(`SELECT count(*) FROM bulk_rows`) != 2 {
		t.Errorf("pruned %d, %v; job %d is left", n, err, left)
	}
}
