package ledger_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"claviger/internal/audit"
	"claviger/internal/fault"
	"claviger/internal/ledger"
	"claviger/internal/partner"
	"claviger/internal/secret"
	"claviger/internal/sqldb"
)

// found returns the mistakes that Check finds.
func (b *books) found() []string {
	b.t.Helper()
	var list []string
	err := b.db.Read(b.t.Context(), func(tx *sqldb.Tx) (err error) {
		list, err = ledger.Check(b.t.Context(), tx, partnerID)
		return err
	})
	if err != nil {
		b.t.Fatal(err)
	}
	return list
}

func (b *books) exec(query string) {
	b.t.Helper()
	err := b.db.Write(b.t.Context(), func(tx *sqldb.Tx) error {
		_, err := tx.Exec(b.t.Context(), query)
		return err
	})
	if err != nil {
		b.t.Fatal(err)
	}
}

// lived returns a ledger with terms, a refund, an open dispute, a fee and an adjustment.
func lived(t *testing.T) *books {
	b := newBooks(t)
	b.terms(ledger.Terms{ShareBP: 7000, Plans: map[int]int64{2: 1}, Bears: ledger.MarketplaceBears, Smallest: map[string]int64{"USD": 5}})
	b.must(func(ctx context.Context, j *ledger.Journal) error {
		j.Sell(dollars(1, 1000, b.now))
		j.Sell(dollars(2, 1000, b.now))
		fee := ledger.Fee{Source: "txn_1", Amount: 30, Currency: "USD", Rate: ledger.Ratio{Num: 1, Den: 1}}
		if err := j.TakeFee(ctx, 1, fee); err != nil {
			return err
		}
		return j.Follow(ctx, 1, []ledger.Fact{
			{Source: "re_1", State: ledger.MoneyBack, Amount: 100}, {Source: "dp_1", State: ledger.UnderReview, Amount: 900},
		})
	})
	b.must(func(_ context.Context, j *ledger.Journal) error { return j.Adjust("adjustment:1", 5, "USD", "a bonus") })
	return b
}

// TestCheck breaks a ledger in each way, and expects the sentence that says so.
func TestCheck(t *testing.T) {
	for want, query := range map[string]string{
		"The balance margin in USD differs by ":              `UPDATE ledger_balances SET amount = amount + 1 WHERE account = 'margin'`,
		"The balance adjustments in USD differs by ":         `DELETE FROM ledger_balances WHERE account = 'adjustments'`,
		"sums to 1 USD instead of 0.":                        `UPDATE ledger_postings SET lines = '[{"Account":"share","Amount":1,"Currency":"USD"}]' WHERE purchase_id = 2`,
		"provider of purchase 2 differs by 1000 USD from":    `DELETE FROM ledger_postings WHERE purchase_id = 2`,
		"Purchase 2 has postings, and its state is missing.": `DELETE FROM ledger_sales WHERE purchase_id = 2`,
		"Purchase 2 keeps 1000 of its price; its postings sum to 999.": `UPDATE ledger_postings SET gross = 999
			WHERE purchase_id = 2`,
		"Purchase 1 has 100 back and 900 disputed; its refunds and disputes sum to 0 and 900.": `DELETE FROM ledger_facts
			WHERE source = 're_1'`,
		"Purchase 1 has 100 back and 900 disputed; its refunds and disputes sum to 100 and 0.": `DELETE FROM ledger_facts
			WHERE source = 'dp_1'`,
	} {
		b := lived(t)
		b.check()
		b.exec(query)
		if text := strings.Join(b.found(), "\n"); !strings.Contains(text, want) {
			t.Errorf("%s\nfound %q", query, text)
		}
	}
}

// TestCheckReadsAll: no sale and no posting is left out, however many there are.
func TestCheckReadsAll(t *testing.T) {
	const sales = 2001
	b := newBooks(t)
	b.must(func(_ context.Context, j *ledger.Journal) error {
		for id := int64(1); id <= sales; id++ {
			j.Sell(dollars(id, 1000, noon))
		}
		return nil
	})
	b.want(map[string]int64{"provider USD": sales * 1000, "undivided USD": -sales * 1000})
	for _, id := range []int64{1, 1000, 1001, 2000, 2001} {
		b.exec(fmt.Sprintf(`UPDATE ledger_sales SET gross = 999 WHERE purchase_id = %d`, id))
		if list := b.found(); len(list) != 3 || !strings.Contains(list[0], fmt.Sprintf("purchase %d differs by -1 USD", id)) {
			t.Errorf("found %q", list)
		}
		b.exec(fmt.Sprintf(`UPDATE ledger_sales SET gross = 1000 WHERE purchase_id = %d`, id))
	}
	b.terms(ledger.Terms{ShareBP: 7000, Bears: ledger.MarketplaceBears})
	transactions := 0
	for more := true; more; transactions++ {
		b.must(func(ctx context.Context, j *ledger.Journal) (err error) { more, err = j.Divide(ctx); return err })
	}
	b.want(map[string]int64{"provider USD": sales * 1000, "share USD": -sales * 700, "margin USD": -sales * 300})
	if transactions != sales/200+1 {
		t.Errorf("divided in %d transactions", transactions)
	}
}

