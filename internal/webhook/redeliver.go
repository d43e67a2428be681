package webhook

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"claviger/internal/audit"
	"claviger/internal/partner"
	"claviger/internal/sqldb"
)

// reopen puts deliveries into the outbox, due now ($1); its sources follow as a condition
// on deliveries d. The new generation is that time: the answer to an attempt under way
// changes nothing any more.
var reopen = `INSERT INTO outbox (event_id, partner_id, license_id, state, attempts, due_at, generation, created_at, updated_at)
	SELECT d.event_id, d.partner_id, d.license_id, ` + strconv.Itoa(int(Pending)) + `, 0, CAST($1 AS bigint), CAST($1 AS bigint), d.created_at, CAST($1 AS bigint)
	FROM deliveries AS d WHERE `

// reopened is how one that is in the outbox begins anew. One that is open keeps its attempts.
var reopened = ` ON CONFLICT (event_id) DO UPDATE SET state = excluded.state, updated_at = $1, due_at = $1, generation = $1, not_before = 0,
	attempts = CASE WHEN outbox.` + IsPending + ` THEN outbox.attempts ELSE 0 END,
	uncounted = CASE WHEN outbox.` + IsPending + ` THEN outbox.uncounted ELSE 0 END,
	refusals = CASE WHEN outbox.` + IsPending + ` THEN outbox.refusals ELSE 0 END,
	refused_since = CASE WHEN outbox.` + IsPending + ` THEN outbox.refused_since ELSE 0 END,
	refused_alone = outbox.` + IsPending + ` AND outbox.refused_alone`

// IsAccepted reports whether the partner has accepted an event of its own: nothing of it
// waits. partnerID 0 stands for any partner; another partner's event is as good as none.
func (o *Outbox) IsAccepted(ctx context.Context, r sqldb.Reader, partnerID, eventID int64) (bool, error) {
	waits, err := sqldb.One(ctx, r, sqldb.Value[bool], `SELECT EXISTS (SELECT 1 FROM outbox WHERE outbox.event_id = d.event_id)
		FROM deliveries AS d WHERE d.event_id = $1 AND (d.partner_id = $2 OR $2 = 0)`, eventID, partnerID)
	switch {
	case errors.Is(err, sqldb.ErrNone):
		return false, UnknownEvent(eventID)
	case err != nil:
		return false, fmt.Errorf("look for event %d in the outbox: %w", eventID, err)
	}
	return !waits, nil
}

// Redeliver makes an event due again, and the newest of its license right after
// it, so that no partner is left in the past. What waits for another attempt is due
// now; what is on its way is sent again. A parked endpoint is probed with it.
// partnerID 0 stands for any partner; another partner's event is as good as none.
func (o *Outbox) Redeliver(ctx context.Context, by audit.Actor, partnerID, eventID int64) error {
	return o.DB.Write(ctx, func(tx *sqldb.Tx) error {
		return o.RedeliverIn(ctx, tx, by, partnerID, eventID)
	})
}

// RedeliverIn is Redeliver in the caller's transaction.
func (o *Outbox) RedeliverIn(ctx context.Context, tx *sqldb.Tx, by audit.Actor, partnerID, eventID int64) error {
	type owner struct{ partnerID, licenseID int64 }
	of, err := sqldb.One(ctx, tx, func(r *sqldb.Row, v *owner) error { return r.Scan(&v.partnerID, &v.licenseID) },
		`SELECT partner_id, license_id FROM deliveries WHERE event_id = $1 AND (partner_id = $2 OR $2 = 0)`, eventID, partnerID)
	switch {
	case errors.Is(err, sqldb.ErrNone):
		return UnknownEvent(eventID)
	case err != nil:
		return fmt.Errorf("find the delivery of event %d: %w", eventID, err)
	}
	now := o.Now()
	partner.Lock(tx, of.partnerID) // no event of the license comes in between
	o.touch(tx, of.partnerID, `, probe_at = CASE WHEN parked_at <> 0 THEN $2 ELSE probe_at END, probed = $3`, now, of.licenseID-1)
	markManual(tx, now, Sender{By: by}, `(d.event_id = $6 OR d.event_id = (SELECT max(newest.event_id) FROM deliveries AS newest WHERE newest.license_id = $7))`,
		eventID, of.licenseID)
	tx.Queue(reopen+`(d.event_id = $2 OR d.event_id = (SELECT max(newest.event_id) FROM deliveries AS newest WHERE newest.license_id = $3))`+reopened,
		now, eventID, of.licenseID)
	tx.Queue(`UPDATE outbox SET due_at = $1 WHERE license_id = $2 AND `+IsPending+` AND due_at > $1`, now, of.licenseID)
	tx.AfterCommit(func() { o.Tell.hint(of.partnerID, of.licenseID) })
	tx.Queue(markRedelivered, []int64{of.licenseID})
	audit.Record(tx, now, by, "event.redeliver", fmt.Sprintf("event:%d", eventID), nil, nil)
	return nil
}
