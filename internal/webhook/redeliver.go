package webhook

import (
	"context"
	"errors"
	"fmt"

	"claviger/internal/audit"
	"claviger/internal/fault"
	"claviger/internal/partner"
	"claviger/internal/sqldb"
)

// reopen puts deliveries into the outbox, due now; its sources follow as a condition
// on deliveries d. Those that are there already are changed as what follows says.
const reopen = `INSERT INTO outbox (event_id, partner_id, license_id, state, attempts, due_at, node, lease_until, created_at, updated_at)
	SELECT d.event_id, d.partner_id, d.license_id, 1, 0, CAST($1 AS bigint), '', 0, d.created_at, CAST($1 AS bigint) FROM deliveries AS d WHERE `

// reopened is how one that is in the outbox begins anew. One that is open keeps its attempts.
const reopened = ` ON CONFLICT (event_id) DO UPDATE SET state = 1, updated_at = $1,
	attempts = CASE WHEN outbox.state = 1 THEN outbox.attempts ELSE 0 END,
	refusals = CASE WHEN outbox.state = 1 THEN outbox.refusals ELSE 0 END,
	refused_since = CASE WHEN outbox.state = 1 THEN outbox.refused_since ELSE 0 END,
	refused_alone = outbox.state = 1 AND outbox.refused_alone`

// calledBack makes an open delivery due and takes it from the node that has it,
// if one does: * is no node's name. The lease goes on without a holder until the
// attempt under way is recorded or it runs out, so that nothing else of the license
// is sent meanwhile.
const calledBack = `, due_at = $1, node = '*', lease_until = CASE WHEN outbox.lease_until > $1 THEN outbox.lease_until ELSE 0 END`

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
	tx.Queue(reopen+`d.event_id = $2`+reopened+`, due_at = CASE WHEN outbox.lease_until > $1 THEN outbox.due_at ELSE $1 END`, now, eventID)
	tx.Queue(reopen+`d.event_id <> $2 AND d.event_id = (SELECT max(newest.event_id) FROM deliveries AS newest WHERE newest.license_id = $3)`+
		reopened+calledBack, now, eventID, of.licenseID)
	tx.Queue(`UPDATE outbox SET due_at = $1 WHERE license_id = $2 AND state = 1 AND due_at > $1 AND lease_until <= $1`, now, of.licenseID)
	tx.Queue(`UPDATE endpoints SET probe_at = $2, probed = $3 WHERE partner_id = $1 AND parked_at <> 0`, of.partnerID, now, of.licenseID-1)
	tx.Queue(markRedelivered, []int64{of.licenseID})
	tx.AfterCommit(func() { o.Dispatcher.InvalidateEndpoint(of.partnerID) })
	audit.Record(tx, now, by, "event.redeliver", fmt.Sprintf("event:%d", eventID), nil, nil)
	return nil
}
