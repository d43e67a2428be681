package webhook

import (
	"context"
	"errors"
	"fmt"
	"time"

	"claviger/internal/audit"
	"claviger/internal/fault"
	"claviger/internal/partner"
	"claviger/internal/sqldb"
)

// reopened is how a delivery begins anew. One that is open keeps its attempts.
const reopened = `state = 1, attempts = CASE WHEN state = 1 THEN attempts ELSE 0 END, updated_at = $1`

// calledBack makes an open delivery due and takes it from the node that has it,
// if one does. The lease goes on without a holder until the attempt under way is
// recorded or it runs out, so that nothing else of the license is sent meanwhile.
const calledBack = `due_at = $1, node = '', lease_until = CASE WHEN lease_until > $1 THEN lease_until ELSE 0 END`

// Redeliver makes an event due again, and the newest of its license right after
// it, so that no partner is left in the past. What waits for another attempt is
// due now; one under way stays as it is. A parked endpoint is probed with it.
// partnerID 0 stands for any partner; another partner's event is as good as none.
func (o *Outbox) Redeliver(ctx context.Context, by audit.Actor, partnerID, eventID int64) error {
	return o.DB.Write(ctx, func(tx *sqldb.Tx) error {
		return o.redeliver(ctx, tx, by, partnerID, eventID)
	})
}

func (o *Outbox) redeliver(ctx context.Context, tx *sqldb.Tx, by audit.Actor, partnerID, eventID int64) error {
	type owner struct{ partnerID, licenseID int64 }
	of, err := sqldb.One(ctx, tx, func(r *sqldb.Row, v *owner) error { return r.Scan(&v.partnerID, &v.licenseID) },
		`SELECT partner_id, license_id FROM deliveries WHERE event_id = $1 AND (partner_id = $2 OR $2 = 0)`, eventID, partnerID)
	switch {
	case errors.Is(err, sqldb.ErrNone):
		return fault.New(fault.Missing, "unknown_event", "There is no event %d; event ids are in the list of events.", eventID)
	case err != nil:
		return fmt.Errorf("find the delivery of event %d: %w", eventID, err)
	}
	now := o.Now()
	partner.Lock(tx, of.partnerID) // no event of the license comes in between
	tx.Queue(`UPDATE deliveries SET `+reopened+`, due_at = CASE WHEN lease_until > $1 THEN due_at ELSE $1 END WHERE event_id = $2`, now, eventID)
	tx.Queue(`UPDATE deliveries SET `+reopened+`, `+calledBack+`
		WHERE event_id <> $2 AND event_id = (SELECT max(newest.event_id) FROM deliveries AS newest WHERE newest.license_id = $3)`,
		now, eventID, of.licenseID)
	tx.Queue(`UPDATE deliveries SET due_at = $1 WHERE license_id = $2 AND state = 1 AND due_at > $1 AND lease_until <= $1`, now, of.licenseID)
	tx.Queue(`UPDATE endpoints SET probe_at = $2, probed = $3 WHERE partner_id = $1 AND parked_at <> 0`, of.partnerID, now, of.licenseID-1)
	tx.AfterCommit(func() { o.Dispatcher.Forget(of.partnerID) })
	audit.Record(tx, now, by, "event.redeliver", fmt.Sprintf("event:%d", eventID), nil, nil)
	return nil
}

// RedeliverRange makes the partner's events of a time range due again, oldest
// first as ever, and after them the newest of each of their licenses, and returns
// how many; onlyFailed leaves out what was delivered. What is open stays as it
// is. A parked endpoint is probed.
func (o *Outbox) RedeliverRange(ctx context.Context, by audit.Actor, partnerID int64, from, to time.Time, onlyFailed bool) (int64, error) {
	var n int64
	err := o.DB.Write(ctx, func(tx *sqldb.Tx) error {
		now := o.Now()
		partner.Lock(tx, partnerID)
		asked, err := tx.Exec(ctx, `UPDATE deliveries SET `+reopened+`, due_at = $1
			WHERE partner_id = $2 AND created_at >= $3 AND created_at < $4 AND state <> 1 AND (state = 3 OR NOT $5)`,
			now, partnerID, from, to, onlyFailed)
		if err != nil {
			return fmt.Errorf("redeliver a range: %w", err)
		}
		after, err := tx.Exec(ctx, `UPDATE deliveries SET `+reopened+`, `+calledBack+`
			WHERE NOT (state = 1 AND updated_at = $1) AND event_id IN (
				SELECT max(newest.event_id) FROM deliveries AS newest WHERE newest.license_id IN (
					SELECT d.license_id FROM deliveries AS d
					WHERE d.partner_id = $2 AND d.created_at >= $3 AND d.created_at < $4 AND d.state = 1 AND d.updated_at = $1)
				GROUP BY newest.license_id)`, now, partnerID, from, to)
		if err != nil {
			return fmt.Errorf("redeliver the newest after a range: %w", err)
		}
		n = asked + after
		tx.Queue(`UPDATE endpoints SET probe_at = $2 WHERE partner_id = $1 AND parked_at <> 0`, partnerID, now)
		tx.AfterCommit(func() { o.Dispatcher.Forget(partnerID) })
		audit.Record(tx, now, by, "partner.redeliver", fmt.Sprintf("partner:%d", partnerID), nil, map[string]any{
			"from": from, "to": to, "only_failed": onlyFailed, "count": n,
		})
		return nil
	})
	return n, err
}
