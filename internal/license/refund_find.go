package license

import (
	"context"
	"fmt"

	"claviger/internal/sqldb"
)

// StandingRefunds returns the refunds of licenses that were not reversed, oldest first, without
// their licenses. A refund of several of the licenses is listed once.
func (r *Store) StandingRefunds(ctx context.Context, licenseIDs []int64) ([]Refund, error) {
	list, err := sqldb.All(ctx, r.DB, scanRefund, `SELECT `+refundColumns+` FROM refunds
		WHERE id IN (SELECT refund_id FROM refund_items WHERE license_id = ANY($1)) AND reversed_at = 0
		ORDER BY id`, licenseIDs)
	if err != nil {
		return nil, fmt.Errorf("find the refunds of licenses: %w", err)
	}
	return list, nil
}

// StandingRefundsOfSales does the same for purchases and plan changes.
func (r *Store) StandingRefundsOfSales(ctx context.Context, saleIDs []int64) ([]Refund, error) {
	list, err := sqldb.All(ctx, r.DB, scanRefund, `SELECT `+refundColumns+` FROM refunds
		WHERE id IN (SELECT refund_id FROM purchase_links WHERE purchase_id = ANY($1) AND refund_id <> 0)
		AND reversed_at = 0 ORDER BY id`, saleIDs)
	if err != nil {
		return nil, fmt.Errorf("find the refunds of purchases: %w", err)
	}
	return list, nil
}

// refundedLicenses returns the licenses of a refund in their current state.
func refundedLicenses(ctx context.Context, tx *sqldb.Tx, refundID int64) ([]License, error) {
	list, err := sqldb.All(ctx, tx, scan, `SELECT `+columns+` FROM licenses
		WHERE id IN (SELECT license_id FROM refund_items WHERE refund_id = $1) ORDER BY ord`, refundID)
	if err != nil {
		return nil, fmt.Errorf("find the licenses of refund %d: %w", refundID, err)
	}
	return list, nil
}
