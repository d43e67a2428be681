package ledger_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"claviger/internal/fault"
	"claviger/internal/ledger"
	"claviger/internal/sqldb"
)

// TestSettledBeforeDivided settles sales of a partner without terms. What happens to them later counts,
// and the first terms divide it.
func TestSettledBeforeDivided(t *testing.T) {
	b := newBooks(t)
	b.must(func(ctx context.Context, j *ledger.Journal) error {
		j.Sell(dollars(1, 1000, noon))
		return j.Settle(ctx, 1)
	})
	b.want(map[string]int64{})
	b.must(func(ctx context.Context, j *ledger.Journal) error {
		return j.Follow(ctx, 1, []ledger.Fact{{Source: "re_1", State: ledger.MoneyBack, Amount: 500}})
	})
	b.want(map[string]int64{"provider USD": -500, "undivided USD": 500})
	b.terms(ledger.Terms{ShareBP: 7000, Bears: ledger.MarketplaceBears, Days: 0})
	for range 2 {
		b.must(func(ctx context.Context, j *ledger.Journal) error { _, err := j.Divide(ctx); return err })
		b.want(map[string]int64{"provider USD": -500, "payable USD": 350, "margin USD": 150})
	}
	if n := b.count(`SELECT count(*) FROM ledger_sales WHERE look_at <> 0 OR fee_look_at <> 0`); n != 0 {
		t.Error("a settled sale waits for something")
	}
	for range 2 { // an earlier moment from which sales count
		b.must(func(ctx context.Context, j *ledger.Journal) error { return j.Unsettle(ctx, 1) })
		b.want(map[string]int64{"provider USD": 500, "share USD": -350, "margin USD": -150})
	}
	b.must(func(ctx context.Context, j *ledger.Journal) error { return j.Settle(ctx, 1) })
	b.want(map[string]int64{})
}

// count returns a number that is stored.
func (b *books) count(query string) int64 {
	b.t.Helper()
	n, err := sqldb.One(b.t.Context(), b.db, sqldb.Value[int64], query)
	if err != nil {
		b.t.Fatal(err)
	}
	return n
}

// TestFees posts each fee once, in the currency of the settlement. The fee of a settled payment was
// settled with it, that of its dispute was not.
func TestFees(t *testing.T) {
	b := newBooks(t)
	b.terms(ledger.Terms{ShareBP: 7000, Bears: ledger.PartnerBears, Days: 0})
	b.must(func(_ context.Context, j *ledger.Journal) error {
		j.Sell(dollars(1, 1000, b.now))
		j.Sell(dollars(2, 1000, b.now))
		return nil
	})
	b.must(func(ctx context.Context, j *ledger.Journal) error { return j.Settle(ctx, 2) })
	payment := ledger.Fee{Amount: 50, Currency: "EUR", Rate: ledger.Ratio{Num: 1000, Den: 900}}
	dispute := ledger.Fee{Amount: 1500, Currency: "EUR", Rate: ledger.Ratio{Num: 1000, Den: 900}, Dispute: true}
	back := dispute
	back.Amount = -1500
	take := func(purchase int64, fees ...ledger.Fee) {
		for range 2 {
			b.must(func(ctx context.Context, j *ledger.Journal) error {
				for i, f := range fees {
					f.Source = fmt.Sprint("txn_", purchase, "_", f.Dispute, i)
					if err := j.TakeFee(ctx, purchase, f); err != nil {
						return err
					}
				}
				return nil
			})
		}
	}
	take(1, payment)
	one := map[string]int64{
		"provider USD": 1000, "provider EUR": -50, "fees EUR": 50, "fees USD": -55, "share USD": -645, "margin USD": -300,
	}
	b.want(one)
	take(2, payment)
	b.want(one)
	take(2, dispute)
	b.want(map[string]int64{
		"provider USD": 1000, "provider EUR": -1550, "fees EUR": 1550, "fees USD": -1721, "share USD": -645,
		"payable USD": 1666, "margin USD": -300,
	})
	take(2, dispute, back)
	b.want(one)
	err := b.write(func(ctx context.Context, j *ledger.Journal) error {
		return j.TakeFee(ctx, 1, ledger.Fee{Source: "txn_9", Amount: 1, Currency: "EUR"})
	})
	if err == nil {
		t.Error("a fee without a rate is posted")
	}
}