// TestFailedReads: a failed query is an error, never a refusal or another answer.
func TestFailedReads(t *testing.T) {
	b := lived(t)
	readers := map[string]func() (any, error){
		"check": func() (list any, err error) {
			err = b.db.Read(t.Context(), func(tx *sqldb.Tx) (err error) {
				list, err = ledger.Check(t.Context(), tx, partnerID)
				return err
			})
			return list, err
		},
		"balances": func() (any, error) { return ledger.Balances(t.Context(), b.db, partnerID) },
		"history":  func() (any, error) { return ledger.History(t.Context(), b.db, partnerID) },
		"partners": func() (any, error) { return ledger.Partners(t.Context(), b.db) },
		"sums":     func() (any, error) { return ledger.Unbalanced(t.Context(), b.db) },
	}
	for name, act := range map[string]func(context.Context, *ledger.Journal) error{
		"follow": func(ctx context.Context, j *ledger.Journal) error { return j.Follow(ctx, 1, nil) },
		"return": func(ctx context.Context, j *ledger.Journal) error { return j.Return(ctx, 1, 0, 1, "refund:1:1", noon) },
		"fee": func(ctx context.Context, j *ledger.Journal) error {
			return j.TakeFee(ctx, 1, ledger.Fee{Source: "txn_1", Currency: "USD", Rate: ledger.Ratio{Num: 1, Den: 1}})
		},
		"payable":  func(ctx context.Context, j *ledger.Journal) error { return j.MakePayable(ctx, 3) },
		"settle":   func(ctx context.Context, j *ledger.Journal) error { return j.Settle(ctx, future, 3) },
		"unsettle": func(ctx context.Context, j *ledger.Journal) error { return j.Settle(ctx, past, 1) },
		"divide":   func(ctx context.Context, j *ledger.Journal) error { _, err := j.Divide(ctx); return err },
	} {
		readers[name] = func() (any, error) { return nil, b.write(act) }
	}
	whole := map[string]string{}
	for name, read := range readers {
		got, err := read()
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		whole[name] = fmt.Sprint(got)
	}
	const acts = "divide fee follow payable return settle unsettle"
	for table, failing := range map[string]string{
		"ledger_terms": acts + " history", "products": acts, "ledger_sales": acts + " check",
		"ledger_facts": acts + " check", "ledger_fees": acts + " check", "ledger_postings": "check partners",
		"ledger_balances": "balances check partners sums",
	} {
		b.exec(`ALTER TABLE ` + table + ` RENAME TO away`)
		for name, read := range readers {
			got, err := read()
			fails := slices.Contains(strings.Fields(failing), name) && (name != "divide" || !strings.HasPrefix(table, "ledger_f"))
			if fails != (err != nil) || err == nil && fmt.Sprint(got) != whole[name] || fault.Of(err) != nil {
				t.Errorf("%s without the table %s: %v, %v", name, table, got, err)
			}
		}
		b.exec(`ALTER TABLE away RENAME TO ` + table)
	}
	for query, reader := range map[string]string{
		`UPDATE ledger_postings SET lines = 'x'`:                           "check",
		`UPDATE ledger_terms SET plans = 'x', smallest = '{}'`:             "history",
		`UPDATE ledger_terms SET plans = '{}', smallest = 'x', bears = ''`: "history",
	} {
		b.exec(query)
		if _, err := readers[reader](); err == nil {
			t.Errorf("%s is no error", query)
		}
	}
}

// setRefundDays gives the partner a product with refund days.
func (b *books) setRefundDays(days int) {
	b.t.Helper()
	box, err := secret.NewSealer(make([]byte, secret.KeySize))
	if err != nil {
		b.t.Fatal(err)
	}
	by := audit.System("test")
	partners := &partner.Store{DB: b.db, Sealer: box, Now: func() time.Time { return noon }}
	err = b.db.Write(b.t.Context(), func(tx *sqldb.Tx) error {
		p, _, err := partners.Create(b.t.Context(), tx, by, partner.Draft{Name: "App"}, partner.Credentials{})
		if err == nil && p.ID != partnerID {
			b.t.Errorf("the partner has the id %d", p.ID)
		}
		return err
	})
	if err == nil {
		_, err = partners.ChangeProduct(b.t.Context(), by, partnerID, partner.ProductChange{RefundDays: &days})
	}
	if err != nil {
		b.t.Fatal(err)
	}
}

