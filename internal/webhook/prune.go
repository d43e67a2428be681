package webhook

import (
	"context"
	"fmt"
	"time"

	"claviger/internal/sqldb"
)

// MaxAttempts is the number of stored attempts per event. Only redelivery exceeds it.
const MaxAttempts = 100

// Pruner deletes expired records of attempts.
type Pruner struct {
	DB   *sqldb.DB
	Now  func() time.Time
	Keep time.Duration // retention of attempts
}

// Prune deletes attempts older than Keep, attempts beyond the newest MaxAttempts of an event, and
// manual_sends rows of the same age. It returns the number of deleted attempts. Attempts are nearly
// in the order of their ids, so no index by age is needed. Deliveries and events stay.
func (k *Pruner) Prune(ctx context.Context) (int64, error) {
	before := k.Now().Add(-k.Keep)
	n, err := k.DB.DeleteAged(ctx, before, sqldb.Aged{From: `FROM webhook_responses`, Old: `created_at < $1`})
	if err != nil {
		return n, fmt.Errorf("prune webhook responses: %w", err)
	}
	if _, err := k.DB.DeleteInBatches(ctx, before, `DELETE FROM manual_sends WHERE (generation, event_id) IN (
		SELECT generation, event_id FROM manual_sends WHERE generation < $1 ORDER BY generation, event_id LIMIT $2)`); err != nil {
		return n, fmt.Errorf("prune manual sends: %w", err)
	}
	surplus, err := k.pruneSurplus(ctx)
	return n + surplus, err
}

// The sizes of transactions that prune surplus attempts.
const (
	surplusEvents = 100
	surplusRows   = 1000
)

// pruneSurplus deletes attempts beyond the newest MaxAttempts of each event that was redelivered
// since the last round. Pending events are checked again in the next one.
func (k *Pruner) pruneSurplus(ctx context.Context) (n int64, err error) {
	for after := int64(0); ; {
		ids, err := sqldb.All(ctx, k.DB, sqldb.Value[int64],
			`SELECT event_id FROM redelivered WHERE event_id > $1 ORDER BY event_id LIMIT $2`, after, surplusEvents)
		if err != nil {
			return n, fmt.Errorf("look for redelivered events: %w", err)
		}
		if len(ids) == 0 {
			return n, nil
		}
		for gone := int64(surplusRows); gone == surplusRows; n += gone {
			if gone, err = k.pruneEvents(ctx, ids); err != nil {
				return n, fmt.Errorf("prune surplus attempts: %w", err)
			}
		}
		after = ids[len(ids)-1]
	}
}

// pruneEvents deletes some surplus attempts of the events. If none is left, it removes settled
// events from the list to check.
func (k *Pruner) pruneEvents(ctx context.Context, ids []int64) (gone int64, err error) {
	err = k.DB.Write(ctx, func(tx *sqldb.Tx) error {
		gone, err = tx.Exec(ctx, `DELETE FROM webhook_responses WHERE id IN (
			SELECT id FROM (SELECT id, row_number() OVER (PARTITION BY event_id ORDER BY id DESC) AS newest
				FROM webhook_responses WHERE event_id = ANY($1)) AS ranked
			WHERE newest > $2 LIMIT $3)`, ids, MaxAttempts, surplusRows)
		if err == nil && gone < surplusRows {
			tx.Queue(`DELETE FROM redelivered WHERE event_id = ANY($1)
				AND NOT EXISTS (SELECT 1 FROM outbox WHERE outbox.event_id = redelivered.event_id AND outbox.`+IsPending+`)`, ids)
		}
		return err
	})
	return gone, err
}
