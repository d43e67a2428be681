package webhook

import (
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

// Remove queues the removal of what is known of a partner's endpoint. The partner must
// have no deliveries.
func (o *Outbox) Remove(tx *sqldb.Tx, partnerID int64) {
	tx.Queue(`DELETE FROM endpoints WHERE partner_id = $1`, partnerID)
	outage.Remove(tx, partnerID)
	tx.AfterCommit(func() { o.Tell.reload(partnerID) })
}
