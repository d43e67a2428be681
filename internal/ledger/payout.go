package ledger

import (
	"context"
	"errors"
	"fmt"

	"claviger/internal/sqldb"
)

// Reserve posts that a payout run reserves an amount of the payable balance. The source names the
// payout; Pay and Release take the same.
func (j *Journal) Reserve(source string, amount int64, currency string) error {
	return j.move(PayoutReserved, source, amount, currency, Payable, InPayout)
}

// Pay posts that a reserved amount was paid.
func (j *Journal) Pay(source string, amount int64, currency string) error {
	return j.move(PayoutPaid, source, amount, currency, InPayout, Paid)
}

// Release posts that a reserved amount is payable again.
func (j *Journal) Release(source string, amount int64, currency string) error {
	return j.move(PayoutReleased, source, amount, currency, InPayout, Payable)
}

// move posts that a debt to the partner moves to another account.
func (j *Journal) move(kind Kind, source string, amount int64, currency string, from, to Account) error {
	if amount <= 0 || source == "" {
		return errors.New("a payout has no amount or no name")
	}
	j.add(Posting{
		Kind: kind, Source: source, Currency: currency,
		Lines: []Balance{{from, amount, currency}, {to, -amount, currency}},
	})
	return nil
}

// Due is the debt to a partner that a payout may include. A negative amount is the partner's debt.
type Due struct {
	PartnerID int64
	Currency  string
	Amount    int64
}

// PayableBalances returns the debts that payouts in a currency may include, by partner; "" is every
// currency.
func PayableBalances(ctx context.Context, r sqldb.Reader, currency string) ([]Due, error) {
	list, err := sqldb.All(ctx, r, func(r *sqldb.Row, d *Due) error {
		return r.Scan(&d.PartnerID, &d.Currency, &d.Amount)
	}, `SELECT partner_id, currency, -amount FROM ledger_balances
		WHERE account = 'payable' AND amount <> 0 AND (currency = $1 OR $1 = '')
		ORDER BY partner_id, currency`, currency)
	if err != nil {
		return nil, fmt.Errorf("read the payable balances: %w", err)
	}
	return list, nil
}

// TermsOf returns all terms of partners, the latest first.
func TermsOf(ctx context.Context, r sqldb.Reader, partners []int64) (map[int64][]Terms, error) {
	list, err := sqldb.All(ctx, r, scanTerms, `SELECT `+termsColumns+` FROM ledger_terms WHERE partner_id = ANY($1)
		ORDER BY partner_id, begins_at DESC, id DESC`, partners)
	if err != nil {
		return nil, fmt.Errorf("read the terms of partners: %w", err)
	}
	of := map[int64][]Terms{}
	for _, t := range list {
		of[t.PartnerID] = append(of[t.PartnerID], t)
	}
	return of, nil
}
