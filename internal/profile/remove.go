package profile

import (
	"context"
	"fmt"

	"claviger/internal/audit"
	"claviger/internal/idempotency"
	"claviger/internal/partner"
	"claviger/internal/sqldb"
)

// Remove deletes a partner without licenses, with everything that belongs to it, in one
// transaction. Such a partner never had rows about licenses, such as events, deliveries and grants.
func (b *Store) Remove(ctx context.Context, by audit.Actor, partnerID int64) error {
	err := b.DB.Write(ctx, func(tx *sqldb.Tx) error {
		if err := partner.Removable(ctx, tx, partnerID); err != nil {
			return err
		}
		b.changed(tx, partnerID, Removed)
		tx.Queue(`DELETE FROM url_checks WHERE partner_id = $1`, partnerID)
		tx.Queue(`DELETE FROM profiles WHERE partner_id = $1`, partnerID)
		tx.Queue(`DELETE FROM contacts WHERE partner_id = $1`, partnerID)
		removed, err := b.Partners.Remove(ctx, tx, by, partnerID)
		idempotency.Delete(tx, externalRequest(removed.ExternalID, "")) // it may be used again
		return err
	})
	if err != nil {
		return fmt.Errorf("remove a partner: %w", err)
	}
	return nil
}