// TestMoreBackThanPaid: a refund and a lost dispute of the same money cost the marketplace.
func TestMoreBackThanPaid(t *testing.T) {
	b := newBooks(t)
	b.must(func(ctx context.Context, j *ledger.Journal) error {
		j.Sell(dollars(1, 1000, noon))
		return j.Follow(ctx, 1, []ledger.Fact{
			{Source: "re_1", State: ledger.MoneyBack, Amount: 400},
			{Source: "dp_1", State: ledger.MoneyLost, Amount: 1000},
			{Source: "re_2", State: ledger.MoneyBack, Amount: -1},
		})
	})
	want := map[string]int64{"provider USD": -400, "margin USD": 400}
	b.want(want)
	if n := b.count(`SELECT sum(gross) FROM ledger_postings`); n != -400 {
		t.Errorf("the buyers paid %d", n)
	}
	b.terms(ledger.Terms{ShareBP: 7000, Bears: ledger.MarketplaceBears, Days: 0})
	b.must(func(ctx context.Context, j *ledger.Journal) error { _, err := j.Divide(ctx); return err })
	b.want(want)
}

// TestReturn: the licenses of a sale say how much of it is back, unless a provider took the money.
func TestReturn(t *testing.T) {
	b := newBooks(t)
	b.Defaults = ledger.Defaults{Set: true, ShareBP: 7000}
	b.must(func(_ context.Context, j *ledger.Journal) error {
		j.Sell(dollars(1, 1000, noon))
		p := dollars(2, 1000, noon)
		p.Collected = ledger.ByMarketplace
		j.Sell(p)
		return nil
	})
	for i, step := range []struct {
		back int64
		want map[string]int64
	}{
		{1, map[string]int64{"provider USD": 1000, "external USD": 667, "share USD": -1167, "margin USD": -500}},
		{1, map[string]int64{"provider USD": 1000, "external USD": 667, "share USD": -1167, "margin USD": -500}},
		{4, map[string]int64{"provider USD": 1000, "share USD": -700, "margin USD": -300}},
		{-1, map[string]int64{"provider USD": 1000, "external USD": 1000, "share USD": -1400, "margin USD": -600}},
	} {
		b.must(func(ctx context.Context, j *ledger.Journal) error {
			for id := int64(1); id <= 3; id++ {
				if err := j.Return(ctx, id, step.back, 3, fmt.Sprint("refund:", i, ":", id), noon); err != nil {
					return err
				}
			}
			return nil
		})
		b.want(step.want)
	}
}

func TestAdjust(t *testing.T) {
	b := newBooks(t)
	for field, c := range map[string]struct {
		amount           int64
		currency, reason string
	}{
		"amount":                        {0, "EUR", "a bonus"},
		"currency":                      {1, "Euro", "a bonus"},
		"reason":                        {1, "EUR", " "},
		"reason of more than 500 bytes": {1, "EUR", strings.Repeat("x", 501)},
	} {
		field, _, _ = strings.Cut(field, " ")
		err := b.write(func(_ context.Context, j *ledger.Journal) error {
			return j.Adjust("adjustment:1", c.amount, c.currency, c.reason)
		})
		if f := fault.Of(err); f == nil || f.Field != field {
			t.Errorf("%s: %v", field, err)
		}
	}
	b.want(map[string]int64{})
	b.must(func(_ context.Context, j *ledger.Journal) error {
		return j.Adjust("adjustment:1", 500, "EUR", "a bonus")
	})
	b.want(map[string]int64{"payable EUR": -500, "adjustments EUR": 500})
}
