package ledger_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"claviger/internal/fault"
	"claviger/internal/ledger"
	"claviger/internal/sqldb"
)

// TestSettledBeforeDivided: a sale can be settled before its partner has terms. Only later refunds count,
// and the first terms divide them.
func TestSettledBeforeDivided(t *testing.T) {
	b := newBooks(t)
	b.must(func(ctx context.Context, j *ledger.Journal) error {
		j.Sell(dollars(1, 1000, noon))
		return j.Settle(ctx, future, 1)
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
		t.Error("a settled sale is still checked")
	}
	for range 2 { // an earlier moment from which sales count
		b.must(func(ctx context.Context, j *ledger.Journal) error { return j.Settle(ctx, past, 1) })
		b.want(map[string]int64{"provider USD": 500, "share USD": -350, "margin USD": -150})
	}
	b.must(func(ctx context.Context, j *ledger.Journal) error { return j.Settle(ctx, future, 1) })
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

// TestFees: each fee is posted once, in the currency of the settlement. The settlement of a sale includes
// the fee of its payment, and not the fee of a later dispute.
func TestFees(t *testing.T) {
	b := newBooks(t)
	b.terms(ledger.Terms{ShareBP: 7000, Bears: ledger.PartnerBears, Days: 0})
	b.must(func(_ context.Context, j *ledger.Journal) error {
		j.Sell(dollars(1, 1000, b.now))
		j.Sell(dollars(2, 1000, b.now))
		return nil
	})
	b.must(func(ctx context.Context, j *ledger.Journal) error { return j.Settle(ctx, future, 2) })
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
	if n := b.count(`SELECT count(*) FROM ledger_postings WHERE purchase_id = 2 AND kind = 'fee'`); n != 0 {
		t.Error("a posting changes nothing")
	}
	take(2, dispute)
	b.want(map[string]int64{
		"provider USD": 1000, "provider EUR": -1550, "fees EUR": 1550, "fees USD": -1721, "share USD": -645,
		"payable USD": 1666, "margin USD": -300,
	})
	take(2, dispute, back)
	b.want(one)
	for _, bad := range []ledger.Fee{
		{Currency: "EUR", Rate: payment.Rate},
		{Source: "txn_9", Rate: payment.Rate},
		{Source: "txn_9", Currency: "EUR", Rate: ledger.Ratio{Num: 0, Den: 1}},
		{Source: "txn_9", Currency: "EUR", Rate: ledger.Ratio{Num: 1, Den: 0}},
	} {
		bad.Amount = 1
		err := b.write(func(ctx context.Context, j *ledger.Journal) error { return j.TakeFee(ctx, 1, bad) })
		if err == nil {
			t.Errorf("posted: %+v", bad)
		}
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
			{Source: "re_3", State: ledger.MoneyBack, Amount: 0},
		})
	})
	want := map[string]int64{"provider USD": -400, "margin USD": 400}
	b.want(want)
	refund := func(amount int64) {
		b.must(func(ctx context.Context, j *ledger.Journal) error {
			return j.Follow(ctx, 1, []ledger.Fact{{Source: "re_1", State: ledger.MoneyBack, Amount: amount}})
		})
	}
	refund(0)
	b.want(map[string]int64{})
	refund(400)
	if n := b.count(`SELECT sum(gross) FROM ledger_postings`); n != -400 {
		t.Errorf("the buyers paid %d", n)
	}
	b.terms(ledger.Terms{ShareBP: 7000, Bears: ledger.MarketplaceBears, Days: 0})
	b.must(func(ctx context.Context, j *ledger.Journal) error { _, err := j.Divide(ctx); return err })
	b.want(want)
}

// TestReturn: refunded licenses reduce a sale in proportion, unless a provider took the money.
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
	if n := b.count(`SELECT count(*) FROM ledger_postings WHERE kind = 'refund_failed' AND source = 'refund:3:2'`); n != 1 {
		t.Errorf("%d postings of a refund that was taken back", n)
	}
}

