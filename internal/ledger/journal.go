package ledger

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"claviger/internal/partner"
	"claviger/internal/sqldb"
)

// Book posts what happens to the sales of one partner, in a transaction that holds the lock of the
// partner.
type Book struct {
	tx        *sqldb.Tx
	partnerID int64
	now       time.Time
	terms     []Terms
	defaults  Defaults
	days      int // the refund_days of the product

	sales    []*stored // changed or new
	postings []Posting
	changes  balances
}

// Opening is a Book whose queries are queued.
type Opening struct {
	tx       *sqldb.Tx
	partner  int64
	defaults Defaults
	terms    *sqldb.Result[Terms]
	days     *sqldb.Result[int]
}

// Queue queues the queries for a Book, so that they share a round trip.
func Queue(tx *sqldb.Tx, partnerID int64, d Defaults) *Opening {
	return &Opening{
		tx: tx, partner: partnerID, defaults: d,
		terms: queueTerms(tx, partnerID),
		days:  partner.QueueRefundDays(tx, partnerID),
	}
}

// Open waits for the queries. now is the time of the transaction.
func (o *Opening) Open(ctx context.Context, now time.Time) (*Book, error) {
	b := &Book{tx: o.tx, partnerID: o.partner, now: now, defaults: o.defaults}
	var err error
	if b.terms, err = o.terms.All(ctx); err != nil {
		return nil, fmt.Errorf("read the terms of partner %d: %w", o.partner, err)
	}
	b.days, err = o.days.One(ctx)
	if err != nil && !errors.Is(err, sqldb.ErrNone) {
		return nil, fmt.Errorf("read the refund days of partner %d: %w", o.partner, err)
	}
	return b, nil
}

// AddTerms adds terms of the partner. Terms that begin at no time begin now.
func (b *Book) AddTerms(t Terms) error {
	if t.BeginsAt.IsZero() {
		t.BeginsAt = b.now
	}
	if err := t.check(b.now); err != nil {
		return err
	}
	t.PartnerID = b.partnerID
	t.CreatedAt = b.now
	b.terms = append(b.terms, t)
	slices.SortStableFunc(b.terms, func(x, y Terms) int { return y.BeginsAt.Compare(x.BeginsAt) })
	return t.insert(b.tx)
}

// Purchase is a sale that is posted.
type Purchase struct {
	ID        int64
	Tier      int
	Amount    int64
	Currency  string
	Collected Collector
	SoldAt    time.Time
}

// Sell posts a sale with the terms of now. A sale without an amount posts nothing.
func (b *Book) Sell(p Purchase) {
	if p.Amount == 0 {
		return
	}
	s := &stored{
		Sale:       Sale{Gross: p.Amount, Currency: p.Currency, Collected: p.Collected},
		purchaseID: p.ID, partnerID: b.partnerID, tier: p.Tier, soldAt: p.SoldAt, isNew: true,
	}
	b.divide(s, current(b.terms, b.defaults, p.SoldAt))
	b.sales = append(b.sales, s)
	b.post(s, nil, Sold, strconv.FormatInt(p.ID, 10), p.Amount)
}

// divide divides a sale by terms, if there are any.
func (b *Book) divide(s *stored, t *Terms) {
	if t == nil {
		return
	}
	d := t.of(s.tier)
	s.Division = &d
	days := t.Days
	if days == refundDays {
		days = b.days
	}
	s.dueAt = s.soldAt.AddDate(0, 0, days)
	s.lookAt = s.dueAt
}

// change changes the state of a sale and posts the difference.
func (b *Book) change(s *stored, kind Kind, source string, change func(*Sale)) {
	before := s.Balances()
	kept := s.Gross - min(s.Back, s.Gross)
	change(&s.Sale)
	b.post(s, before, kind, source, s.Gross-min(s.Back, s.Gross)-kept)
}

// post adds a posting of the difference to what was posted. No difference is no posting.
func (b *Book) post(s *stored, before []Balance, kind Kind, source string, gross int64) {
	b.add(Posting{
		Kind: kind, Source: source, PurchaseID: s.purchaseID, Tier: s.tier, Gross: gross, Currency: s.Currency,
		Lines: difference(s.Balances(), before),
	})
}

// add adds a posting with lines.
func (b *Book) add(p Posting) {
	if len(p.Lines) == 0 {
		return
	}
	p.PartnerID = b.partnerID
	p.CreatedAt = b.now
	for _, l := range p.Lines {
		b.changes.add(l.Account, l.Currency, l.Amount)
	}
	b.postings = append(b.postings, p)
}

// load reads a sale under the lock of the partner; nil: it is not posted.
func (b *Book) load(ctx context.Context, purchaseID int64) (*stored, error) {
	for _, s := range b.sales {
		if s.purchaseID == purchaseID {
			return s, nil
		}
	}
	s, err := sqldb.One(ctx, b.tx, scanStored, `SELECT `+storedColumns+` FROM ledger_sales WHERE purchase_id = $1`,
		purchaseID)
	if errors.Is(err, sqldb.ErrNone) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read what is posted of purchase %d: %w", purchaseID, err)
	}
	b.sales = append(b.sales, &s)
	return &s, nil
}

// Return posts that a part of the licenses of a purchase are refunded: back of them, of all.
func (b *Book) Return(ctx context.Context, purchaseID int64, back, of int64, source string) error {
	s, err := b.load(ctx, purchaseID)
	if err != nil || s == nil {
		return err
	}
	amount := portion(s.Gross, back, of)
	kind := Refunded
	if amount < s.Back {
		kind = RefundFailed
	}
	b.change(s, kind, source, func(s *Sale) { s.Back = amount })
	return nil
}

// Save queues everything that was posted.
func (b *Book) Save() error {
	if len(b.postings) > 0 {
		if err := insertPostings(b.tx, b.postings); err != nil {
			return err
		}
		addBalances(b.tx, b.partnerID, b.changes)
	}
	saveStored(b.tx, b.sales)
	b.sales = nil
	b.postings = nil
	b.changes = nil
	return nil
}
