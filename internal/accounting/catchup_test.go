package accounting_test

import (
	"errors"
	"fmt"
	"io"
	"sync/atomic"
	"testing"
	"time"

	"claviger/internal/ledger"
	"claviger/internal/license"
	"claviger/internal/sqldb"
)

// TestOldSales: sales from before the ledger add nothing to any balance. Only refunds and disputes since
// then do, whether they come before or after the job has posted the sale.
func TestOldSales(t *testing.T) {
	h := newHarness(t, sqldb.Options{})
	var old []license.License
	for i := range 300 {
		p := license.Purchase{AmountCents: 10_000, Currency: "USD", Quantity: 3, ExternalID: fmt.Sprint(i)}
		old = append(old, h.sell(p).Licenses...)
	}
	yen := h.sell(license.Purchase{AmountCents: 590_000, Currency: "JPY"})
	h.exec(fmt.Sprintf(`UPDATE old_amounts SET last_purchase = %d`, yen.ID))
	free := h.sell(license.Purchase{})
	h.sell(license.Purchase{AmountCents: 500}) // in no currency: it gets its mark, and is not posted
	paid, disputed, refunded := h.pay(), h.pay(), h.pay()
	h.stripe.Refund(refunded.SessionID, 900, "succeeded")
	h.hear()
	h.refund(old[0])
	reversed := h.refund(old[1])
	h.upgrade()

	h.refund(old[3]) // before the sale is posted
	if _, err := h.licenses.ReverseRefund(t.Context(), tester, reversed.ID); err != nil {
		t.Fatal(err)
	}
	if _, err := h.once(); err != nil { // posts a part
		t.Fatal(err)
	}
	h.refund(old[len(old)-1])
	h.run()
	// One license of 100 dollars, twice. The reversed refund was settled, so the money is there again.
	h.want("refunded since", "USD", money{ledger.External: -3333 - 3333 + 3333, ledger.Undivided: 3333 + 3333 - 3333})
	h.want("refunded since", "JPY", money{})

	h.stripe.Refund(paid.SessionID, 1000, "succeeded")
	h.hear()
	h.stripe.Dispute(disputed.SessionID, "lost")
	h.hear()
	h.stripe.Refund(refunded.SessionID, 100, "succeeded")
	h.hear()
	h.refund(yen.Licenses[0])
	h.refund(free.Licenses[0])
	h.want("after the job", "USD", money{ledger.External: -3333, ledger.Provider: -7000, ledger.Undivided: 10_333})
	h.want("after the job", "JPY", money{ledger.External: -5900, ledger.Undivided: 5900})

	h.addTerms(14)
	h.run()
	h.want("divided", "JPY", money{ledger.External: -5900, ledger.Payable: 4130, ledger.Margin: 1770})
	if n := h.count(`SELECT count(*) FROM ledger_sales`); n != 304 {
		t.Errorf("%d sales are posted", n)
	}
	h.nothingLeft()
	before := h.count(`SELECT count(*) FROM ledger_postings`)
	h.run()
	if n := h.count(`SELECT count(*) FROM ledger_postings`); n != before {
		t.Errorf("the job posted %d times more", n-before)
	}
}

// nothingLeft checks that everything has its mark.
func (h *harness) nothingLeft() {
	h.Helper()
	for _, sql := range []string{
		`SELECT count(*) FROM purchases WHERE posted = FALSE AND amount_cents <> 0`,
		`SELECT count(*) FROM refunds WHERE posted_at < created_at OR posted_at < reversed_at`,
		`SELECT count(*) FROM payment_refunds WHERE posted_at <> updated_at`,
		`SELECT count(*) FROM payment_disputes WHERE posted_at <> updated_at`,
	} {
		if n := h.count(sql); n != 0 {
			h.Errorf("%s: %d", sql, n)
		}
	}
}

