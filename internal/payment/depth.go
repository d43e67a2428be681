package payment

import (
	"context"
	"fmt"

	"claviger/internal/sqldb"
)

// Depth counts unsettled items.
type Depth struct {
	Checkouts int64 // still polled
	Refunds   int64 // in progress
	Disputes  int64 // open
	Lookups   int64 // objects to retrieve
	Problems  int64 // open ones
}

// ReadDepth counts the unsettled items.
func ReadDepth(ctx context.Context, db *sqldb.DB) (Depth, error) {
	d, err := sqldb.One(ctx, db, func(r *sqldb.Row, d *Depth) error {
		return r.Scan(&d.Checkouts, &d.Refunds, &d.Disputes, &d.Lookups, &d.Problems)
	}, `SELECT (SELECT count(*) FROM checkouts WHERE next_at <> 0), (SELECT count(*) FROM payment_refunds
		WHERE next_at <> 0),
		(SELECT count(*) FROM payment_disputes WHERE next_at <> 0), (SELECT count(*) FROM payment_lookups),
		(SELECT count(*) FROM payment_problems WHERE done_at = 0)`)
	if err != nil {
		return Depth{}, fmt.Errorf("count payments that are not settled: %w", err)
	}
	return d, nil
}
