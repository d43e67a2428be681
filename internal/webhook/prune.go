package webhook

import (
	"context"
	"fmt"
	"time"

	"claviger/internal/sqldb"
)

// MaxAttempts is how many attempts of one event stay on record; only redelivery
// makes more.
const MaxAttempts = 100

// Pruner removes the records of attempts whose time is over.
type Pruner struct {
	DB   *sqldb.DB
	Now  func() time.Time
	Keep time.Duration // how long the record of an attempt is kept
}

// Prune removes the records older than Keep, those beyond the newest MaxAttempts of
// an event, and as old notes on who had what sent; it returns how many attempts it
// removed. They are written nearly in the order of their ids, so it begins with the
// lowest and needs no index by age; the odd one that an answer of the next batch
// overtook goes with a later round. Deliveries and events stay.
func (k *Pruner) Prune(ctx context.Context) (int64, error) {
	before := k.Now().Add(-k.Keep)
	n, err := k.DB.DeleteInBatches(ctx, before, `DELETE FROM webhook_responses WHERE created_at < $1 AND id IN (
		SELECT id FROM webhook_responses ORDER BY id LIMIT $2)`)
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

// The sizes of the transactions that prune surplus attempts.
const (
	surplusEvents = 100
	surplusRows   = 1000
)

// pruneSurplus removes attempts beyond the newest MaxAttempts of each event that was
// redelivered since they were last looked at. One that is still open is looked at
// again.
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

// pruneEvents removes some surplus attempts of the events. When none is left, those
// that are settled need not be looked at any more.
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
