package ledger_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"claviger/internal/ledger"
)

// TestFeesDue: a sale that the provider took the money for is due until its fee is posted. Each answer
// without a fee moves it behind the others.
func TestFeesDue(t *testing.T) {
	b := newBooks(t)
	external := dollars(3, 1000, noon)
	external.Collected = ledger.ByMarketplace
	b.must(func(_ context.Context, j *ledger.Journal) error {
		j.Sell(dollars(1, 1000, noon))
		j.Sell(dollars(2, 1000, noon))
		j.Sell(external)
		return nil
	})
	sold := b.now
	due := func(name string, at time.Time, most int, want ...int64) {
		t.Helper()
		list, err := ledger.FeesDue(t.Context(), b.db, at, most)
		if err != nil {
			t.Fatal(err)
		}
		var got []int64
		for _, d := range list {
			got = append(got, d.PurchaseID)
			if d.PartnerID != partnerID {
				t.Errorf("%s: %+v is of another partner", name, d)
			}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got)\n%s", name, diff)
		}
	}
	later := func(purchase int64, at time.Time) {
		t.Helper()
		b.must(func(ctx context.Context, j *ledger.Journal) error { return j.AskFeeLater(ctx, purchase, at) })
	}
	fee := ledger.Fee{Source: "txn_2", Amount: 30, Currency: "USD", Rate: ledger.Ratio{Num: 1, Den: 1}}
	take := func() {
		t.Helper()
		b.must(func(ctx context.Context, j *ledger.Journal) error { return j.TakeFee(ctx, 2, fee) })
	}
	due("sold", sold.Add(-time.Microsecond), 9)
	due("sold", sold, 9, 1, 2)
	later(1, sold.Add(time.Minute))
	due("one later", sold, 9, 2)
	due("a minute later", sold.Add(time.Minute), 9, 2, 1)
	due("at most one", sold.Add(time.Minute), 1, 2)
	take()
	due("its fee is posted", sold.Add(time.Minute), 9, 1)
	later(1, time.Time{})
	due("never again", sold.Add(time.Hour), 9)
	b.must(func(ctx context.Context, j *ledger.Journal) error {
		return errors.Join(j.Settle(ctx, future, 2), j.Settle(ctx, past, 2), j.AskFeeLater(ctx, 4, sold))
	})
	due("its settlement is taken back", b.now, 9, 2)
	take() // a fee that is posted already ends the question, too
	due("its fee is taken again", b.now, 9)
	b.want(map[string]int64{
		"provider USD": 1970, "external USD": 1000, "fees USD": 30, "undivided USD": -3000,
	})
}
