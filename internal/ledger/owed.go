package ledger

import (
	"context"
	"fmt"
	"math"

	"claviger/internal/paging"
	"claviger/internal/sqldb"
)

// owed are the accounts of the money that the marketplace owes to the partner.
var owed = map[Account]bool{Share: true, Payable: true, InPayout: true}

// Owed returns the change, by currency, of the amount that the marketplace owes to the partner. Debts of
// the partner are negative. Currencies without a change are left out.
func (p Posting) Owed() map[string]int64 {
	sums := map[string]int64{}
	for _, l := range p.Lines {
		if owed[l.Account] {
			sums[l.Currency] -= l.Amount
		}
	}
	for currency, sum := range sums {
		if sum == 0 {
			delete(sums, currency)
		}
	}
	return sums
}

// EachPosting calls fn with the postings of a partner after an id, in the order of their ids. That is the
// order in which they were committed, because their transactions hold the partner's lock.
func EachPosting(ctx context.Context, r sqldb.Reader, partnerID, after int64, fn func(Posting)) error {
	err := sqldb.Each(ctx, r, func(row *sqldb.Row) error {
		var p Posting
		if err := scanPosting(row, &p); err != nil {
			return err
		}
		fn(p)
		return nil
	}, `SELECT `+postingColumns+` FROM ledger_postings
		WHERE (partner_id, id) > ($1, $2) AND (partner_id, id) <= ($1, $3) ORDER BY partner_id, id`,
		partnerID, after, int64(math.MaxInt64))
	if err != nil {
		return fmt.Errorf("read the postings of partner %d: %w", partnerID, err)
	}
	return nil
}

// Span is a range of the postings of a partner: those that changed the owed amount in a currency.
type Span struct {
	PartnerID   int64
	Currency    string
	First, Last int64 // ids, inclusive
}

// FindSpan returns a page of a span, oldest first, after an id; 0 starts with the first. The result has
// the id after which the next page begins; 0: there is none. A page may have fewer postings than the
// limit, or none, although there is a next one: most of its postings do not change the owed amount.
func FindSpan(ctx context.Context, r sqldb.Reader, s Span, after int64, limit int) ([]Posting, int64, error) {
	// Chunks counts down, so it gets the negative ids.
	w := paging.Chunks[Posting]{
		High: -max(s.First, after+1), Limit: limit,
		At:   func(p Posting) int64 { return -p.ID },
		Fits: func(p Posting) bool { return p.Owed()[s.Currency] != 0 },
		Read: func(high int64, n int) ([]Posting, error) {
			return sqldb.All(ctx, r, scanPosting, `SELECT `+postingColumns+` FROM ledger_postings
				WHERE (partner_id, id) >= ($1, $2) AND (partner_id, id) <= ($1, $3)
				ORDER BY partner_id, id LIMIT $4`, s.PartnerID, -high, s.Last, n)
		},
	}
	list, next, _, err := w.Page()
	if err != nil {
		return nil, 0, fmt.Errorf("read postings of partner %d: %w", s.PartnerID, err)
	}
	return list, -next, nil
}
