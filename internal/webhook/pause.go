package webhook

import (
	"claviger/internal/outage"
	"claviger/internal/sqldb"
)

// Resume is called in the transaction that ends a partner's pause, during which
// its deliveries waited as if it had no webhook URL: they are due now, and how its
// endpoint did before says nothing any more.
func (o *Outbox) Resume(tx *sqldb.Tx, partnerID int64) {
	o.Revive(tx, partnerID)
	outage.Restart(tx, partnerID, o.Now())
}
