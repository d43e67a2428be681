package license

import (
	"context"

	"claviger/internal/audit"
	"claviger/internal/event"
	"claviger/internal/sqldb"
)

// Within returns a registry whose acts are part of a transaction. The transaction must lock the
// partner's counters before anything else. Acts reported by a payment provider are never refused,
// because money has moved: they have their own functions here, and fields of orders. Other acts may
// leave partial changes in the transaction when they are refused; then it must be rolled back.
func (r *Store) Within(tx *sqldb.Tx) *Store {
	part := *r
	part.acts = inTx{tx}
	return &part
}

// HoldFor holds a license for a cause that was reported from outside.
func (r *Store) HoldFor(ctx context.Context, by audit.Actor, l License, cause Cause) error {
	_, err := r.hold(ctx, by, l, cause, HoldChargeback)
	return err
}

// LiftFor ends the hold of a cause, even if the license is refunded or not held.
func (r *Store) LiftFor(ctx context.Context, by audit.Actor, l License, cause Cause) error {
	_, err := r.change(ctx, by, l, "license.reinstate", event.Reinstated, func(t *partnerTx, s *state) error {
		_, err := t.removeHold(ctx, s, cause)
		return err
	})
	return err
}

// OfSale returns the licenses of a purchase or plan change in their current state.
func (r *Store) OfSale(ctx context.Context, saleID int64) ([]License, error) {
	return sqldb.All(ctx, r.reader(), scan, `SELECT `+columns+` FROM licenses
		WHERE id IN (SELECT license_id FROM purchase_links WHERE purchase_id = $1) ORDER BY ord`, saleID)
}
