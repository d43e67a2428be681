package webhook

import (
	"context"
	"time"

	"claviger/internal/sqldb"
)

// AwaitAttempt waits until the newest event of a license has had its first attempt, or until the
// time is up. So the application usually knows the license before its buyer arrives.
//
// It reports whether the wait is over. It is over if no attempt can be made now: an earlier event
// of the license failed and must be retried first, the endpoint is parked, or there is none. It
// returns no error because nothing depends on it.
func (o *Outbox) AwaitAttempt(ctx context.Context, licenseID int64, atMost time.Duration) bool {
	ctx, cancel := context.WithTimeout(ctx, atMost)
	defer cancel()
	for pause := 4 * time.Millisecond; ; pause = min(2*pause, 50*time.Millisecond) {
		over, err := sqldb.One(ctx, o.DB, sqldb.Value[bool], `SELECT d.attempts > 0
				OR EXISTS (SELECT 1 FROM outbox AS e WHERE e.license_id = d.license_id AND e.`+IsPending+`
				AND e.event_id < d.event_id AND e.attempts > 0)
				OR EXISTS (SELECT 1 FROM endpoints AS p WHERE p.partner_id = d.partner_id
				AND (p.parked_at <> 0 OR p.closed = TRUE))
			FROM outbox AS d WHERE d.event_id = (SELECT max(m.event_id) FROM outbox AS m
			WHERE m.license_id = $1 AND m.`+IsPending+`)`, licenseID)
		switch {
		case err != nil:
			return ctx.Err() == nil // no row: nothing of the license is pending
		case over:
			return true
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return false
		}
	}
}
