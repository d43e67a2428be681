package revenue_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"claviger/internal/ledger"
	"claviger/internal/revenue"
	"claviger/internal/sqldb"
	"claviger/internal/sqldb/sqldbtest"
)

// noon is a Wednesday.
var noon = time.Date(2026, 3, 4, 12, 0, 0, 0, time.UTC)

// books has journals of partners, and counts them.
type books struct {
	*testing.T
	store *revenue.Store
	at    string // URL of the database
	now   time.Time
}

func newBooks(t *testing.T) *books {
	b := &books{T: t, at: sqldbtest.URL(t), now: noon}
	b.store = &revenue.Store{DB: sqldbtest.OpenWith(t, b.at, sqldb.Options{}), Now: func() time.Time { return b.now }}
	return b
}

func (b *books) must(err error) {
	b.Helper()
	if err != nil {
		b.Fatal(err)
	}
}

// post changes the ledger of a partner.
func (b *books) post(partnerID int64, do func(*ledger.Journal) error) {
	b.Helper()
	ctx := b.Context()
	b.must(b.store.DB.Write(ctx, func(tx *sqldb.Tx) error {
		j, err := ledger.Queue(tx, partnerID, ledger.Defaults{}).Open(ctx, b.now)
		if err != nil {
			return err
		}
		if err := do(j); err != nil {
			return err
		}
		return j.Save()
	}))
}

func (b *books) terms(partnerID, share int64, bears ledger.Bearer) {
	b.Helper()
	b.post(partnerID, func(j *ledger.Journal) error { return j.AddTerms(ledger.Terms{ShareBP: share, Bears: bears}) })
}

func (b *books) sell(partnerID, id, amount int64, by ledger.Collector) {
	b.Helper()
	b.post(partnerID, func(j *ledger.Journal) error {
		j.Sell(ledger.Purchase{ID: id, Tier: 1, Amount: amount, Currency: "USD", Collected: by, SoldAt: b.now})
		return nil
	})
}

func (b *books) follow(partnerID, id int64, facts ...ledger.Fact) {
	b.Helper()
	for i := range facts {
		facts[i].At = b.now
	}
	b.post(partnerID, func(j *ledger.Journal) error { return j.Follow(b.Context(), id, facts) })
}

// count counts everything.
func (b *books) count() {
	b.Helper()
	for more := true; more; {
		var err error
		more, err = b.store.CountSome(b.Context(), 7)
		b.must(err)
	}
}

// days returns the sums since noon, by day and currency.
func (b *books) days(partnerID int64) map[string]revenue.Sums {
	b.Helper()
	report, err := b.store.Read(b.Context(), revenue.Query{PartnerID: partnerID, First: noon, Last: b.now})
	b.must(err)
	got := map[string]revenue.Sums{}
	for _, r := range report.Rows {
		got[r.Day.Format("2 Jan ")+r.Currency] = r.Sums
	}
	return got
}

// want compares the sums before and after they are counted.
func (b *books) want(partnerID int64, want map[string]revenue.Sums) {
	b.Helper()
	for _, when := range []string{"before", "after"} {
		if diff := cmp.Diff(want, b.days(partnerID)); diff != "" {
			b.Errorf("%s the sums are counted (-want +got)\n%s", when, diff)
		}
		b.count()
	}
}

