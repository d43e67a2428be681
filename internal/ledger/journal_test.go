package ledger_test

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"claviger/internal/fault"
	"claviger/internal/ledger"
	"claviger/internal/sqldb"
	"claviger/internal/sqldb/sqldbtest"
)

var noon = time.Date(2026, 3, 4, 12, 0, 0, 0, time.UTC)

// Sales count from these moments: no sale is settled, or all are.
var (
	past   = noon.AddDate(-10, 0, 0)
	future = noon.AddDate(10, 0, 0)
)

const partnerID = 1

// books opens journals of one partner, one transaction after the other.
type books struct {
	t   *testing.T
	db  *sqldb.DB
	now time.Time
	ledger.Defaults
}

func newBooks(t *testing.T) *books {
	return &books{t: t, db: sqldbtest.Open(t), now: noon}
}

// write posts in one transaction.
func (b *books) write(do func(context.Context, *ledger.Journal) error) error {
	b.now = b.now.Add(time.Second)
	ctx := b.t.Context()
	return b.db.Write(ctx, func(tx *sqldb.Tx) error {
		j, err := ledger.Queue(tx, partnerID, b.Defaults).Open(ctx, b.now)
		if err != nil {
			return err
		}
		if err := do(ctx, j); err != nil {
			return err
		}
		return j.Save()
	})
}

// must is write without a refusal.
func (b *books) must(do func(context.Context, *ledger.Journal) error) {
	b.t.Helper()
	if err := b.write(do); err != nil {
		b.t.Fatal(err)
	}
}

// terms are terms from now on.
func (b *books) terms(t ledger.Terms) {
	b.t.Helper()
	b.must(func(_ context.Context, j *ledger.Journal) error { return j.AddTerms(t) })
}

// balances returns what the accounts have, by "account currency".
func (b *books) balances() map[string]int64 {
	b.t.Helper()
	list, err := ledger.Balances(b.t.Context(), b.db, partnerID)
	if err != nil {
		b.t.Fatal(err)
	}
	got := map[string]int64{}
	for _, l := range list {
		got[string(l.Account)+" "+l.Currency] = l.Amount
	}
	return got
}

// want compares balances, and checks the ledger.
func (b *books) want(want map[string]int64) {
	b.t.Helper()
	if got := b.balances(); !maps.Equal(got, want) {
		b.t.Errorf("balances %v, want %v", got, want)
	}
	b.check()
}

// check fails for each mistake in the ledger.
func (b *books) check() {
	b.t.Helper()
	for _, text := range b.found() {
		b.t.Error(text)
	}
}

func dollars(id, amount int64, at time.Time) ledger.Purchase {
	return ledger.Purchase{
		ID: id, Tier: 1, Amount: amount, Currency: "USD", Collected: ledger.ByProvider, SoldAt: at,
	}
}

func TestTermsCountForLaterSales(t *testing.T) {
	b := newBooks(t)
	sell := func(id int64, tier int) {
		b.must(func(_ context.Context, j *ledger.Journal) error {
			p := dollars(id, 1000, b.now)
			p.Tier = tier
			j.Sell(p)
			return nil
		})
	}
	sell(1, 1)
	b.want(map[string]int64{"provider USD": 1000, "undivided USD": -1000})
	b.Defaults = ledger.Defaults{Set: true, ShareBP: 5000}
	sell(2, 1)
	b.want(map[string]int64{"provider USD": 2000, "undivided USD": -1000, "share USD": -500, "margin USD": -500})
	b.terms(ledger.Terms{ShareBP: 7000, Plans: map[int]int64{2: 9000}, Bears: ledger.PartnerBears, Days: 0})
	b.terms(ledger.Terms{ShareBP: 1000, Bears: ledger.ByShare, Days: 0, BeginsAt: b.now.Add(time.Hour)})
	sell(3, 1)
	sell(4, 2)
	b.want(map[string]int64{"provider USD": 4000, "undivided USD": -1000, "share USD": -2100, "margin USD": -900})
	b.now = b.now.Add(2 * time.Hour)
	sell(5, 2)
	b.want(map[string]int64{"provider USD": 5000, "undivided USD": -1000, "share USD": -2200, "margin USD": -1800})
	b.must(func(ctx context.Context, j *ledger.Journal) error {
		more, err := j.Divide(ctx)
		if more {
			t.Error("more is to be divided")
		}
		return err
	})
	b.want(map[string]int64{"provider USD": 5000, "share USD": -2300, "margin USD": -2700})
	history, err := ledger.History(t.Context(), b.db, partnerID)
	if err != nil || len(history) != 2 || history[0].ShareBP != 1000 || history[1].Plans[2] != 9000 {
		t.Errorf("history %+v, %v", history, err)
	}
}

