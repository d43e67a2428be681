package revenue_test

import (
	"cmp"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	diff "github.com/google/go-cmp/cmp"

	"claviger/internal/ledger"
	"claviger/internal/revenue"
	"claviger/internal/sqldb"
	"claviger/internal/sqldb/sqldbtest"
)

// model knows the sales, and adds them up as a person would.
type model struct {
	random *rand.Rand
	bp     map[int64]int64 // the share of each partner with terms
	bears  map[int64]ledger.Bearer
	sales  []*modelSale
	facts  int
	days   map[string]revenue.Sums // revenue and refunds by day and currency
}

// modelSale is a sale of the model.
type modelSale struct {
	ledger.Purchase
	partnerID int64
	bp        int64 // the partner's share; -1: not divided
	back      int64
	fee       int64
	settled   bool
}

func newModel(random *rand.Rand) *model {
	return &model{
		random: random, bp: map[int64]int64{}, bears: map[int64]ledger.Bearer{}, days: map[string]revenue.Sums{},
	}
}

// act does one random thing.
func (m *model) act(b *books) {
	n := m.random.IntN(10)
	if n < 5 || len(m.sales) == 0 {
		m.sell(b)
		return
	}
	s := m.sales[m.random.IntN(len(m.sales))]
	switch n {
	case 5, 6:
		m.refund(b, s)
	case 7:
		m.takeFee(b, s)
	case 8:
		s.settled = true
		b.post(s.partnerID, func(j *ledger.Journal) error { return j.Settle(b.Context(), b.now.Add(time.Hour), s.ID) })
	case 9:
		if m.random.IntN(4) == 0 {
			m.divide(b, 1+m.random.Int64N(3))
		}
	}
}

// count adds to the sums of today.
func (m *model) count(b *books, currency string, s revenue.Sums) {
	key := b.now.Format("2 Jan ") + currency
	sum := m.days[key]
	sum.Plus(s)
	m.days[key] = sum
}

func (m *model) sell(b *books) {
	by := []ledger.Collector{ledger.ByProvider, ledger.ByProvider, ledger.ByMarketplace, ledger.ByPartner}
	s := &modelSale{partnerID: 1 + m.random.Int64N(3), Purchase: ledger.Purchase{
		ID: int64(len(m.sales) + 1), Tier: 1 + m.random.IntN(2), Amount: 1 + m.random.Int64N(10_000), SoldAt: b.now,
		Currency:  []string{"USD", "EUR"}[m.random.IntN(2)],
		Collected: by[m.random.IntN(len(by))],
	}}
	s.bp = cmp.Or(m.bp[s.partnerID], -1)
	m.sales = append(m.sales, s)
	b.post(s.partnerID, func(j *ledger.Journal) error { j.Sell(s.Purchase); return nil })
	m.count(b, s.Currency, revenue.Sums{Sales: 1, Revenue: s.Amount})
}

// refund refunds or disputes money; half of the disputes are lost immediately.
func (m *model) refund(b *books, s *modelSale) {
	if s.back == s.Amount {
		return
	}
	amount := 1 + m.random.Int64N(s.Amount-s.back)
	m.facts++
	fact := ledger.Fact{Source: fmt.Sprint("fact_", m.facts), State: ledger.MoneyBack, Amount: amount}
	switch {
	case s.Collected != ledger.ByProvider:
		if s.back > 0 {
			return
		}
		amount = s.Amount * 1 / 2
		b.post(s.partnerID, func(j *ledger.Journal) error {
			return j.Return(b.Context(), s.ID, 1, 2, fact.Source, b.now)
		})
	case m.random.IntN(3) == 0:
		fact.State = ledger.UnderReview
		b.follow(s.partnerID, s.ID, fact)
		fact.State = ledger.MoneyLost
		if m.random.IntN(2) == 0 {
			fact.State = ledger.NoMoney
			amount = 0
		}
		b.follow(s.partnerID, s.ID, fact)
	default:
		b.follow(s.partnerID, s.ID, fact)
	}
	s.back += amount
	if amount > 0 {
		m.count(b, s.Currency, revenue.Sums{Refunds: amount})
	}
}