// TestDays follows a sale: its refund, its fee in another currency, and a dispute that is lost. Money
// that a bank examines is not returned yet.
func TestDays(t *testing.T) {
	b := newBooks(t)
	b.terms(1, 7000, ledger.PartnerBears)
	b.terms(2, 5000, ledger.MarketplaceBears)
	b.sell(1, 1, 1000, ledger.ByProvider)
	b.sell(2, 2, 500, ledger.ByProvider)
	b.now = b.now.AddDate(0, 0, 1)
	fee := ledger.Fee{Source: "txn_1", Amount: 50, Currency: "EUR", Rate: ledger.Ratio{Num: 1000, Den: 900}, At: b.now}
	b.post(1, func(j *ledger.Journal) error { return j.TakeFee(t.Context(), 1, fee) })
	b.follow(1, 1, ledger.Fact{Source: "re_1", State: ledger.MoneyBack, Amount: 300})
	b.now = b.now.AddDate(0, 0, 1)
	b.follow(1, 1, ledger.Fact{Source: "dp_1", State: ledger.UnderReview, Amount: 700})
	want := map[string]revenue.Sums{
		"4 Mar USD": {Sales: 1, Revenue: 1000, Share: 700},
		"5 Mar USD": {Refunds: 300, Borne: 55, Share: -210},
		"5 Mar EUR": {Fees: 50},
	}
	for range 2 { // before and after they are counted
		report, err := b.store.Read(t.Context(), revenue.Query{First: noon.AddDate(0, 0, 1), Last: noon.AddDate(0, 0, 1)})
		b.must(err)
		if total := revenue.Totals(report.Rows); len(total) != 2 || total[1].Refunds != 300 || total[1].Revenue != 0 {
			t.Errorf("of the second day: %+v", total)
		}
		b.count()
	}
	b.want(1, want)
	b.now = b.now.AddDate(0, 0, 1)
	b.follow(1, 1, ledger.Fact{Source: "dp_1", State: ledger.MoneyLost, Amount: 700})
	want["7 Mar USD"] = revenue.Sums{Refunds: 700, Share: -490}
	b.want(1, want)
	b.follow(1, 1, ledger.Fact{Source: "dp_1", State: ledger.NoMoney, Amount: 700}) // won after all
	delete(want, "7 Mar USD")
	b.want(1, want)
	want["4 Mar USD"] = revenue.Sums{Sales: 2, Revenue: 1500, Share: 950}
	b.want(0, want)
	total := want["5 Mar USD"]
	total.Plus(want["4 Mar USD"])
	if net, earned, kept := total.Net(), total.Earned(), total.Kept(); net != 1200 || earned != 685 || kept != 515 {
		t.Errorf("net %d, earned %d, kept %d", net, earned, kept)
	}
}

// TestUndivided: sales without terms count as undivided on the day of the sale, until they are divided.
func TestUndivided(t *testing.T) {
	b := newBooks(t)
	b.sell(1, 1, 1000, ledger.ByMarketplace)
	b.now = b.now.AddDate(0, 0, 1)
	b.post(1, func(j *ledger.Journal) error { return j.Return(t.Context(), 1, 1, 4, "refund", b.now) })
	b.want(1, map[string]revenue.Sums{
		"4 Mar USD": {Sales: 1, Revenue: 1000, Undivided: 750}, "5 Mar USD": {Refunds: 250},
	})
	b.now = b.now.AddDate(0, 0, 9)
	b.terms(1, 6000, ledger.MarketplaceBears)
	b.post(1, func(j *ledger.Journal) error { _, err := j.Divide(t.Context()); return err })
	b.want(1, map[string]revenue.Sums{
		"4 Mar USD": {Sales: 1, Revenue: 1000, Share: 450}, "5 Mar USD": {Refunds: 250},
	})
}

// TestSettled: a sale that was settled elsewhere counts as any other, also if it is divided later.
func TestSettled(t *testing.T) {
	b := newBooks(t)
	b.sell(1, 1, 1000, ledger.ByMarketplace)
	b.post(1, func(j *ledger.Journal) error { return j.Settle(t.Context(), b.now.Add(time.Hour), 1) })
	b.want(1, map[string]revenue.Sums{"4 Mar USD": {Sales: 1, Revenue: 1000, Undivided: 1000}})
	b.now = b.now.AddDate(0, 0, 1)
	b.terms(1, 6000, ledger.MarketplaceBears)
	b.post(1, func(j *ledger.Journal) error { _, err := j.Divide(t.Context()); return err })
	want := map[string]revenue.Sums{"4 Mar USD": {Sales: 1, Revenue: 1000, Share: 600}}
	b.want(1, want)
	b.sell(1, 2, 500, ledger.ByMarketplace)
	b.post(1, func(j *ledger.Journal) error { return j.Settle(t.Context(), b.now.Add(time.Hour), 2) })
	want["5 Mar USD"] = revenue.Sums{Sales: 1, Revenue: 500, Share: 300}
	b.want(1, want)
}

