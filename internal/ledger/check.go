package ledger

import (
	"context"
	"fmt"
	"math"

	"claviger/internal/sqldb"
)

// Balances returns the balances of a partner that are not zero.
func Balances(ctx context.Context, r sqldb.Reader, partnerID int64) ([]Balance, error) {
	list, err := sqldb.All(ctx, r, scanBalance, `SELECT account, amount, currency FROM ledger_balances
		WHERE partner_id = $1 AND amount <> 0 ORDER BY currency, account`, partnerID)
	if err != nil {
		return nil, fmt.Errorf("read the balances of partner %d: %w", partnerID, err)
	}
	return list, nil
}

// OfPartner is a balance with its partner.
type OfPartner struct {
	PartnerID int64
	Balance
}

// UndividedBalances returns balances of sales that are not divided, because the partner has no terms.
func UndividedBalances(ctx context.Context, r sqldb.Reader, most int) ([]OfPartner, error) {
	list, err := sqldb.All(ctx, r, func(r *sqldb.Row, b *OfPartner) error {
		return r.Scan(&b.PartnerID, (*string)(&b.Account), &b.Amount, &b.Currency)
	}, `SELECT partner_id, account, amount, currency FROM ledger_balances
		WHERE account = 'undivided' AND amount <> 0 ORDER BY partner_id, currency LIMIT $1`, most)
	if err != nil {
		return nil, fmt.Errorf("list the undivided balances: %w", err)
	}
	return list, nil
}

func scanBalance(r *sqldb.Row, b *Balance) error {
	return r.Scan((*string)(&b.Account), &b.Amount, &b.Currency)
}

// Partners returns the partners with balances or postings, by id.
func Partners(ctx context.Context, r sqldb.Reader) ([]int64, error) {
	// The recursion reads one posting per partner: all of a partner may be a million.
	list, err := sqldb.All(ctx, r, sqldb.Value[int64], `WITH RECURSIVE posted (id) AS (
			SELECT min(partner_id) FROM ledger_postings
			UNION ALL
			SELECT (SELECT min(p.partner_id) FROM ledger_postings AS p WHERE p.partner_id > posted.id)
				FROM posted WHERE posted.id IS NOT NULL
		)
		SELECT id FROM posted WHERE id IS NOT NULL UNION SELECT partner_id FROM ledger_balances ORDER BY 1`)
	if err != nil {
		return nil, fmt.Errorf("find the partners with postings: %w", err)
	}
	return list, nil
}

// Sum is an amount in a currency.
type Sum struct {
	Currency string
	Amount   int64
}

// Unbalanced returns the sum of all balances in each currency in which it is not zero, as it must be. It
// reads no posting.
func Unbalanced(ctx context.Context, r sqldb.Reader) ([]Sum, error) {
	list, err := sqldb.All(ctx, r, func(r *sqldb.Row, s *Sum) error { return r.Scan(&s.Currency, &s.Amount) },
		`SELECT currency, CAST(sum(amount) AS bigint) FROM ledger_balances
		GROUP BY currency HAVING sum(amount) <> 0 ORDER BY currency`)
	if err != nil {
		return nil, fmt.Errorf("add up the balances: %w", err)
	}
	return list, nil
}

// checkBatch is the number of sales per read.
const checkBatch = 1000

// Check verifies the ledger of a partner: postings sum to zero, balances are the sums of their lines, and
// the state of each sale agrees with its postings, refunds and disputes. It returns a sentence for each
// mistake.
func Check(ctx context.Context, tx *sqldb.Tx, partnerID int64) ([]string, error) {
	c := check{tx: tx, partnerID: partnerID}
	if err := c.postings(ctx, 0, 0); err != nil {
		return nil, err
	}
	for last, more := int64(0), true; more; {
		ids, err := sqldb.All(ctx, tx, sqldb.Value[int64], `SELECT purchase_id FROM ledger_sales
			WHERE partner_id = $1 AND purchase_id > $2 ORDER BY purchase_id LIMIT $3`, partnerID, last, checkBatch)
		if err != nil {
			return nil, fmt.Errorf("find the sales of partner %d: %w", partnerID, err)
		}
		upTo := int64(math.MaxInt64)
		if more = len(ids) == checkBatch; more {
			upTo = ids[len(ids)-1]
		}
		if err := c.batch(ctx, ids, last+1, upTo); err != nil {
			return nil, err
		}
		last = upTo
	}
	stored, err := Balances(ctx, tx, partnerID)
	if err != nil {
		return nil, err
	}
	for _, d := range difference(c.all, stored) {
		c.find("The balance %s in %s differs by %d from the sum of its postings.", d.Account, d.Currency, d.Amount)
	}
	return c.found, nil
}

