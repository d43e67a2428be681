package statement

import (
	"context"
	"slices"

	"claviger/internal/ledger"
	"claviger/internal/money"
	"claviger/internal/sqldb"
)

// Reason says why a payout would pay nothing now. Programs depend on the reasons: they never change.
type Reason string

// The reasons.
const (
	Pays          Reason = ""
	NoTerms       Reason = "no_terms"
	Negative      Reason = "negative_balance"
	NothingDue    Reason = "nothing_payable"
	BelowSmallest Reason = "below_smallest_payout"
)

// Balance is what a partner has earned in one currency. A negative amount is owed to the marketplace.
type Balance struct {
	Currency string
	Pending  int64 // not payable yet
	Disputed int64 // while banks review payments
	Payable  int64
	InPayout int64 // reserved by a payout that is under way
	Paid     int64 // so far

	Next     int64  // what a payout would pay now
	Reason   Reason // why that is nothing
	Smallest int64  // the smallest payout
}

// Sentence explains a next payout of nothing; "" if there is one.
func (b Balance) Sentence() string {
	switch b.Reason {
	case NoTerms:
		return "There are no terms yet that say what you earn, so nothing can be paid out."
	case Negative:
		return "The payable balance is negative. It is carried over, and later sales make up for it."
	case NothingDue:
		return "Nothing is payable yet."
	case BelowSmallest:
		return "The payable balance is below the smallest payout of " + money.Text(b.Smallest, b.Currency) +
			". It is carried over."
	case Pays:
	}
	return ""
}

// Balances returns the balances of a partner by currency.
func (s *Store) Balances(ctx context.Context, partnerID int64) (list []Balance, err error) {
	var stored []ledger.Balance
	var terms *ledger.Terms
	err = s.DB.Read(ctx, func(tx *sqldb.Tx) error {
		if stored, err = ledger.Balances(ctx, tx, partnerID); err != nil {
			return err
		}
		terms, err = ledger.CurrentTerms(ctx, tx, partnerID, s.Defaults, s.Now())
		return err
	})
	if err != nil {
		return nil, err
	}
	of := map[string]Balance{}
	for _, b := range stored {
		n := of[b.Currency]
		n.Currency = b.Currency
		switch b.Account {
		case ledger.Share:
			n.Pending = -b.Amount
		case ledger.Disputed:
			n.Disputed = -b.Amount
		case ledger.Payable:
			n.Payable = -b.Amount
		case ledger.InPayout:
			n.InPayout = -b.Amount
		case ledger.Paid:
			n.Paid = -b.Amount
		default: // figures of the marketplace
			continue
		}
		of[b.Currency] = n
	}
	for _, n := range of {
		n.decide(terms)
		list = append(list, n)
	}
	slices.SortFunc(list, func(a, b Balance) int {
		if a.Currency < b.Currency {
			return -1
		}
		return 1
	})
	return list, nil
}

// decide sets what a payout would pay now.
func (b *Balance) decide(terms *ledger.Terms) {
	if terms != nil {
		b.Smallest = terms.Smallest[b.Currency]
	}
	switch {
	case terms == nil:
		b.Reason = NoTerms
	case b.Payable < 0:
		b.Reason = Negative
	case b.Payable == 0:
		b.Reason = NothingDue
	case b.Payable < b.Smallest:
		b.Reason = BelowSmallest
	default:
		b.Next = b.Payable
	}
}

// Sales returns a page of the sales of a partner; see ledger.FindEarned.
func (s *Store) Sales(ctx context.Context, partnerID, before int64, limit int) ([]ledger.Earned, int64, error) {
	return ledger.FindEarned(ctx, s.DB, partnerID, before, limit)
}
