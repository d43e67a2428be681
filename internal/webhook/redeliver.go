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

// putBack puts deliveries into the outbox, due now ($1); a condition on deliveries d follows. The
// new generation is that time: the answer to an attempt in flight then has no effect.
var putBack = `INSERT INTO outbox (event_id, partner_id, license_id, state, attempts, due_at, generation, created_at,
	updated_at) SELECT d.event_id, d.partner_id, d.license_id, ` + strconv.Itoa(int(Pending)) + `, 0,
	CAST($1 AS bigint), CAST($1 AS bigint), d.created_at, CAST($1 AS bigint) FROM deliveries AS d WHERE `

// putBackDue resets a delivery that is already in the outbox. A pending one keeps its attempts.
var putBackDue = ` ON CONFLICT (event_id) DO UPDATE SET state = excluded.state, updated_at = $1, due_at = $1,
	generation = $1, not_before = 0, attempts = CASE WHEN outbox.` + IsPending + ` THEN outbox.attempts ELSE 0 END,
	uncounted = CASE WHEN outbox.` + IsPending + ` THEN outbox.uncounted ELSE 0 END,
	refusals = CASE WHEN outbox.` + IsPending + ` THEN outbox.refusals ELSE 0 END,
	refused_since = CASE WHEN outbox.` + IsPending + ` THEN outbox.refused_since ELSE 0 END,
	refused_alone = outbox.` + IsPending + ` AND outbox.refused_alone`

// IsAccepted reports whether the partner has accepted an event. partnerID 0 matches any partner;
// another partner's event is unknown.
func (o *Outbox) IsAccepted(ctx context.Context, r sqldb.Reader, partnerID, eventID int64) (bool, error) {
	waits, err := sqldb.One(ctx, r, sqldb.Value[bool], `SELECT EXISTS (SELECT 1 FROM outbox
		WHERE outbox.event_id = d.event_id)
		FROM deliveries AS d WHERE d.event_id = $1 AND (d.partner_id = $2 OR $2 = 0)`, eventID, partnerID)
	switch {
	case errors.Is(err, sqldb.ErrNone):
		return false, UnknownEvent(eventID)
	case err != nil:
		return false, fmt.Errorf("look for event %d in the outbox: %w", eventID, err)
	}
	return !waits, nil
}

// Redeliver makes an event due again, and then the newest event of its license, so that no partner
// is left with an old state. A waiting retry is due now; an event in flight is sent again. A parked
// endpoint is probed with it. partnerID 0 matches any partner; another partner's event is unknown.
func (o *Outbox) Redeliver(ctx context.Context, by audit.Actor, partnerID, eventID int64) error {
	return o.DB.Write(ctx, func(tx *sqldb.Tx) error {
		return o.RedeliverIn(ctx, tx, by, partnerID, eventID)
	})
}

// RedeliverIn does the same in the caller's transaction.
func (o *Outbox) RedeliverIn(ctx context.Context, tx *sqldb.Tx, by audit.Actor, partnerID, eventID int64) error {
	type owner struct{ partnerID, licenseID int64 }
	of, err := sqldb.One(ctx, tx, func(r *sqldb.Row, v *owner) error { return r.Scan(&v.partnerID, &v.licenseID) },
		`SELECT partner_id, license_id FROM deliveries WHERE event_id = $1
			AND (partner_id = $2 OR $2 = 0)`, eventID, partnerID)
	switch {
	case errors.Is(err, sqldb.ErrNone):
		return UnknownEvent(eventID)
	case err != nil:
		return fmt.Errorf("find the delivery of event %d: %w", eventID, err)
	}
	now := o.Now()
	partner.Lock(tx, of.partnerID) // so that no event of the license is added meanwhile
	o.touch(tx, of.partnerID, `, probe_at = CASE WHEN parked_at <> 0 THEN $2
		ELSE probe_at END, probed = $3`, now, of.licenseID-1)
	markManual(tx, now, Sender{By: by}, `(d.event_id = $6 OR d.event_id = (SELECT max(newest.event_id)
		FROM deliveries AS newest WHERE newest.license_id = $7))`,
		eventID, of.licenseID)
	tx.Queue(putBack+`(d.event_id = $2 OR d.event_id = (SELECT max(newest.event_id) FROM deliveries AS newest
		WHERE newest.license_id = $3))`+putBackDue,
		now, eventID, of.licenseID)
	tx.Queue(`UPDATE outbox SET due_at = $1 WHERE license_id = $2 AND `+IsPending+` AND due_at > $1`, now, of.licenseID)
	tx.AfterCommit(func() { o.tell(News{PartnerID: of.partnerID, LicenseID: of.licenseID}) })
	tx.Queue(markRedelivered, []int64{of.licenseID})
	audit.Record(tx, now, by, "event.redeliver", fmt.Sprintf("event:%d", eventID), nil, nil)
	return nil
}