func (m *model) takeFee(b *books, s *modelSale) {
	if s.fee > 0 || s.Collected != ledger.ByProvider || s.settled {
		return
	}
	s.fee = 1 + m.random.Int64N(100)
	fee := ledger.Fee{
		Source: fmt.Sprint("txn_", s.ID), Amount: s.fee, Currency: "USD", Rate: ledger.Ratio{Num: 1, Den: 1}, At: b.now,
	}
	b.post(s.partnerID, func(j *ledger.Journal) error { return j.TakeFee(b.Context(), s.ID, fee) })
}

// divide gives a partner new terms, and divides earlier sales by them.
func (m *model) divide(b *books, partnerID int64) {
	m.bp[partnerID] = 1 + m.random.Int64N(10_000)
	if m.bears[partnerID] == "" { // it stays: sales do not remember it here
		m.bears[partnerID] = []ledger.Bearer{ledger.MarketplaceBears, ledger.PartnerBears}[m.random.IntN(2)]
	}
	b.terms(partnerID, m.bp[partnerID], m.bears[partnerID])
	b.post(partnerID, func(j *ledger.Journal) error { _, err := j.Divide(b.Context()); return err })
	for _, s := range m.sales {
		if s.partnerID == partnerID && s.bp < 0 {
			s.bp = m.bp[partnerID]
		}
	}
}

// totals returns the sums of a partner, by currency.
func (m *model) totals(partnerID int64) map[string]revenue.Sums {
	all := map[string]revenue.Sums{}
	for _, s := range m.sales {
		if s.partnerID != partnerID {
			continue
		}
		of := revenue.Sums{Sales: 1, Revenue: s.Amount, Refunds: s.back}
		if s.Collected == ledger.ByPartner {
			of.Direct = s.Amount - s.back
		}
		if s.bp < 0 {
			of.Undivided = s.Amount - s.back
		} else {
			share := s.Amount * s.bp / 10_000
			of.Share = share - share*s.back/s.Amount
			if m.bears[partnerID] == ledger.PartnerBears {
				of.Borne = s.fee
			}
		}
		of.Plus(all[s.Currency])
		all[s.Currency] = of
		fees := all["USD"]
		fees.Fees += s.fee
		all["USD"] = fees
	}
	return all
}

// check compares the sums.
func (m *model) check(b *books, when string) {
	b.Helper()
	for partnerID := int64(1); partnerID <= 3; partnerID++ {
		got := map[string]revenue.Sums{}
		for _, by := range []revenue.By{revenue.ByPlan, revenue.ByPartner} {
			clear(got)
			report, err := b.store.Read(b.Context(), revenue.Query{By: by, First: noon, Last: b.now})
			b.must(err)
			for _, r := range report.Rows {
				if r.PartnerID == partnerID {
					r.Plus(got[r.Currency])
					got[r.Currency] = r.Sums
				}
			}
			if d := diff.Diff(m.totals(partnerID), got); d != "" {
				b.Errorf("%s, partner %d (-want +got)\n%s", when, partnerID, d)
			}
		}
	}
	got := b.days(0)
	for key, s := range got {
		if s = (revenue.Sums{Sales: s.Sales, Revenue: s.Revenue, Refunds: s.Refunds}); s == (revenue.Sums{}) {
			delete(got, key)
		} else {
			got[key] = s
		}
	}
	if d := diff.Diff(m.days, got); d != "" {
		b.Errorf("%s, by day (-want +got)\n%s", when, d)
	}
}

