package ledger

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"claviger/internal/sqldb"
)

// TakeFee posts what the provider took for a purchase. The fee replaces the one that is posted, as
// the fee of a dispute comes after the fee of the payment.
func (b *Book) TakeFee(ctx context.Context, purchaseID int64, fee Fee, source string) error {
	s, err := b.load(ctx, purchaseID)
	if err != nil || s == nil || s.Fee == fee {
		return err
	}
	b.change(s, FeeTaken, source, func(s *Sale) { s.Fee = fee })
	return nil
}

// MakePayable posts that the partner's share of a sale can be paid out.
func (b *Book) MakePayable(ctx context.Context, purchaseID int64) error {
	s, err := b.load(ctx, purchaseID)
	if err != nil || s == nil || s.Payable || s.Division == nil {
		return err
	}
	s.lookAt = time.Time{}
	b.change(s, BecamePayable, strconv.FormatInt(purchaseID, 10), func(s *Sale) { s.Payable = true })
	return nil
}

// Settle posts that a sale was settled outside the ledger, with all that happened to it before.
func (b *Book) Settle(ctx context.Context, purchaseID int64) error {
	s, err := b.load(ctx, purchaseID)
	if err != nil || s == nil || s.Settled != nil || s.Division == nil {
		return err
	}
	back := s.Back
	s.lookAt = time.Time{}
	b.change(s, WasSettled, strconv.FormatInt(purchaseID, 10), func(s *Sale) {
		s.Settled = &back
		s.Payable = true
	})
	return nil
}

// divideBatch is the number of sales that one transaction divides.
const divideBatch = 200

// Divide divides sales from before the first terms of the partner by the terms of now. It reports
// whether there may be more.
func (b *Book) Divide(ctx context.Context) (more bool, err error) {
	t := current(b.terms, b.defaults, b.now)
	if t == nil {
		return false, nil
	}
	list, err := sqldb.All(ctx, b.tx, scanStored, `SELECT `+storedColumns+` FROM ledger_sales
		WHERE partner_id = $1 AND share_bp = -1 ORDER BY purchase_id LIMIT $2`, b.partnerID, divideBatch)
	if err != nil {
		return false, fmt.Errorf("find the undivided sales of partner %d: %w", b.partnerID, err)
	}
	for i := range list {
		s := &list[i]
		b.sales = append(b.sales, s)
		before := s.Balances()
		b.divide(s, t)
		b.post(s, before, WasDivided, strconv.FormatInt(s.purchaseID, 10), 0)
	}
	return len(list) == divideBatch, nil
}

// Adjust posts an adjustment: the amount is added to what the partner is owed, or taken from it.
func (b *Book) Adjust(source string, amount int64, currency, reason string) {
	b.add(Posting{
		Kind: Adjustment, Source: source, Currency: currency, Reason: reason,
		Lines: []Balance{{Payable, -amount, currency}, {Adjustments, amount, currency}},
	})
}
