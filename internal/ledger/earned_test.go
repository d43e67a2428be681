package ledger_test

import (
	"context"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"claviger/internal/ledger"
	"claviger/internal/sqldb/sqldbtest"
)

// earned returns all sales as the partner sees them, oldest first, read two by two.
func (b *books) earned() (all []ledger.Earned) {
	b.t.Helper()
	for before := int64(0); ; {
		list, next, err := ledger.FindEarned(b.t.Context(), b.db, partnerID, before, 2)
		if err != nil {
			b.t.Fatal(err)
		}
		for _, e := range list {
			all = append([]ledger.Earned{e}, all...)
		}
		before = next
		if before == 0 {
			return all
		}
	}
}

// sold posts a sale at a time of its own.
func (b *books) sold(id, amount int64, by ledger.Collector) {
	b.t.Helper()
	b.must(func(_ context.Context, j *ledger.Journal) error {
		j.Sell(ledger.Purchase{
			ID: id, Tier: 1, Amount: amount, Currency: "USD", Collected: by, SoldAt: noon.AddDate(0, 0, int(id)),
		})
		return nil
	})
}

// TestEarned: a partner sees each sale with its share, the fee that it bears, and what happens to it.
func TestEarned(t *testing.T) {
	b := newBooks(t)
	b.now = noon.Add(-time.Hour)
	day := func(n int) time.Time { return noon.AddDate(0, 0, n) }
	act := func(do func(context.Context, *ledger.Journal) error) { b.must(do) }
	follow := func(id int64, f ledger.Fact) {
		act(func(ctx context.Context, j *ledger.Journal) error { return j.Follow(ctx, id, []ledger.Fact{f}) })
	}
	b.sold(1, 1000, ledger.ByProvider)
	b.terms(ledger.Terms{ShareBP: 7000, Bears: ledger.PartnerBears, Days: 10})
	b.sold(2, 2000, ledger.ByProvider)
	b.sold(3, 3000, ledger.ByProvider)
	b.sold(4, 4000, ledger.ByMarketplace)
	b.sold(5, 5000, ledger.ByPartner)
	b.sold(6, 6000, ledger.ByProvider)
	b.sold(7, 7000, ledger.ByMarketplace)
	act(func(ctx context.Context, j *ledger.Journal) error {
		err := j.TakeFee(ctx, 3, ledger.Fee{Source: "txn_1", Amount: 90, Currency: "EUR", Rate: ledger.Ratio{Num: 11, Den: 10}})
		if err != nil {
			return err
		}
		return j.MakePayable(ctx, 3)
	})
	follow(3, ledger.Fact{Source: "re_1", State: ledger.MoneyBack, Amount: 1000})
	follow(6, ledger.Fact{Source: "dp_1", State: ledger.UnderReview, Amount: 6000})
	act(func(ctx context.Context, j *ledger.Journal) error { return j.Settle(ctx, noon.AddDate(1, 0, 0), 7) })
	act(func(ctx context.Context, j *ledger.Journal) error { return j.Return(ctx, 4, 1, 1, "refund_1", noon) })
	want := []ledger.Earned{
		{Price: 1000, Standing: ledger.IsUndivided, Collected: ledger.ByProvider},
		{
			Price: 2000, Share: 1400, FeeUnknown: true, Net: 1400, Standing: ledger.IsPending, PayableAt: day(12),
			Collected: ledger.ByProvider,
		},
		{
			Price: 3000, Returned: 1000, Share: 1400, Fee: 99, Net: 1301, Standing: ledger.IsPayable, PayableAt: day(13),
			Collected: ledger.ByProvider,
		},
		{
			Price: 4000, Returned: 4000, Standing: ledger.IsRefunded, PayableAt: day(14), Collected: ledger.ByMarketplace,
		},
		{
			Price: 5000, Share: 3500, Net: -1500, Standing: ledger.IsPending, PayableAt: day(15),
			Collected: ledger.ByPartner,
		},
		{
			Price: 6000, Share: 4200, FeeUnknown: true, Net: 4200, Standing: ledger.IsDisputed, PayableAt: day(16),
			Collected: ledger.ByProvider,
		},
		{Price: 7000, Share: 4900, Standing: ledger.IsSettled, Collected: ledger.ByMarketplace},
	}
	for i := range want {
		want[i].PurchaseID = int64(i + 1)
		want[i].Tier = 1
		want[i].Currency = "USD"
		want[i].SoldAt = day(i + 1)
	}
	if diff := cmp.Diff(want, b.earned()); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	if list, _, err := ledger.FindEarned(t.Context(), b.db, partnerID+1, 0, 10); err != nil || len(list) != 0 {
		t.Errorf("another partner has %+v %v", list, err)
	}
}

// TestSpanIndexes: a page of sales, or of postings, reads only its own rows.
func TestSpanIndexes(t *testing.T) {
	db := sqldbtest.Open(t)
	sqldbtest.Fill(t, db, 20_000,
		`INSERT INTO ledger_sales (purchase_id, partner_id, tier, gross, currency, collected, back, disputed, share_bp,
			bears, payable, settled, sold_at, due_at, look_at, fee_look_at, turns) `+sqldbtest.Numbers+
			`SELECT n, n % 3, 1, 5, 'USD', 'provider', 0, 0, 7000, 'partner', FALSE, -1, 1, 1, 0, 0, 0 FROM numbers`,
		`INSERT INTO ledger_postings (partner_id, kind, source, purchase_id, tier, gross, currency, lines, reason, at,
			created_at) `+sqldbtest.Numbers+
			`SELECT n % 3, 'sale', 's' || n, n, 1, 5, 'USD', '[]', '', 1, 1 FROM numbers`)
	sqldbtest.WantIndex(t, db, "ledger_sales_partner", nil, `SELECT purchase_id FROM ledger_sales
		WHERE (partner_id, purchase_id) >= ($1, 0) AND (partner_id, purchase_id) < ($1, $2)
		ORDER BY partner_id DESC, purchase_id DESC LIMIT $3`, 1, 9000, 10)
	sqldbtest.WantIndex(t, db, "ledger_postings_partner", nil, `SELECT kind FROM ledger_postings
		WHERE (partner_id, id) > ($1, $2) AND (partner_id, id) <= ($1, $3) ORDER BY partner_id, id`, 1, 19_000, 30_000)
}
