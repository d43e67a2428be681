package license

import (
	"context"
	"fmt"
	"slices"

	"claviger/internal/sqldb"
)

// AfterRefund returns the license as it would be after a refund of purchases. It changes nothing.
func (r *Store) AfterRefund(ctx context.Context, l License, purchases []int64) (License, error) {
	const preview = -1 // any refund
	chain, err := sqldb.All(ctx, r.reader(), scanLink, chainOf, l.ID)
	if err != nil {
		return l, fmt.Errorf("read what was paid for a license: %w", err)
	}
	for i := range chain {
		if chain[i].refundID == 0 && slices.Contains(purchases, chain[i].purchaseID) {
			chain[i].refundID = preview
		}
	}
	l.Status, l.Tier = derive(l, chain)
	l.Ended = ended(chain)
	return l, nil
}

// OpenSales returns those of the purchases that have a link that is not refunded.
func (r *Store) OpenSales(ctx context.Context, purchases []int64) ([]int64, error) {
	list, err := sqldb.All(ctx, r.reader(), sqldb.Value[int64], `SELECT DISTINCT purchase_id FROM purchase_links
		WHERE purchase_id = ANY($1) AND refund_id = 0`, purchases)
	if err != nil {
		return nil, fmt.Errorf("find purchases that are not refunded: %w", err)
	}
	return list, nil
}