// checkSpans compares the sums of plans with those of days, in random spans: the former read blocks of days.
func (m *model) checkSpans(b *books) {
	b.Helper()
	for range 50 {
		q := revenue.Query{PartnerID: 1 + m.random.Int64N(3), First: noon.AddDate(0, 0, m.random.IntN(90))}
		q.Last = q.First.AddDate(0, 0, m.random.IntN(60))
		days, err := b.store.Read(b.Context(), q)
		b.must(err)
		q.By = revenue.ByPlan
		plans, err := b.store.Read(b.Context(), q)
		b.must(err)
		if d := diff.Diff(revenue.Totals(days.Rows), revenue.Totals(plans.Rows)); d != "" {
			b.Errorf("from %v to %v (-days +plans)\n%s", q.First, q.Last, d)
		}
	}
}

// TestRandom: random lives of sales, counted in random batches by two nodes that are killed now and then,
// have the sums of a model that knows only the sales.
func TestRandom(t *testing.T) {
	b := newBooks(t)
	random := rand.New(rand.NewPCG(5, 6))
	m := newModel(random)
	var killed atomic.Int64
	nodes := []*node{b.node(&killed), b.node(&killed)}
	for range 400 {
		b.now = b.now.Add(time.Duration(random.Int64N(int64(12 * time.Hour))))
		m.act(b)
		if random.IntN(4) == 0 {
			var both sync.WaitGroup
			for i, most := range []int{1 + random.IntN(9), 1 + random.IntN(9)} {
				nodes[i].left.Store(random.Int64N(20))
				both.Go(func() {
					if _, err := nodes[i].store.CountSome(t.Context(), most); err != nil && !errors.Is(err, errKilled) {
						t.Error(err)
					}
				})
			}
			both.Wait()
		}
	}
	m.check(b, "before the rest is counted")
	b.count()
	m.check(b, "after all is counted")
	m.checkSpans(b)
	if killed.Load() < 10 {
		t.Errorf("killed %d times", killed.Load())
	}
}

var errKilled = errors.New("killed")

// node is a node that is killed at a statement.
type node struct {
	store *revenue.Store
	left  atomic.Int64 // statements until then
}

func (b *books) node(killed *atomic.Int64) *node {
	b.Helper()
	n := &node{}
	db := sqldbtest.OpenWith(b.T, b.at, sqldb.Options{Cut: func(sql string) error {
		// Killed nodes need no rollback; these would wait for one.
		if strings.HasPrefix(sql, "ROLLBACK") || n.left.Add(-1) != 0 {
			return nil
		}
		killed.Add(1)
		return errKilled
	}})
	n.store = &revenue.Store{DB: db, Now: b.store.Now}
	return n
}

// TestInFlight: a posting of a transaction in flight counts once it commits, also if later ones count
// before.
func TestInFlight(t *testing.T) {
	if !sqldbtest.Postgres() {
		t.Skip("on SQLite nobody writes meanwhile")
	}
	b := newBooks(t)
	posted := make(chan struct{})
	release := make(chan struct{})
	var slow sync.WaitGroup
	slow.Go(func() {
		err := b.store.DB.Write(t.Context(), func(tx *sqldb.Tx) error {
			j := ledger.New(tx, 1, b.now)
			j.Sell(ledger.Purchase{ID: 1, Tier: 1, Amount: 10, Currency: "USD", Collected: ledger.ByProvider, SoldAt: noon})
			if err := j.Save(); err != nil {
				return err
			}
			if _, err := sqldb.One(t.Context(), tx, sqldb.Value[int64], `SELECT 1`); err != nil {
				return err
			}
			close(posted)
			<-release
			return nil
		})
		if err != nil {
			t.Error(err)
		}
	})
	<-posted
	b.sell(2, 2, 100, ledger.ByProvider)
	b.count()
	b.sell(2, 3, 1000, ledger.ByProvider)
	b.count()
	close(release)
	slow.Wait()
	b.want(0, map[string]revenue.Sums{"4 Mar USD": {Sales: 3, Revenue: 1110, Undivided: 1110}})
}
