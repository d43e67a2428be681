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

// moveFrom changes the moment from which sales count.
func (h *harness) moveFrom(from time.Time) {
	h.Helper()
	if _, err := h.books.MoveFrom(h.Context(), tester, from); err != nil {
		h.Fatal(err)
	}
}

// TestMoveFrom upgrades a database with 1,000 old sales, some of them refunded before and some after, and
// changes the moment from which sales count in both directions. Some sales are posted before a change, and
// some after it.
func TestMoveFrom(t *testing.T) {
	h := newHarness(t, sqldb.Options{})
	h.addTerms(0)
	start := h.at
	var old []license.License
	for i := range 1000 {
		p := license.Purchase{AmountCents: 10_000, Currency: "USD", Quantity: 2, ExternalID: fmt.Sprint(i)}
		old = append(old, h.sell(p).Licenses...)
		if i == 499 {
			h.at = h.at.Add(12 * time.Hour)
		}
	}
	middle := start.Add(6 * time.Hour) // after the first 500 sales
	reversed := h.refund(old[0])
	paid := h.pay()
	h.stripe.Refund(paid.SessionID, 900, "succeeded")
	h.hear()
	h.upgrade()
	begun, err := ledger.From(t.Context(), h.db)
	if err != nil {
		t.Fatal(err)
	}
	h.refund(old[2]) // of the second sale
	if _, err := h.licenses.ReverseRefund(t.Context(), tester, reversed.ID); err != nil {
		t.Fatal(err)
	}
	if _, err := h.once(); err != nil {
		t.Fatal(err)
	}
	h.moveFrom(middle) // in the middle of the old sales
	h.refund(old[4])
	h.run()
	h.refund(old[6])
	h.stripe.Refund(paid.SessionID, 100, "succeeded")
	h.hear()
	// 500 sales and a payment count. Three licenses of earlier sales are refunded; the reversed one never was.
	counted := money{
		ledger.External: 500*10_000 - 3*5000, ledger.Provider: 5900 - 1000,
		ledger.Payable: -(500*7000 - 3*3500 + 4130 - 700), ledger.Margin: -(500*3000 - 3*1500 + 1770 - 300),
	}
	h.want("from the middle", "USD", counted)

	h.moveFrom(begun)
	h.run()
	// As TestOldSales: the reversed refund was settled, so its money is there again.
	began := money{ledger.External: -2 * 5000, ledger.Provider: -100, ledger.Payable: 2*3500 + 70, ledger.Margin: 2*1500 + 30}
	h.want("from the beginning", "USD", began)
	h.moveFrom(h.at)
	h.at = h.at.Add(time.Minute)
	h.run()
	h.want("from now", "USD", money{})
	h.moveFrom(middle)
	h.run()
	h.want("from the middle again", "USD", counted)
	h.moveFrom(begun)
	h.run()
	h.want("from the beginning again", "USD", began)
	h.nothingLeft()
	if n := h.count(`SELECT count(*) FROM audit_entries WHERE action = 'ledger.from'`); n != 5 {
		t.Errorf("%d audit entries", n)
	}
	h.moveFrom(begun)
	if n := h.count(`SELECT count(*) FROM audit_entries WHERE action = 'ledger.from'`); n != 5 {
		t.Errorf("the same moment again is audited")
	}
}

// TestMoveFromCutOff is cut off before each statement, while the job also posts old sales.
func TestMoveFromCutOff(t *testing.T) {
	var left atomic.Int64
	h := newHarness(t, sqldb.Options{Cut: func(string) error {
		if left.Add(-1) == 0 {
			return io.ErrUnexpectedEOF
		}
		return nil
	}})
	h.addTerms(0)
	sale := h.sell(license.Purchase{AmountCents: 10_000, Currency: "USD", Quantity: 2})
	before := h.at.Add(-time.Hour)
	h.upgrade()
	h.refund(sale.Licenses[0])
	began, err := ledger.From(t.Context(), h.db)
	if err != nil {
		t.Fatal(err)
	}
	cuts := 0
	for n := int64(1); n < 1000; n++ {
		from, other := before, began
		want := money{ledger.External: 5000, ledger.Payable: -3500, ledger.Margin: -1500}
		if n%2 == 0 {
			from, other = began, before
			want = money{ledger.External: -5000, ledger.Payable: 3500, ledger.Margin: 1500}
		}
		if n > 3 { // until then there are sales to post, too
			h.moveFrom(other)
			h.run()
		}
		left.Store(n)
		_, err := h.books.MoveFrom(t.Context(), tester, from)
		for more := true; err == nil && more; {
			more, err = h.once()
		}
		done := left.Load() > 0
		if err != nil {
			cuts++
			if !sqldb.IsUnavailable(err) && !errors.Is(err, io.ErrUnexpectedEOF) {
				t.Errorf("cut off before statement %d: %v", n, err)
			}
		}
		left.Store(0)
		h.moveFrom(from)
		h.run()
		h.want(fmt.Sprint("after cut ", n), "USD", want)
		if done {
			break
		}
	}
	if cuts < 20 {
		t.Errorf("%d cuts", cuts)
	}
	h.nothingLeft()
}
