package payment

import (
	"context"
	"fmt"
	"time"

	"claviger/internal/sqldb"
)

// Depth counts unsettled items.
type Depth struct {
	Checkouts int64 // still polled
	Refunds   int64 // in progress
	Disputes  int64 // open
	Lookups   int64 // objects to retrieve
	Problems  int64 // open ones, without inquiries, which are among the disputes

	Unanswered int64     // disputes and inquiries that wait for evidence
	Deadline   time.Time // the nearest one of these that is not over; zero: there is none
}

// ReadDepth counts the unsettled items. A deadline is over if it is before now.
func ReadDepth(ctx context.Context, db *sqldb.DB, now time.Time) (Depth, error) {
	d, err := sqldb.One(ctx, db, func(r *sqldb.Row, d *Depth) error {
		return r.Scan(&d.Checkouts, &d.Refunds, &d.Disputes, &d.Lookups, &d.Problems, &d.Unanswered, &d.Deadline)
	}, `SELECT (SELECT count(*) FROM checkouts WHERE next_at <> 0), (SELECT count(*) FROM payment_refunds
		WHERE next_at <> 0),
		(SELECT count(*) FROM payment_disputes WHERE next_at <> 0), (SELECT count(*) FROM payment_lookups),
		(SELECT count(*) FROM payment_problems WHERE done_at = 0 AND kind <> $2),
		(SELECT count(*) FROM payment_disputes WHERE `+isUnanswered+`),
		coalesce((SELECT min(due_by) FROM payment_disputes WHERE `+isUnanswered+` AND due_by > $1), 0)`,
		now, string(InquiryOpened))
	if err != nil {
		return Depth{}, fmt.Errorf("count payments that are not settled: %w", err)
	}
	return d, nil
}
