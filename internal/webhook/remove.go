package webhook

import (
	"claviger/internal/outage"
	"claviger/internal/sqldb"
)

// Remove queues the removal of what is known of a partner's endpoint. The partner
// must have no deliveries.
func (o *Outbox) Remove(tx *sqldb.Tx, partnerID int64) {
	tx.Queue(`DELETE FROM endpoints WHERE partner_id = $1`, partnerID)
	tx.Queue(`DELETE FROM leases WHERE partner_id = $1`, partnerID)
	outage.Remove(tx, partnerID)
	tx.AfterCommit(func() { o.Dispatcher.InvalidateEndpoint(partnerID) })
}