// TestDirect: sales that the partner collects count, also if all of the price is the partner's.
func TestDirect(t *testing.T) {
	b := newBooks(t)
	b.terms(1, 10_000, ledger.PartnerBears)
	b.sell(1, 1, 1000, ledger.ByPartner)
	b.now = b.now.AddDate(0, 0, 1)
	b.terms(1, 7000, ledger.PartnerBears)
	b.sell(1, 2, 500, ledger.ByPartner)
	b.post(1, func(j *ledger.Journal) error { return j.Return(t.Context(), 1, 1, 2, "refund", b.now) })
	b.want(1, map[string]revenue.Sums{
		"4 Mar USD": {Sales: 1, Revenue: 1000, Direct: 1000, Share: 1000},
		"5 Mar USD": {Sales: 1, Revenue: 500, Refunds: 500, Share: -150},
	})
}

// TestNothingElse: adjustments and shares that become payable are no revenue.
func TestNothingElse(t *testing.T) {
	b := newBooks(t)
	b.terms(1, 7000, ledger.PartnerBears)
	b.post(1, func(j *ledger.Journal) error { return j.Adjust("adjustment:1", 500, "USD", "a gift") })
	b.want(1, map[string]revenue.Sums{})
	b.sell(1, 1, 1000, ledger.ByProvider)
	b.post(1, func(j *ledger.Journal) error { return j.MakePayable(t.Context(), 1) })
	b.want(1, map[string]revenue.Sums{"4 Mar USD": {Sales: 1, Revenue: 1000, Share: 700}})
}

// TestManyUncounted: a read tells up to when it has added postings.
func TestManyUncounted(t *testing.T) {
	b := newBooks(t)
	b.terms(1, 7000, ledger.PartnerBears)
	b.post(1, func(j *ledger.Journal) error {
		for id := int64(1); id <= 2500; id++ {
			at := noon.Add(time.Duration(id) * time.Second)
			j.Sell(ledger.Purchase{ID: id, Tier: 1, Amount: 1, Currency: "USD", Collected: ledger.ByProvider, SoldAt: at})
		}
		return nil
	})
	read := func() revenue.Report {
		report, err := b.store.Read(t.Context(), revenue.Query{First: noon, Last: noon})
		b.must(err)
		return report
	}
	if got := read(); got.Rows[0].Sales != 2000 || !got.CountedTo.Equal(noon.Add(2000*time.Second)) {
		t.Errorf("before they are counted: %+v", got)
	}
	if more, err := b.store.Count(t.Context()); err != nil || !more {
		t.Errorf("more %t, %v", more, err)
	}
	if got := read(); got.Rows[0].Sales != 2500 || !got.CountedTo.IsZero() {
		t.Errorf("after some are counted: %+v", got)
	}
}

// TestWalk: an export counts what is not counted, and has the rows of one partner or of all in batches.
func TestWalk(t *testing.T) {
	b := newBooks(t)
	var want []string
	for partnerID := int64(1); partnerID <= 3; partnerID++ {
		for n := range 3 {
			b.now = noon.AddDate(0, 0, n)
			b.sell(partnerID, partnerID*100+int64(n), 1000, ledger.ByProvider)
			want = append(want, fmt.Sprintf("%d %d", partnerID, b.now.Day()))
		}
	}
	walk := func(w revenue.Walk) (got []string) {
		t.Helper()
		for more := true; more; {
			list, left, err := b.store.Next(context.Background(), &w, 2)
			b.must(err)
			for _, r := range list {
				got = append(got, fmt.Sprintf("%d %d", r.PartnerID, r.Day.Day()))
			}
			more = left
		}
		return got
	}
	if diff := cmp.Diff(want, walk(revenue.Walk{})); diff != "" {
		t.Error(diff)
	}
	some := revenue.Walk{PartnerID: 2, From: noon, To: noon.AddDate(0, 0, 1)}
	if diff := cmp.Diff([]string{"2 5"}, walk(some)); diff != "" {
		t.Error(diff)
	}
}