func TestTermsRefused(t *testing.T) {
	good := ledger.Terms{ShareBP: 7000, Bears: ledger.PartnerBears, Days: 14}
	for field, change := range map[string]func(*ledger.Terms){
		"share":                          func(t *ledger.Terms) { t.ShareBP = 10_001 },
		"plans":                          func(t *ledger.Terms) { t.Plans = map[int]int64{3: -1} },
		"fees":                           func(t *ledger.Terms) { t.Bears = "buyer" },
		"payable_after":                  func(t *ledger.Terms) { t.Days = 366 },
		"payable_after before the sale":  func(t *ledger.Terms) { t.Days = -2 },
		"share below nothing":            func(t *ledger.Terms) { t.ShareBP = -1 },
		"plans above the price":          func(t *ledger.Terms) { t.Plans = map[int]int64{1: 10_001} },
		"begins_at":                      func(t *ledger.Terms) { t.BeginsAt = noon },
		"smallest_payout":                func(t *ledger.Terms) { t.Smallest = map[string]int64{"USD": -1} },
		"smallest_payout of no currency": func(t *ledger.Terms) { t.Smallest = map[string]int64{"usd": 1} },
		"smallest_payout of ZZZ":         func(t *ledger.Terms) { t.Smallest = map[string]int64{"ZZZ": 1} },
		"plans of no tier":               func(t *ledger.Terms) { t.Plans = map[int]int64{0: 1} },
	} {
		field, _, _ = strings.Cut(field, " ")
		b := newBooks(t)
		bad := good
		change(&bad)
		err := b.write(func(_ context.Context, j *ledger.Journal) error { return j.AddTerms(bad) })
		if f := fault.Of(err); f == nil || f.Field != field {
			t.Errorf("%s: %v", field, err)
		}
		if list, err := ledger.History(t.Context(), b.db, partnerID); err != nil || len(list) != 0 {
			t.Errorf("%s: the terms are stored: %v, %v", field, list, err)
		}
	}
	b := newBooks(t)
	b.terms(ledger.Terms{
		Bears: ledger.PartnerBears, Days: -1, Plans: map[int]int64{1: 0, 2: 10_000}, Smallest: map[string]int64{"USD": 0},
	})
	b.terms(ledger.Terms{ShareBP: 10_000, Bears: ledger.PartnerBears, Days: 365})
}

func TestSettledSalesAddNothing(t *testing.T) {
	b := newBooks(t)
	b.terms(ledger.Terms{ShareBP: 7000, Bears: ledger.MarketplaceBears, Days: 0})
	refund := func(id, amount int64) {
		b.must(func(ctx context.Context, j *ledger.Journal) error {
			fact := ledger.Fact{Source: fmt.Sprint("re_", id, amount), State: ledger.MoneyBack, Amount: amount}
			return j.Follow(ctx, id, []ledger.Fact{fact})
		})
	}
	b.must(func(_ context.Context, j *ledger.Journal) error {
		j.Sell(dollars(1, 1000, b.now))
		j.Sell(dollars(2, 1000, b.now))
		return nil
	})
	refund(1, 1000)
	for range 2 { // the second adds nothing
		b.must(func(ctx context.Context, j *ledger.Journal) error {
			if err := j.Settle(ctx, future, 1); err != nil {
				return err
			}
			return j.Settle(ctx, future, 2)
		})
		b.want(map[string]int64{})
	}
	refund(2, 500)
	b.want(map[string]int64{"provider USD": -500, "payable USD": 350, "margin USD": 150})
}

