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

// Journal posts sales of one partner and their later changes. Its transaction must hold the partner's
// lock.
type Journal struct {
	tx        *sqldb.Tx
	partnerID int64
	now       time.Time
	terms     []Terms
	defaults  Defaults
	days      int // the refund_days of the product

	sales    map[int64]*stored // by purchase; nil: it is not posted
	changed  []*stored
	postings []Posting
	changes  balances
}

// New returns a Journal without terms, for changes of posted sales. Sell and Divide need terms; see
// Queue. now is the time of the transaction.
func New(tx *sqldb.Tx, partnerID int64, now time.Time) *Journal {
	return &Journal{tx: tx, partnerID: partnerID, now: now, sales: map[int64]*stored{}}
}

// Opening is a Journal that waits for its queries.
type Opening struct {
	tx       *sqldb.Tx
	partner  int64
	defaults Defaults
	terms    *sqldb.Result[Terms]
	days     *sqldb.Result[int]
}

// Queue queues the queries for a Journal with terms, so that they share a round trip.
func Queue(tx *sqldb.Tx, partnerID int64, d Defaults) *Opening {
	return &Opening{
		tx: tx, partner: partnerID, defaults: d,
		terms: queueTerms(tx, partnerID),
		days:  partner.QueueRefundDays(tx, partnerID),
	}
}

// Open waits for the queries. now is the time of the transaction.
func (o *Opening) Open(ctx context.Context, now time.Time) (*Journal, error) {
	j := New(o.tx, o.partner, now)
	j.defaults = o.defaults
	var err error
	if j.terms, err = o.terms.All(ctx); err != nil {
		return nil, fmt.Errorf("read the terms of partner %d: %w", o.partner, err)
	}
	j.days, err = o.days.One(ctx)
	if err != nil && !errors.Is(err, sqldb.ErrNone) {
		return nil, fmt.Errorf("read the refund days of partner %d: %w", o.partner, err)
	}
	return j, nil
}

// AddTerms adds terms of the partner. Terms that begin at no time begin now.
func (j *Journal) AddTerms(t Terms) error {
	if t.BeginsAt.IsZero() {
		t.BeginsAt = j.now
	}
	if err := t.check(j.now); err != nil {
		return err
	}
	t.PartnerID = j.partnerID
	t.CreatedAt = j.now
	j.terms = slices.Insert(j.terms, 0, t) // of terms that begin together, the last ones count
	slices.SortStableFunc(j.terms, func(x, y Terms) int { return y.BeginsAt.Compare(x.BeginsAt) })
	return t.insert(j.tx)
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

// Sell posts a sale with the terms of its time. A sale without an amount posts nothing.
func (j *Journal) Sell(p Purchase) {
	if p.Amount == 0 {
		return
	}
	s := &stored{
		Sale:       Sale{Gross: p.Amount, Currency: p.Currency, Collected: p.Collected},
		purchaseID: p.ID, partnerID: j.partnerID, tier: p.Tier, soldAt: p.SoldAt, isNew: true,
		facts: map[string]*fact{},
	}
	if p.Collected == ByProvider {
		s.feeLookAt = j.now
	}
	j.divide(s, Current(j.terms, j.defaults, p.SoldAt))
	j.sales[p.ID] = s
	j.touch(s)
	j.post(s, before{}, Posting{Kind: Sold, Source: s.turn(), At: p.SoldAt, Gross: p.Amount})
}

// divide divides a sale by terms, if there are any.
func (j *Journal) divide(s *stored, t *Terms) {
	if t == nil {
		return
	}
	d := t.of(s.tier)
	s.Division = &d
	days := t.Days
	if days == RefundDays {
		days = j.days
	}
	s.dueAt = s.soldAt.AddDate(0, 0, days)
	if s.Settled == nil {
		s.lookAt = s.dueAt
	}
}

// touch notes that the row of a sale must be written.
func (j *Journal) touch(s *stored) {
	if !s.changed {
		s.changed = true
		j.changed = append(j.changed, s)
	}
}

// change changes the state of a sale and posts the difference.
func (j *Journal) change(s *stored, p Posting, change func(*Sale)) {
	before := s.before()
	kept := s.kept()
	change(&s.Sale)
	p.Gross = s.kept() - kept
	j.touch(s)
	j.post(s, before, p)
}

// before is what a posting subtracts: a sale before its change.
type before struct {
	balances []Balance
	parts    Parts
}

func (s *stored) before() before { return before{s.Balances(), s.Parts()} }

// post adds a posting of the difference to the sale before.
func (j *Journal) post(s *stored, was before, p Posting) {
	p.PurchaseID = s.purchaseID
	p.Tier = s.tier
	p.Currency = s.Currency
	p.Lines = difference(s.Balances(), was.balances)
	p.Parts = s.Parts().minus(was.parts)
	j.add(p)
}

// add adds a posting, unless neither a balance nor a report changes. Only reports change if a partner
// collects money that is all its own, and when a settled sale is divided.
func (j *Journal) add(p Posting) {
	if len(p.Lines) == 0 && p.Parts.Share == 0 && p.Parts.Undivided == 0 {
		return
	}
	p.PartnerID = j.partnerID
	p.CreatedAt = j.now
	if p.At.IsZero() {
		p.At = j.now
	}
	for _, l := range p.Lines {
		j.changes.add(l.Account, l.Currency, l.Amount)
	}
	j.postings = append(j.postings, p)
}

// Load reads posted purchases in one round trip. The other methods read those that are missing, one by
// one.
func (j *Journal) Load(ctx context.Context, purchases []int64) error {
	var ids []int64
	for _, id := range purchases {
		if _, known := j.sales[id]; !known {
			j.sales[id] = nil
			ids = append(ids, id)
		}
	}
	if ids == nil {
		return nil
	}
	list, err := readStored(ctx, j.tx, j.partnerID, ids)
	if err != nil {
		return err
	}
	for _, s := range list {
		j.sales[s.purchaseID] = s
	}
	return nil
}

// load returns a sale; nil: it is not posted.
func (j *Journal) load(ctx context.Context, purchaseID int64) (*stored, error) {
	err := j.Load(ctx, []int64{purchaseID})
	return j.sales[purchaseID], err
}

// Return posts the refund of some licenses of a purchase: back is their number, of is the number of all.
// It skips purchases that the provider was paid for: Follow posts their refunds.
func (j *Journal) Return(ctx context.Context, purchaseID int64, back, of int64, source string, at time.Time) error {
	s, err := j.load(ctx, purchaseID)
	if err != nil || s == nil || s.Collected == ByProvider {
		return err
	}
	amount := portion(s.Gross, Ratio{min(max(back, 0), of), of})
	kind := Refunded
	if amount < s.Back {
		kind = RefundFailed
	}
	if amount != s.Back {
		j.change(s, Posting{Kind: kind, Source: source, At: at}, func(s *Sale) { s.Back = amount })
	}
	return nil
}

// turn returns the source of a posting that has no source outside the ledger.
func (s *stored) turn() string {
	s.turns++
	name := strconv.FormatInt(s.purchaseID, 10)
	if s.turns > 1 {
		name += "#" + strconv.Itoa(s.turns)
	}
	return name
}

// Save queues all changes.
func (j *Journal) Save() error {
	if len(j.postings) > 0 {
		if err := insertPostings(j.tx, j.postings); err != nil {
			return err
		}
		addBalances(j.tx, j.partnerID, j.changes)
	}
	saveStored(j.tx, j.changed)
	j.sales = map[int64]*stored{}
	j.changed = nil
	j.postings = nil
	j.changes = nil
	return nil
}
