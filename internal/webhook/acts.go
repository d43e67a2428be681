package webhook

import (
	"context"
	"fmt"
	"strconv"

	"claviger/internal/audit"
	"claviger/internal/outage"
	"claviger/internal/sqldb"
)

// Acts on an endpoint lock its row first and raise changed in it: the owner of the lane
// hears of the act after the commit, or within a second by the poll.

// touch says that something about an endpoint changed; what else changes of its row
// follows.
func (o *Outbox) touch(tx *sqldb.Tx, partnerID int64, set string, args ...any) {
	tx.Queue(`UPDATE endpoints SET changed = changed + 1, closed = FALSE`+set+` WHERE partner_id = $1`, append([]any{partnerID}, args...)...)
	tx.AfterCommit(func() { o.Tell.reload(partnerID) })
}

// Touch is called in the transaction that changes what the dispatcher must know of a
// partner: a secret, the brand, strictness, a pause. Nothing more is sent by what was
// known before.
func (o *Outbox) Touch(tx *sqldb.Tx, partnerID int64) { o.touch(tx, partnerID, ``) }

// Unpark is called in the transaction that saves a webhook URL, before it does: the
// endpoint is open, and what waits for a later time is sent now, since what the old URL
// did says nothing of the new.
func (o *Outbox) Unpark(tx *sqldb.Tx, partnerID int64) {
	o.touch(tx, partnerID, `, url_version = url_version + 1, failing_since = 0, failures = 0, parked_at = 0, probe_at = 0, draining = $2`, int(drainAll))
	tx.Queue(`UPDATE outbox SET refusals = 0, refused_since = 0, refused_alone = FALSE WHERE partner_id = $1 AND `+IsPending+` AND refusals > 0`, partnerID)
}

// Resume is called in the transaction that ends a partner's pause, during which its
// deliveries waited as if it had no webhook URL.
func (o *Outbox) Resume(tx *sqldb.Tx, partnerID int64) {
	o.Unpark(tx, partnerID)
	outage.Restart(tx, partnerID, o.Now())
}

// TryNow sends to an endpoint that fails without waiting for the next attempt: a parked
// one is probed now, and another gets what waits for a later time, at a ramp that ends
// with the first failure. It changes nothing of an endpoint that is well, and counts as a
// check of the partner's URLs.
func (o *Outbox) TryNow(ctx context.Context, by audit.Actor, partnerID int64) error {
	if o.Checks != nil {
		claim, err := o.Checks.BeginTest(ctx, partnerID)
		if err != nil {
			return fmt.Errorf("try the endpoint of partner %d: %w", partnerID, err)
		}
		defer claim.End(ctx)
	}
	err := o.DB.Write(ctx, func(tx *sqldb.Tx) error {
		now := o.Now()
		o.touch(tx, partnerID, `, probe_at = CASE WHEN parked_at <> 0 THEN $2 ELSE probe_at END,
			draining = CASE WHEN parked_at = 0 AND failing_since <> 0 AND draining = $3 THEN $4 ELSE draining END`,
			now, int(drainNothing), int(drainWaiting))
		audit.Record(tx, now, by, "endpoint.try", "partner:"+strconv.FormatInt(partnerID, 10), nil, nil)
		return nil
	})
	if err != nil {
		return fmt.Errorf("try the endpoint of partner %d: %w", partnerID, err)
	}
	return nil
}

// Remove queues the removal of what is known of a partner's endpoint. The partner must
// have no deliveries.
func (o *Outbox) Remove(tx *sqldb.Tx, partnerID int64) {
	tx.Queue(`DELETE FROM endpoints WHERE partner_id = $1`, partnerID)
	outage.Remove(tx, partnerID)
	tx.AfterCommit(func() { o.Tell.reload(partnerID) })
}
