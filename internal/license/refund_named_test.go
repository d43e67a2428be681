package license_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"claviger/internal/fault"
	"claviger/internal/license"
)

// TestNamed: an order of a refund names the purchases of its license, or its purchase, and
// which of them have something left to refund.
func TestNamed(t *testing.T) {
	h := newHarness(t)
	p := h.partner()
	sale, err := h.tryBuy(license.Purchase{PartnerID: p, Tier: 1, Quantity: 2, ExternalID: "base"})
	if err != nil {
		t.Fatal(err)
	}
	s := &script{harness: h, l: sale.Licenses[0]}
	s.steps(t, []string{"plan 2 up", "refund"})
	up := sale.ID + 1
	other := sale.Licenses[1].Key
	for name, c := range map[string]struct {
		order license.RefundOrder
		want  license.Named
		code  string
	}{
		"a license": {
			order: license.RefundOrder{LicenseKey: s.l.Key},
			want:  license.Named{PartnerID: p, LicenseKey: s.l.Key, Sales: []int64{sale.ID, up}},
		},
		"another license": {
			order: license.RefundOrder{LicenseKey: other},
			want:  license.Named{PartnerID: p, LicenseKey: other, Sales: []int64{sale.ID}, Open: []int64{sale.ID}},
		},
		"a purchase, refunded in part": {
			order: license.RefundOrder{PurchaseID: sale.ID},
			want:  license.Named{PartnerID: p, Sales: []int64{sale.ID}, Open: []int64{sale.ID}},
		},
		"by its external id": {
			order: license.RefundOrder{PartnerID: p, PurchaseExternalID: "base"},
			want:  license.Named{PartnerID: p, Sales: []int64{sale.ID}, Open: []int64{sale.ID}},
		},
		"a plan change that was refunded": {
			order: license.RefundOrder{PurchaseID: up},
			want:  license.Named{PartnerID: p, Sales: []int64{up}},
		},
		"no such purchase": {order: license.RefundOrder{PurchaseID: 99}, code: license.CodeUnknownPurchase},
		"of another partner": {
			order: license.RefundOrder{PartnerID: h.partner(), PurchaseID: sale.ID}, code: license.CodeUnknownPurchase,
		},
	} {
		got, err := h.licenses.Named(t.Context(), c.order)
		if diff := cmp.Diff(c.want, got); diff != "" || code(err) != c.code {
			t.Errorf("%s: %v (-want +got)\n%s", name, err, diff)
		}
		if f := fault.Of(err); f != nil && f.Field != "purchase_id" {
			t.Errorf("%s: refused is the field %q", name, f.Field)
		}
	}
}

// TestEraseReasons: an erasure removes the notes on refunds of licenses that the person
// owned then, and no others.
func TestEraseReasons(t *testing.T) {
	h := newHarness(t)
	p := h.partner()
	for _, name := range []string{"ann", "bob", ""} {
		order := license.Purchase{PartnerID: p, Tier: 1}
		if name != "" {
			order.Buyer = new(person(name))
		}
		s := &script{harness: h, l: h.buy(order)[0]}
		if err := s.refund(license.RefundOrder{LicenseKey: s.l.Key, Reason: "of " + name}); err != nil {
			t.Fatal(err)
		}
		if name == "bob" {
			s.steps(t, []string{"transfer ann"}) // it was bob's when it was refunded
		}
	}
	if _, err := h.licenses.EraseUser(t.Context(), tester, h.user("ann").ID); err != nil {
		t.Fatal(err)
	}
	got := h.count(`SELECT count(*) FROM refunds WHERE reason <> ''`)
	if left := h.count(`SELECT count(*) FROM refunds WHERE reason IN ('of bob', 'of ')`); got != 2 || left != 2 {
		t.Errorf("%d notes are left, %d of them of others", got, left)
	}
}