// TestOlderNode: a node of the previous release writes facts of posted sales, and sells. The job posts
// them once, and counts them: they are from after the beginning.
func TestOlderNode(t *testing.T) {
	h := newHarness(t, sqldb.Options{})
	h.upgrade()
	h.addTerms(14)
	a, b, c := h.pay(), h.pay(), h.pay()
	own := h.sell(license.Purchase{AmountCents: 10_000, Currency: "USD", Quantity: 2})
	theirs := h.sell(license.Purchase{AmountCents: 20_000, Currency: "USD"})
	h.stripe.Refund(a.SessionID, 900, "pending")
	h.hear()
	f := h.refund(own.Licenses[0])
	// As 1.0.0 writes: without the columns that it does not know.
	h.exec(`UPDATE payment_refunds SET status = 3, updated_at = updated_at + 1000000`,
		fmt.Sprintf(`INSERT INTO payment_disputes (provider_id, checkout_id, amount, currency, status, held, created_at, updated_at, next_at)
			VALUES ('dp_old', %d, 5900, 'USD', 'lost', FALSE, 5, 6, 0)`, b.ID),
		fmt.Sprintf(`UPDATE refunds SET reversed_at = created_at + 1000000 WHERE id = %d`, f.ID),
		fmt.Sprintf(`UPDATE purchase_links SET refund_id = 0 WHERE refund_id = %d`, f.ID),
		fmt.Sprintf(`UPDATE purchases SET posted = FALSE, collected_by = '' WHERE id IN (%d, %d)`, c.PurchaseID, theirs.ID),
		fmt.Sprintf(`DELETE FROM ledger_postings WHERE purchase_id IN (%d, %d)`, c.PurchaseID, theirs.ID),
		fmt.Sprintf(`DELETE FROM ledger_sales WHERE purchase_id IN (%d, %d)`, c.PurchaseID, theirs.ID))
	h.exec(`UPDATE ledger_balances SET amount = amount - 5900 WHERE account = 'provider'`,
		`UPDATE ledger_balances SET amount = amount - 20000 WHERE account = 'external'`,
		`UPDATE ledger_balances SET amount = amount + 18130 WHERE account = 'share'`,
		`UPDATE ledger_balances SET amount = amount + 7770 WHERE account = 'margin'`)
	h.run()
	provider := int64(5900 - 900 + 5900)
	external := int64(10_000 + 20_000)
	share := int64(4130-630) + 4130 + 7000 + 14_000
	h.want("caught up", "USD", money{
		ledger.Provider: provider, ledger.External: external, ledger.Share: -share, ledger.Margin: share - provider - external,
	})
	h.nothingLeft()
}

// TestWaitsForOlderNodes: nothing is posted while a node of the previous release works.
func TestWaitsForOlderNodes(t *testing.T) {
	h := newHarness(t, sqldb.Options{})
	if _, shared, err := h.db.Clock(t.Context()); err != nil || !shared {
		t.Skip("a database with one process", err)
	}
	h.sell(license.Purchase{AmountCents: 100, Currency: "USD"})
	h.upgrade()
	beat := func(version string) {
		h.exec(`DELETE FROM nodes`, fmt.Sprintf(`INSERT INTO nodes (node, sessions, until, leaving, version, beat_at)
			VALUES ('n', 'n', 1, FALSE, '%s', %d)`, version, time.Now().UnixNano()))
	}
	beat("1.0.0")
	h.run()
	if n := h.count(`SELECT count(*) FROM ledger_sales`); n != 0 {
		t.Errorf("%d sales were posted beside an older node", n)
	}
	beat("1.1.0")
	h.run()
	if n := h.count(`SELECT count(*) FROM ledger_sales`); n != 1 {
		t.Errorf("%d sales are posted", n)
	}
}

// TestCutOff: the job is cut off before each of its statements, and the next run posts everything once.
func TestCutOff(t *testing.T) {
	var left atomic.Int64
	h := newHarness(t, sqldb.Options{Cut: func(string) error {
		if left.Add(-1) == 0 {
			return io.ErrUnexpectedEOF
		}
		return nil
	}})
	h.addTerms(0)
	sale := h.sell(license.Purchase{AmountCents: 10_000, Currency: "USD", Quantity: 2})
	c := h.pay()
	h.upgrade()
	h.refund(sale.Licenses[0])
	h.stripe.Refund(c.SessionID, 900, "succeeded")
	h.hear()
	cuts := 0
	for n := int64(1); n < 1000; n++ {
		left.Store(n)
		more, err := h.once()
		if left.Load() > 0 && err == nil && !more {
			break
		}
		if err != nil {
			cuts++
			if !sqldb.IsUnavailable(err) && !errors.Is(err, io.ErrUnexpectedEOF) {
				t.Errorf("cut off before statement %d: %v", n, err)
			}
		}
	}
	left.Store(0)
	h.run()
	if cuts < 10 {
		t.Errorf("%d cuts", cuts)
	}
	h.want("after all cuts", "USD", money{
		ledger.External: -5000, ledger.Provider: -900, ledger.Payable: 3500 + 630, ledger.Margin: 1500 + 270,
	})
	h.nothingLeft()
}
