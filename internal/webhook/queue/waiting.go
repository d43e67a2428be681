package queue

import (
	"context"
	"errors"
	"fmt"
	"time"

	"claviger/internal/outage"
	"claviger/internal/sqldb"
	"claviger/internal/webhook"
)

// Waiting counts a partner's pending deliveries, for the emails to its contacts.
func (f *Figures) Waiting(ctx context.Context, partnerID int64) (outage.Counts, error) {
	var c outage.Counts
	err := f.DB.Read(ctx, func(tx *sqldb.Tx) error {
		scan := func(r *sqldb.Row, c *outage.Counts) error { return r.Scan(&c.Waiting, &c.Oldest) }
		open := sqldb.QueueQuery(tx, scan, `SELECT count(*), coalesce(min(created_at), 0) FROM outbox
			WHERE partner_id = $1 AND `+webhook.IsPending, partnerID)
		parked := sqldb.QueueQuery(tx, sqldb.Value[time.Time], `SELECT parked_at FROM endpoints
			WHERE partner_id = $1`, partnerID)
		var err error
		if c, err = open.One(ctx); err != nil {
			return err
		}
		at, err := parked.One(ctx)
		if errors.Is(err, sqldb.ErrNone) {
			return nil // it never failed
		}
		c.Parked = !at.IsZero()
		return err
	})
	if err != nil {
		return outage.Counts{}, fmt.Errorf("count what waits for partner %d: %w", partnerID, err)
	}
	return c, nil
}
