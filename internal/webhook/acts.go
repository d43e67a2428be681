package webhook

import (
	"context"
	"fmt"
	"strconv"

	"claviger/internal/audit"
	"claviger/internal/outage"
	"claviger/internal/profile"
	"claviger/internal/sqldb"
)

// Changes to an endpoint lock its row first and increment changed. The owner of the lane hears of
// the change after the commit, or within a second by the poll.

// touch records a change of an endpoint. set adds further columns to the update.
func (o *Outbox) touch(tx *sqldb.Tx, partnerID int64, set string, args ...any) {
	tx.Queue(`UPDATE endpoints SET changed = changed + 1, closed = FALSE`+set+` WHERE partner_id = $1`,
		append([]any{partnerID}, args...)...)
	tx.AfterCommit(func() { o.tell(News{PartnerID: partnerID, Reload: true}) })
}

// Touch must be called in a transaction that changes settings the dispatcher uses: a secret, the
// brand, strictness, a pause. After it, nothing is sent with the old settings.
func (o *Outbox) Touch(tx *sqldb.Tx, partnerID int64) { o.touch(tx, partnerID, ``) }

// FollowProfile listens to profile.Store.Changed.
func (o *Outbox) FollowProfile(tx *sqldb.Tx, partnerID int64, change profile.Change) {
	switch change {
	case profile.Moved:
		o.Unpark(tx, partnerID)
	case profile.Resumed:
		o.Resume(tx, partnerID)
	case profile.Removed:
		o.Remove(tx, partnerID)
	}
}

// Unpark must be called in the transaction that saves a webhook URL, before saving. It opens the
// endpoint and sends waiting retries now, because failures of the old URL say nothing about the new
// one.
func (o *Outbox) Unpark(tx *sqldb.Tx, partnerID int64) {
	o.touch(tx, partnerID, `, url_version = url_version + 1, failing_since = 0, failures = 0, parked_at = 0,
		probe_at = 0, draining = $2`, int(drainAll))
	tx.Queue(`UPDATE outbox SET refusals = 0, refused_since = 0, refused_alone = FALSE
		WHERE partner_id = $1 AND `+IsPending+` AND refusals > 0`, partnerID)
}

// Resume must be called in the transaction that ends a partner's pause. During a pause deliveries
// wait as if the partner had no webhook URL.
func (o *Outbox) Resume(tx *sqldb.Tx, partnerID int64) {
	o.Unpark(tx, partnerID)
	outage.Restart(tx, partnerID, o.Now())
}

// TryNow sends to a failing endpoint without waiting for the next attempt. It probes a parked
// endpoint; for any other it sends waiting retries at a ramp that ends with the first failure. It
// does not change a healthy endpoint. It counts as a check of the partner's URLs.
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

// Remove queues the deletion of a partner's endpoint and outage. The partner must have no
// deliveries.
func (o *Outbox) Remove(tx *sqldb.Tx, partnerID int64) {
	tx.Queue(`DELETE FROM endpoints WHERE partner_id = $1`, partnerID)
	outage.Remove(tx, partnerID)
	tx.AfterCommit(func() { o.tell(News{PartnerID: partnerID, Reload: true}) })
}
