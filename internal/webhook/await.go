package webhook

import (
	"context"
	"time"

	"claviger/internal/sqldb"
)

// AwaitAttempt returns when the newest event of a license has had its first
// attempt, whatever came of it, or when the time is up: a buyer who arrives at
// the application just after the news of the license finds it known. It reports
// whether the wait is over; where there is nothing to wait for, it is. Nobody
// depends on it, so it has no error.
func (o *Outbox) AwaitAttempt(ctx context.Context, licenseID int64, atMost time.Duration) bool {
	ctx, cancel := context.WithTimeout(ctx, atMost)
	defer cancel()
	for pause := 4 * time.Millisecond; ; pause = min(2*pause, 50*time.Millisecond) {
		attempts, err := sqldb.One(ctx, o.DB, sqldb.Value[int64],
			`SELECT attempts FROM deliveries WHERE event_id = (SELECT max(event_id) FROM deliveries WHERE license_id = $1 AND state = 1)`, licenseID)
		switch {
		case attempts > 0:
			return true
		case err != nil:
			return ctx.Err() == nil // No row: nothing of it is open any more.
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return false
		}
	}
}
