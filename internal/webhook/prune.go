package webhook

import (
	"context"
	"fmt"
	"time"

	"claviger/internal/prune"
	"claviger/internal/sqldb"
)

// MaxAttempts is the number of stored attempts per event. Only redelivery exceeds it.
const MaxAttempts = 100

// Expiring lists the rows that expire: attempts older than keep, attempts beyond the newest
// MaxAttempts of an event, and manual_sends rows older than keep. Attempts are nearly in the order of
// their ids, so no index by age is needed. Deliveries and events stay.
func Expiring(keep time.Duration) []prune.Rule {
	return []prune.Rule{
		{Table: "webhook_responses", At: "created_at", Keep: keep, ByID: true},
		{Table: "manual_sends", Key: "generation, event_id", At: "generation", Keep: keep},
		{Table: "webhook_responses", Do: pruneSurplus},
	}
}

// The sizes of transactions that prune surplus attempts.
const (
	surplusEvents = 100
	surplusRows   = 1000
)

// pruneSurplus deletes attempts beyond the newest MaxAttempts of each event that was redelivered
// since the last round. Pending events are checked again in the next one.
func pruneSurplus(ctx context.Context, db *sqldb.DB, _ time.Time) (n int64, err error) {
	for after := int64(0); ; {
		ids, err := sqldb.All(ctx, db, sqldb.Value[int64],
			`SELECT event_id FROM redelivered WHERE event_id > $1 ORDER BY event_id LIMIT $2`, after, surplusEvents)
		if err != nil {
			return n, fmt.Errorf("look for redelivered events: %w", err)
		}
		if len(ids) == 0 {
			return n, nil
		}
		for gone := int64(surplusRows); gone == surplusRows; n += gone {
			if gone, err = pruneEvents(ctx, db, ids); err != nil {
				return n, fmt.Errorf("prune surplus attempts: %w", err)
			}
		}
		after = ids[len(ids)-1]
	}
}

// pruneEvents deletes some surplus attempts of the events. If none is left, it removes settled
// events from the list to check.
func pruneEvents(ctx context.Context, db *sqldb.DB, ids []int64) (gone int64, err error) {
	err = db.Write(ctx, func(tx *sqldb.Tx) error {
		gone, err = tx.Exec(ctx, `DELETE FROM webhook_responses WHERE id IN (
			SELECT id FROM (SELECT id, row_number() OVER (PARTITION BY event_id ORDER BY id DESC) AS newest
				FROM webhook_responses WHERE event_id = ANY($1)) AS ranked
			WHERE newest > $2 LIMIT $3)`, ids, MaxAttempts, surplusRows)
		if err == nil && gone < surplusRows {
			tx.Queue(`DELETE FROM redelivered WHERE event_id = ANY($1)
				AND NOT EXISTS (SELECT 1 FROM outbox WHERE outbox.event_id = redelivered.event_id
				AND outbox.`+IsPending+`)`, ids)
		}
		return err
	})
	return gone, err
}