// check is a check of one partner.
type check struct {
	tx        *sqldb.Tx
	partnerID int64
	all       balances           // the sums of all lines
	sales     map[int64]balances // the same of each purchase of the batch
	gross     map[int64]int64    // the sums of the buyers' payments, by purchase
	found     []string
}

// batch checks sales, and the postings of all purchases in the range of ids.
func (c *check) batch(ctx context.Context, ids []int64, from, to int64) error {
	list, err := readStored(ctx, c.tx, c.partnerID, ids)
	if err != nil {
		return err
	}
	if err := c.postings(ctx, from, to); err != nil {
		return err
	}
	for _, s := range list {
		back, disputed := s.sums()
		if s.Collected == ByProvider && (back != s.Back || disputed != s.Disputed) {
			c.find("Purchase %d has %d back and %d disputed; its refunds and disputes sum to %d and %d.",
				s.purchaseID, s.Back, s.Disputed, back, disputed)
		}
		for _, d := range difference(s.Balances(), c.sales[s.purchaseID]) {
			c.find(
				"%s of purchase %d differs by %d %s from its postings.", d.Account, s.purchaseID, d.Amount, d.Currency,
			)
		}
		if gross := c.gross[s.purchaseID]; gross != s.kept() {
			c.find("Purchase %d keeps %d of its price; its postings sum to %d.", s.purchaseID, s.kept(), gross)
		}
		delete(c.sales, s.purchaseID)
	}
	for id := range c.sales {
		c.find("Purchase %d has postings, and its state is missing.", id)
	}
	return nil
}

// postings adds up the postings of all purchases in the range of ids.
func (c *check) postings(ctx context.Context, from, to int64) error {
	c.sales = map[int64]balances{}
	c.gross = map[int64]int64{}
	err := sqldb.Each(ctx, c.tx, func(r *sqldb.Row) error {
		var p Posting
		if err := scanPosting(r, &p); err != nil {
			return err
		}
		c.posting(p)
		return nil
	}, `SELECT `+postingColumns+` FROM ledger_postings WHERE partner_id = $1 AND purchase_id BETWEEN $2 AND $3`,
		c.partnerID, from, to)
	if err != nil {
		return fmt.Errorf("read the postings of partner %d: %w", c.partnerID, err)
	}
	return nil
}

// posting adds up the lines of one posting.
func (c *check) posting(p Posting) {
	sums := map[string]int64{}
	sale := c.sales[p.PurchaseID]
	for _, l := range p.Lines {
		sums[l.Currency] += l.Amount
		c.all.add(l.Account, l.Currency, l.Amount)
		sale.add(l.Account, l.Currency, l.Amount)
	}
	c.sales[p.PurchaseID] = sale
	c.gross[p.PurchaseID] += p.Gross
	for currency, sum := range sums {
		if sum != 0 {
			c.find("Posting %d sums to %d %s instead of 0.", p.ID, sum, currency)
		}
	}
}

func (c *check) find(format string, args ...any) {
	c.found = append(c.found, fmt.Sprintf(format, args...))
}

// difference subtracts the second balances from the first.
func difference(first, second []Balance) []Balance {
	var d balances
	for _, b := range first {
		d.add(b.Account, b.Currency, b.Amount)
	}
	for _, b := range second {
		d.add(b.Account, b.Currency, -b.Amount)
	}
	return d.written()
}
