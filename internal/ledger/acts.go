package ledger

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"claviger/internal/fault"
	"claviger/internal/sqldb"
	"claviger/internal/validate"
)

// TakeFee posts a fee of the provider, once. The fee of the payment is not asked for again.
func (j *Journal) TakeFee(ctx context.Context, purchaseID int64, fee Fee) error {
	if fee.Source == "" || fee.Currency == "" || fee.Rate.Num <= 0 || fee.Rate.Den <= 0 {
		return errors.New("a fee has no name, no currency or no rate")
	}
	s, err := j.load(ctx, purchaseID)
	if err != nil || s == nil {
		return err
	}
	if !fee.Dispute && !s.feeLookAt.IsZero() {
		s.feeLookAt = time.Time{}
		j.touch(s)
	}
	if slices.ContainsFunc(s.Fees, func(f Fee) bool { return f.Source == fee.Source }) {
		return nil
	}
	s.newFees = append(s.newFees, fee)
	j.change(s, Posting{Kind: FeeTaken, Source: fee.Source, At: fee.At}, func(s *Sale) {
		s.Fees = append(s.Fees, fee)
	})
	return nil
}

// MakePayable posts that a payout may include the partner's share of a sale.
func (j *Journal) MakePayable(ctx context.Context, purchaseID int64) error {
	s, err := j.load(ctx, purchaseID)
	if err != nil || s == nil || s.Division == nil {
		return err
	}
	s.lookAt = time.Time{}
	j.touch(s)
	if !s.Payable {
		j.change(s, Posting{Kind: BecamePayable, Source: s.turn()}, func(s *Sale) { s.Payable = true })
	}
	return nil
}

// Stays says whether a bank reviews some of the buyer's money, and whether all of it is still here.
type Stays struct{ Disputed, Whole bool }

// Stays returns the state of the money of a posted sale.
func (j *Journal) Stays(ctx context.Context, purchaseID int64) (Stays, error) {
	s, err := j.load(ctx, purchaseID)
	if err != nil || s == nil {
		return Stays{}, err
	}
	return Stays{Disputed: s.Disputed > 0, Whole: s.Back == 0}, nil
}

// Postpone has a sale checked again at a later time whether it becomes payable.
func (j *Journal) Postpone(ctx context.Context, purchaseID int64, at time.Time) error {
	s, err := j.load(ctx, purchaseID)
	if err != nil || s == nil {
		return err
	}
	s.lookAt = at
	j.touch(s)
	return nil
}

// AskFeeLater has the provider asked at a later time for the fee of a payment; zero: never again.
func (j *Journal) AskFeeLater(ctx context.Context, purchaseID int64, at time.Time) error {
	s, err := j.load(ctx, purchaseID)
	if err != nil || s == nil {
		return err
	}
	s.feeLookAt = at
	j.touch(s)
	return nil
}

// divideBatch is the number of sales that one transaction divides.
const divideBatch = 200

// Divide divides sales from before the first terms of the partner by the terms of now. It reports
// whether there may be more.
func (j *Journal) Divide(ctx context.Context) (more bool, err error) {
	t := Current(j.terms, j.defaults, j.now)
	if t == nil {
		return false, nil
	}
	ids, err := sqldb.All(ctx, j.tx, sqldb.Value[int64], `SELECT purchase_id FROM ledger_sales
		WHERE partner_id = $1 AND share_bp = -1 ORDER BY purchase_id LIMIT $2`, j.partnerID, divideBatch)
	if err != nil {
		return false, fmt.Errorf("find the undivided sales of partner %d: %w", j.partnerID, err)
	}
	if err := j.Load(ctx, ids); err != nil {
		return false, err
	}
	for _, id := range ids {
		s := j.sales[id]
		if s.Division != nil {
			continue // divided earlier in this transaction
		}
		before := s.before()
		j.divide(s, t)
		j.touch(s)
		j.post(s, before, Posting{Kind: WasDivided, Source: s.turn()})
	}
	return len(ids) == divideBatch, nil
}

// maxReason is the maximum length of the reason of an adjustment.
const maxReason = 500

// Adjust posts an adjustment. A positive amount is owed to the partner, a negative one by the partner.
// The source is unique.
func (j *Journal) Adjust(source string, amount int64, currency, reason string) error {
	if amount == 0 {
		return fault.Field("amount", "must not be 0. A positive amount is owed to the partner, a negative one by them.")
	}
	if err := checkCurrency("currency", currency); err != nil {
		return err
	}
	reason, err := validate.Text("reason", reason, maxReason)
	if err == nil && reason == "" {
		err = fault.Field("reason", "is missing. Say why the balance changes; the partner reads it.")
	}
	if err != nil {
		return err
	}
	j.add(Posting{
		Kind: Adjustment, Source: source, Currency: currency, Reason: reason,
		Lines: []Balance{{Payable, -amount, currency}, {Adjustments, amount, currency}},
	})
	return nil
}
