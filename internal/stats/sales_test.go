package stats_test

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"claviger/internal/account"
	"claviger/internal/apptest"
	"claviger/internal/license"
	"claviger/internal/partner"
	"claviger/internal/stats"
)

func (h *harness) sales(p partner.Partner, days int) stats.SalesNumbers {
	h.Helper()
	n, err := h.Stats.Sales(h.Context(), p.ID, days)
	h.Must(err)
	return n
}

// TestSales: the numbers of a day follow the licenses sold on it: a license counts once as
// activated and once as refunded, regardless of other changes.
func TestSales(t *testing.T) {
	h := newHarness(t)
	other := h.enrol("Other")
	do := func(_ license.License, err error) { t.Helper(); h.Must(err) }
	refund := func(l license.License) int64 {
		t.Helper()
		f, err := h.Licenses.Refund(t.Context(), tester, license.RefundOrder{LicenseKey: l.Key})
		h.Must(err)
		return f.ID
	}
	first, held, late := h.sell(h.partner, 1), h.sell(h.partner, 1), h.sell(h.partner, 1)
	theirs := h.sell(other, 2)
	h.clock.Advance(day)
	do(h.Licenses.Activate(t.Context(), tester, first.Key, nil))
	do(h.Licenses.Release(t.Context(), tester, first.Key))
	do(h.Licenses.Activate(t.Context(), tester, first.Key, nil)) // again
	do(h.Licenses.Transfer(t.Context(), tester, first.Key, account.Person{Email: "bea@example.com"}))
	do(h.Licenses.Activate(t.Context(), tester, first.Key, nil)) // by another owner
	do(h.Licenses.Activate(t.Context(), tester, theirs.Key, nil))
	do(h.Licenses.Hold(t.Context(), tester, held.Key, license.HoldOther))
	refund(held) // makes no event
	reversed := refund(first)
	h.sell(h.partner, 1)
	h.clock.Advance(7 * day)
	do(h.Licenses.Activate(t.Context(), tester, late.Key, nil)) // too late
	check := func(when string, refunded int64) {
		t.Helper()
		want := []stats.Sales{{Sold: 3, ActivatedSoon: 1, Refunded: refunded}, {Sold: 1}}
		n := h.sales(h.partner, 9)
		if diff := cmp.Diff(want, []stats.Sales{n.Days[0].Sales, n.Days[1].Sales}); diff != "" {
			t.Errorf("%s (-want +got)\n%s", when, diff)
		}
		all := h.sales(partner.Partner{}, 9)
		if total := (stats.Sales{Sold: 6, ActivatedSoon: 2, Refunded: refunded}); all.Total != total || !slices.Contains(all.Partners, stats.PartnerSales{PartnerID: other.ID, Sales: stats.Sales{Sold: 2, ActivatedSoon: 1}}) || all.Days[0].Sold != 5 {
			t.Errorf("%s: of all partners %+v", when, all)
		}
	}
	check("before they are counted", 2)
	h.count()
	check("after they are counted", 2)
	_, err := h.Licenses.ReverseRefund(t.Context(), tester, reversed)
	h.Must(err)
	check("after a refund was reversed", 1)
	refund(first)
	check("after it was refunded again", 2)
}

// TestPartialRefund: a license with only its plan change refunded does not count as refunded.
func TestPartialRefund(t *testing.T) {
	h := newHarness(t)
	l := h.sell(h.partner, 1)
	_, err := h.Licenses.ChangePlan(t.Context(), tester, l.Key, license.PlanChange{Tier: 2, ExternalID: "up"})
	h.Must(err)
	_, err = h.Licenses.Refund(t.Context(), apptest.Tester, license.RefundOrder{PartnerID: h.partner.ID, PurchaseExternalID: "up"})
	h.Must(err)
	if n := h.sales(h.partner, 1); n.Total != (stats.Sales{Sold: 1}) {
		t.Errorf("%+v", n)
	}
}

// TestSalesOrder: the partner with the most sales is first; days outside the span and partners
// without sales are omitted.
func TestSalesOrder(t *testing.T) {
	h := newHarness(t)
	second, _, earlier := h.enrol("Second"), h.enrol("Without sales"), h.enrol("Whose counters of the day are zero")
	h.sell(h.partner, 9) // too long ago
	sold := h.sell(earlier, 1)
	h.clock.Advance(day)
	_, err := h.Licenses.Activate(t.Context(), tester, sold.Key, nil) // counted, but not a sale
	h.Must(err)
	h.sell(h.partner, 1)
	h.sell(second, 2)
	for range 2 {
		n := h.sales(partner.Partner{}, 1)
		want := []stats.PartnerSales{{PartnerID: second.ID, Sales: stats.Sales{Sold: 2}}, {PartnerID: h.partner.ID, Sales: stats.Sales{Sold: 1}}}
		if diff := cmp.Diff(want, n.Partners); diff != "" || n.Total.Sold != 3 || !n.CountedTo.IsZero() {
			t.Errorf("%+v (-want +got)\n%s", n, diff)
		}
		h.count() // same result after they are counted
	}
}

// TestSalesLag: while too many rows are not counted yet, the numbers say up to which time they are
// correct.
func TestSalesLag(t *testing.T) {
	h := newHarness(t)
	for range 30 {
		h.sell(h.partner, 100)
	}
	if n := h.sales(h.partner, 1); n.CountedTo.IsZero() || n.Total.Sold != 2000 {
		t.Errorf("while the job lags behind: %+v", n)
	}
	h.count()
	if n := h.sales(h.partner, 1); !n.CountedTo.IsZero() || n.Total.Sold != 3000 {
		t.Errorf("after it caught up: %+v", n)
	}
}

// TestRates: there is no rate without sales.
func TestRates(t *testing.T) {
	s := stats.Sales{Sold: 8, ActivatedSoon: 6, Refunded: 1}
	activated, _ := s.ActivationRate()
	if refunded, ok := s.RefundRate(); activated != 0.75 || refunded != 0.125 || !ok {
		t.Errorf("%v %v %v", activated, refunded, ok)
	}
	if _, ok := (stats.Sales{Refunded: 1}).RefundRate(); ok {
		t.Error("nothing sold has a rate")
	}
}