// TestOneTransaction adds terms and sells in one transaction, and saves the journal in between.
func TestOneTransaction(t *testing.T) {
	b := newBooks(t)
	b.must(func(ctx context.Context, j *ledger.Journal) error {
		for i, share := range []int64{3000, 1000} {
			terms := ledger.Terms{ShareBP: share, Bears: ledger.MarketplaceBears, BeginsAt: b.now.Add(time.Duration(1-i) * time.Hour)}
			if err := j.AddTerms(terms); err != nil {
				return err
			}
		}
		j.Sell(dollars(11, 1000, b.now))
		j.Sell(dollars(12, 1000, b.now.Add(time.Hour)))
		if err := j.Save(); err != nil {
			return err
		}
		for range 2 { // 13 is not posted
			if err := j.Load(ctx, []int64{11, 12, 13}); err != nil {
				return err
			}
			if err := j.MakePayable(ctx, 11); err != nil {
				return err
			}
			if err := j.MakePayable(ctx, 13); err != nil {
				return err
			}
			if err := j.Save(); err != nil {
				return err
			}
		}
		return nil
	})
	b.want(map[string]int64{"provider USD": 2000, "payable USD": -100, "share USD": -300, "margin USD": -1600})
	if n := b.count(`SELECT count(*) FROM ledger_postings WHERE source = '11#2' AND kind = 'payable'`); n != 1 {
		t.Errorf("%d postings have their source", n)
	}
}

// TestDividedOnce: the first terms divide a sale, and later ones do not; of those that begin together,
// the last ones count.
func TestDividedOnce(t *testing.T) {
	b := newBooks(t)
	b.must(func(_ context.Context, j *ledger.Journal) error { j.Sell(dollars(1, 1000, noon)); return nil })
	b.must(func(ctx context.Context, j *ledger.Journal) error {
		for _, share := range []int64{2000, 3000, 4000} {
			if err := j.AddTerms(ledger.Terms{ShareBP: share, Bears: ledger.MarketplaceBears}); err != nil {
				return err
			}
			if share == 2000 {
				continue
			}
			if _, err := j.Divide(ctx); err != nil {
				return err
			}
		}
		return nil
	})
	b.want(map[string]int64{"provider USD": 1000, "share USD": -300, "margin USD": -700})
	b.must(func(_ context.Context, j *ledger.Journal) error { j.Sell(dollars(2, 1000, b.now)); return nil })
	b.want(map[string]int64{"provider USD": 2000, "share USD": -700, "margin USD": -1300})
}

// TestUnposted: purchases without a posting are skipped.
func TestUnposted(t *testing.T) {
	b := newBooks(t)
	fee := ledger.Fee{Source: "txn_1", Amount: 1, Currency: "USD", Rate: ledger.Ratio{Num: 1, Den: 1}}
	b.must(func(ctx context.Context, j *ledger.Journal) error {
		return errors.Join(
			j.TakeFee(ctx, 1, fee), j.MakePayable(ctx, 1), j.Settle(ctx, future, 1), j.Settle(ctx, past, 1), j.Return(ctx, 1, 1, 1, "refund:1:1", noon),
		)
	})
	b.want(map[string]int64{})
	b.must(func(ctx context.Context, j *ledger.Journal) error {
		j.Sell(dollars(1, 1000, noon))
		more, err := j.Divide(ctx) // there are no terms
		if more {
			t.Error("more is to be divided")
		}
		return errors.Join(err, j.MakePayable(ctx, 1))
	})
	b.want(map[string]int64{"provider USD": 1000, "undivided USD": -1000})
}

func TestAdjust(t *testing.T) {
	b := newBooks(t)
	for field, c := range map[string]struct {
		amount           int64
		currency, reason string
	}{
		"amount":                        {0, "EUR", "a bonus"},
		"currency":                      {1, "Euro", "a bonus"},
		"currency that there is not":    {1, "ZZZ", "a bonus"},
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

// TestSaleOfAnotherPartner: a journal never changes the sale of another partner.
func TestSaleOfAnotherPartner(t *testing.T) {
	b := newBooks(t)
	b.must(func(_ context.Context, j *ledger.Journal) error {
		j.Sell(dollars(1, 1000, noon))
		return nil
	})
	err := b.db.Write(t.Context(), func(tx *sqldb.Tx) error {
		j := ledger.New(tx, partnerID+1, noon)
		if err := j.Follow(t.Context(), 1, []ledger.Fact{{Source: "re_1", State: ledger.MoneyBack, Amount: 1000}}); err != nil {
			return err
		}
		return j.Save()
	})
	if err != nil {
		t.Fatal(err)
	}
	b.want(map[string]int64{"provider USD": 1000, "undivided USD": -1000})
	if n := b.count(`SELECT count(*) FROM ledger_balances WHERE partner_id <> 1`); n != 0 {
		t.Errorf("another partner has %d balances", n)
	}
}