// TestTimes: the terms say when a sale becomes payable, and each posting has the time of its fact.
func TestTimes(t *testing.T) {
	b := newBooks(t)
	b.setRefundDays(14)
	value := func(query string) time.Time {
		at, err := sqldb.One(t.Context(), b.db, sqldb.Value[time.Time], query)
		if err != nil {
			t.Fatal(err)
		}
		return at.UTC()
	}
	same := func(query string, want time.Time) {
		t.Helper()
		if got := value(query); !got.Equal(want) {
			t.Errorf("%s: %s, want %s", query, got, want)
		}
	}
	external := dollars(2, 1000, noon)
	external.Collected = ledger.ByMarketplace
	b.must(func(_ context.Context, j *ledger.Journal) error {
		j.Sell(dollars(1, 1000, noon))
		j.Sell(external)
		return nil
	})
	sold := b.now
	same(`SELECT look_at FROM ledger_sales WHERE purchase_id = 1`, time.Time{})
	same(`SELECT fee_look_at FROM ledger_sales WHERE purchase_id = 1`, sold)
	same(`SELECT fee_look_at FROM ledger_sales WHERE purchase_id = 2`, time.Time{})
	b.terms(ledger.Terms{ShareBP: 7000, Bears: ledger.MarketplaceBears, Days: -1})
	b.must(func(ctx context.Context, j *ledger.Journal) error { _, err := j.Divide(ctx); return err })
	same(`SELECT look_at FROM ledger_sales WHERE purchase_id = 1`, noon.AddDate(0, 0, 14))
	b.terms(ledger.Terms{ShareBP: 7000, Bears: ledger.MarketplaceBears, Days: 3})
	later := b.now.Add(time.Minute)
	b.must(func(_ context.Context, j *ledger.Journal) error { j.Sell(dollars(3, 1000, later)); return nil })
	same(`SELECT due_at FROM ledger_sales WHERE purchase_id = 3`, later.AddDate(0, 0, 3))
	same(`SELECT look_at FROM ledger_sales WHERE purchase_id = 3`, later.AddDate(0, 0, 3))

	fee := ledger.Fee{Source: "txn_d", Amount: 1, Currency: "USD", Rate: ledger.Ratio{Num: 1, Den: 1}, Dispute: true, At: noon}
	b.must(func(ctx context.Context, j *ledger.Journal) error { return j.TakeFee(ctx, 1, fee) })
	same(`SELECT fee_look_at FROM ledger_sales WHERE purchase_id = 1`, sold)
	fee.Source = "txn_1"
	fee.Dispute = false
	b.must(func(ctx context.Context, j *ledger.Journal) error { return j.TakeFee(ctx, 1, fee) })
	same(`SELECT fee_look_at FROM ledger_sales WHERE purchase_id = 1`, time.Time{})
	for range 2 {
		b.must(func(ctx context.Context, j *ledger.Journal) error { return j.MakePayable(ctx, 1) })
		same(`SELECT look_at FROM ledger_sales WHERE purchase_id = 1`, time.Time{})
		b.exec(`UPDATE ledger_sales SET look_at = 1 WHERE purchase_id = 1`) // a check that comes again
	}
	payable := b.now.Add(-time.Second)
	b.must(func(ctx context.Context, j *ledger.Journal) error { return j.Settle(ctx, future, 3) })
	same(`SELECT max(look_at) FROM ledger_sales WHERE purchase_id = 3`, time.Time{})
	same(`SELECT fee_look_at FROM ledger_sales WHERE purchase_id = 3`, time.Time{})
	b.must(func(ctx context.Context, j *ledger.Journal) error { return j.Settle(ctx, past, 3) })
	same(`SELECT look_at FROM ledger_sales WHERE purchase_id = 3`, later.AddDate(0, 0, 3))
	same(`SELECT fee_look_at FROM ledger_sales WHERE purchase_id = 3`, b.now)

	same(`SELECT at FROM ledger_postings WHERE source = 'txn_1'`, noon)
	same(`SELECT created_at FROM ledger_postings WHERE kind = 'sale' AND purchase_id = 1`, sold)
	same(`SELECT at FROM ledger_postings WHERE kind = 'payable' AND purchase_id = 1`, payable)
	same(`SELECT max(created_at) FROM ledger_terms WHERE days = 3`, later.Add(-time.Minute))
	if n := b.count(`SELECT count(*) FROM ledger_postings WHERE tier = 1 AND currency = 'USD' AND partner_id = 1`); n != 10 {
		t.Errorf("%d postings have the plan and the currency", n)
	}
}