func TestFactsInAnyOrder(t *testing.T) {
	b := newBooks(t)
	b.terms(ledger.Terms{ShareBP: 7000, Bears: ledger.MarketplaceBears, Days: 0})
	b.must(func(_ context.Context, j *ledger.Journal) error {
		j.Sell(dollars(1, 1000, b.now))
		j.Sell(ledger.Purchase{ID: 2, Tier: 1, Currency: "USD", Collected: ledger.ByProvider}) // free
		return nil
	})
	steps := []struct {
		fact ledger.Fact
		want map[string]int64
	}{
		{
			ledger.Fact{Source: "dp_1", State: ledger.UnderReview, Amount: 1000},
			map[string]int64{"provider USD": 1000, "disputed USD": -700, "margin USD": -300},
		},
		{
			ledger.Fact{Source: "re_1", State: ledger.NoMoney, Amount: 1000},
			map[string]int64{"provider USD": 1000, "disputed USD": -700, "margin USD": -300},
		},
		{
			ledger.Fact{Source: "dp_1", State: ledger.NoMoney, Amount: 1000},
			map[string]int64{"provider USD": 1000, "share USD": -700, "margin USD": -300},
		},
		{ledger.Fact{Source: "dp_1", State: ledger.MoneyLost, Amount: 1000}, map[string]int64{}},
		{
			ledger.Fact{Source: "re_1", State: ledger.MoneyBack, Amount: 1000}, // the same money twice
			map[string]int64{"provider USD": -1000, "margin USD": 1000},
		},
		{ledger.Fact{Source: "dp_1", State: ledger.NoMoney, Amount: 1000}, map[string]int64{}},
		{
			ledger.Fact{Source: "re_1", State: ledger.NoMoney, Amount: 1000},
			map[string]int64{"provider USD": 1000, "share USD": -700, "margin USD": -300},
		},
	}
	for _, step := range steps {
		for range 2 {
			b.must(func(ctx context.Context, j *ledger.Journal) error {
				for _, id := range []int64{1, 2, 3} { // a free sale and an unknown one have no facts
					if err := j.Follow(ctx, id, []ledger.Fact{step.fact}); err != nil {
						return err
					}
				}
				return nil
			})
			b.want(step.want)
		}
	}
	var kinds []string
	err := b.db.Read(t.Context(), func(tx *sqldb.Tx) (err error) {
		kinds, err = sqldb.All(t.Context(), tx, sqldb.Value[string], `SELECT kind || ' ' || source FROM ledger_postings
			WHERE purchase_id = 1 ORDER BY id`)
		return err
	})
	want := []string{
		"sale 1", "dispute_opened dp_1", "dispute_won dp_1#2", "dispute_lost dp_1#3", "refund re_1", "dispute_won dp_1#4",
		"refund_failed re_1#2",
	}
	if err != nil || !slices.Equal(kinds, want) {
		t.Errorf("postings %q, %v, want %q", kinds, err, want)
	}
}

// TestRandomLives compares the balances after random lives of many sales with those of a model that
// moves amounts from account to account, as a person would with a spreadsheet.
func TestRandomLives(t *testing.T) {
	b := newBooks(t)
	random := rand.New(rand.NewPCG(7, 8))
	m := model{accounts: map[string]int64{}, random: random}
	for id := int64(1); id <= 400; id++ {
		if id == 60 || id%97 == 0 {
			m.share = 1 + random.Int64N(10_000)
			m.bears = []ledger.Bearer{ledger.MarketplaceBears, ledger.PartnerBears, ledger.ByShare}[random.IntN(3)]
			b.terms(ledger.Terms{ShareBP: m.share, Bears: m.bears, Days: 0})
		}
		s := m.sell(id)
		b.must(func(_ context.Context, j *ledger.Journal) error { j.Sell(s.Purchase); return nil })
		for range 6 {
			s = m.sales[random.IntN(len(m.sales))]
			if act := m.act(s); act != nil {
				for range 1 + random.IntN(2) { // often twice
					b.must(act)
				}
			}
		}
		if id%50 == 0 {
			b.want(m.written())
		}
	}
	for _, s := range m.sales {
		m.divide(s)
	}
	b.must(func(ctx context.Context, j *ledger.Journal) error { _, err := j.Divide(ctx); return err })
	b.want(m.written())
}
