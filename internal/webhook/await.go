package webhook

import (
	"context"
	"time"

	"claviger/internal/sqldb"
)

// awaited is the newest open event of a license: whose it is, and whether it is
// worth waiting for.
type awaited struct {
	partnerID int64
	over      bool
}

func scanAwaited(r *sqldb.Row, a *awaited) error { return r.Scan(&a.partnerID, &a.over) }

// AwaitAttempt returns when the newest event of a license has had its first
// attempt, whatever came of it, or when the time is up: a buyer who arrives at
// the application just after the news of the license finds it known. It reports
// whether the wait is over; where there is nothing to wait for, it is, also since
// no attempt can be made now: an earlier event of the license has failed and is
// to be tried again first, the endpoint is parked, or there is none. Nobody
// depends on it, so it has no error.
func (o *Outbox) AwaitAttempt(ctx context.Context, licenseID int64, atMost time.Duration) bool {
	ctx, cancel := context.WithTimeout(ctx, atMost)
	defer cancel()
	for pause := 4 * time.Millisecond; ; pause = min(2*pause, 50*time.Millisecond) {
		a, err := sqldb.One(ctx, o.DB, scanAwaited, `SELECT d.partner_id, d.attempts > 0
				OR EXISTS (SELECT 1 FROM outbox AS e WHERE e.license_id = d.license_id AND e.state = 1 AND e.event_id < d.event_id AND e.attempts > 0)
				OR EXISTS (SELECT 1 FROM endpoints AS p WHERE p.partner_id = d.partner_id AND p.parked_at <> 0)
			FROM outbox AS d WHERE d.event_id = (SELECT max(m.event_id) FROM outbox AS m WHERE m.license_id = $1 AND m.state = 1)`, licenseID)
		switch {
		case err != nil:
			return ctx.Err() == nil // No row: nothing of it is open any more.
		case a.over, o.Dispatcher.nowhere(a.partnerID):
			return true
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return false
		}
	}
}

// nowhere is whether the partner is known to have no endpoint. A nil dispatcher
// knows nothing.
func (d *Dispatcher) nowhere(partnerID int64) bool {
	if d == nil {
		return false
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	l := d.lanes[partnerID]
	return l != nil && l.fresh(d.Now()) && l.endpoint.URL == ""
}