// TestRecent: each period is compared with the one before.
func TestRecent(t *testing.T) {
	b := newBooks(t)
	b.terms(1, 7000, ledger.PartnerBears)
	sold := map[string]int64{ // noon is Wednesday, March 4
		"2026-01-31": 1, "2026-02-01": 2, "2026-02-22": 4, "2026-02-23": 8, "2026-03-01": 16, "2026-03-02": 32,
		"2026-03-03": 64, "2026-03-04": 128,
	}
	id := int64(0)
	b.post(1, func(j *ledger.Journal) error {
		for day, amount := range sold {
			at, err := time.Parse(time.DateOnly, day)
			b.must(err)
			id++
			j.Sell(ledger.Purchase{ID: id, Tier: 1, Amount: amount, Currency: "USD", Collected: ledger.ByProvider, SoldAt: at})
		}
		return nil
	})
	report, err := b.store.Recent(t.Context(), revenue.Query{PartnerID: 1})
	b.must(err)
	got := map[revenue.Period][2]int64{}
	for _, p := range revenue.Periods {
		of := report.List[0].Of[p]
		got[p] = [2]int64{of.Now.Revenue, of.Before.Revenue}
	}
	want := map[revenue.Period][2]int64{
		revenue.Today: {128, 64}, revenue.ThisWeek: {32 + 64 + 128, 8 + 16}, revenue.ThisMonth: {240, 2 + 4 + 8},
	}
	if diff := cmp.Diff(want, got); diff != "" || len(report.List) != 1 {
		t.Error(diff)
	}
}

// TestOwn: a partner sees the fees that it bears, and nothing of the others: no row in their currency.
func TestOwn(t *testing.T) {
	b := newBooks(t)
	b.terms(1, 7000, ledger.ByShare)
	b.sell(1, 1, 1000, ledger.ByProvider)
	fee := ledger.Fee{Source: "txn_1", Amount: 50, Currency: "EUR", Rate: ledger.Ratio{Num: 1, Den: 1}, At: b.now}
	b.post(1, func(j *ledger.Journal) error { return j.TakeFee(t.Context(), 1, fee) })
	own := revenue.Query{PartnerID: 1, First: noon, Last: noon, Own: true}
	want := []revenue.Sums{{Sales: 1, Revenue: 1000, Share: 700, Borne: 35}}
	sums := func(rows []revenue.Row) (list []revenue.Sums) {
		for _, r := range rows {
			list = append(list, r.Sums)
		}
		return list
	}
	for _, by := range []revenue.By{revenue.ByDay, revenue.ByPartner, revenue.ByPlan} {
		own.By = by
		report, err := b.store.Read(t.Context(), own)
		b.must(err)
		if diff := cmp.Diff(want, sums(report.Rows)); diff != "" {
			t.Error(diff)
		}
	}
	recent, err := b.store.Recent(t.Context(), own)
	b.must(err)
	if len(recent.List) != 1 || recent.List[0].Of[revenue.Today].Now != want[0] {
		t.Errorf("recent %+v", recent.List)
	}
	b.count()
	w := revenue.Walk{PartnerID: 1, Own: true}
	_, _, err = b.store.Next(t.Context(), &w, 10)
	b.must(err)
	rows, more, err := b.store.Next(t.Context(), &w, 10)
	b.must(err)
	if diff := cmp.Diff(want, sums(rows)); diff != "" || more {
		t.Error(diff, more)
	}
}
