package webhook_test

import (
	"testing"
	"time"

	"claviger/internal/sqldb"
	"claviger/internal/webhook"
)

func TestKeeperForgetsOldResponses(t *testing.T) {
	o := box(t)
	const old, keep = 2345, 30 * 24 * time.Hour
	respond(t, o, 1, old+10)
	write(t, o, func(tx *sqldb.Tx) {
		tx.Queue(`UPDATE webhook_responses SET created_at = $1`, start.Add(-time.Nanosecond))
		// Exactly as old as it may get, and newer.
		tx.Queue(`UPDATE webhook_responses SET created_at = $1 WHERE response_status >= $2`, start, old)
		tx.Queue(`UPDATE webhook_responses SET created_at = $1 WHERE response_status > $2`, start.Add(time.Hour), old)
	})
	k := &webhook.Pruner{DB: o.DB, Keep: keep, Now: func() time.Time { return start.Add(keep) }}
	for _, want := range []int64{old, 0} {
		if n, err := k.Prune(t.Context()); n != want || err != nil {
			t.Errorf("Prune = %d, %v; want %d", n, err, want)
		}
	}
	list, err := o.Responses(t.Context(), 1, nil, pageOne)
	if err != nil || list.Total != 10 {
		t.Errorf("%d are left (%v), want 10", list.Total, err)
	}
	same(t, "deliveries", len(due(t, o)), 4)
}
