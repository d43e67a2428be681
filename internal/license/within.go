package license

import (
	"context"

	"claviger/internal/audit"
	"claviger/internal/event"
	"claviger/internal/sqldb"
)

// Within returns a registry whose acts are part of a transaction, which ends them all
// together. The transaction locked the partner's ledger before anything else. Acts that a
// payment provider reports are never refused, since money has moved: they have functions of
// their own here, and fields of orders that say so. Other acts may leave half of themselves
// in the transaction when they are refused; then it must be undone.
func (r *Registry) Within(tx *sqldb.Tx) *Registry {
	part := *r
	part.tx = tx
	return &part
}

// reader is what single facts are read from.
func (r *Registry) reader() sqldb.Reader {
	if r.tx != nil {
		return r.tx
	}
	return r.DB
}

// HoldFor holds a license because of a cause that somebody else reports.
func (r *Registry) HoldFor(ctx context.Context, by audit.Actor, l License, cause Cause) error {
	_, err := r.hold(ctx, by, l, cause, HoldChargeback)
	return err
}

// LiftFor ends the hold of a cause, also of a license that is refunded or not held.
func (r *Registry) LiftFor(ctx context.Context, by audit.Actor, l License, cause Cause) error {
	_, err := r.change(ctx, by, l, "license.reinstate", event.Reinstated, func(t *partnerTx, s *state) error {
		_, err := t.removeHold(ctx, s, cause)
		return err
	})
	return err
}

// OfSale returns the licenses of a purchase or plan change as they are now.
func (r *Registry) OfSale(ctx context.Context, saleID int64) ([]License, error) {
	return sqldb.All(ctx, r.reader(), scan, `SELECT `+columns+` FROM licenses
		WHERE id IN (SELECT license_id FROM purchase_links WHERE purchase_id = $1) ORDER BY ord`, saleID)
}
