package console_test

import (
	"net/http"
	"testing"

	"claviger/internal/apptest"
	"claviger/internal/license"
)

// TestRefundNamesAmountAndBuyer: the page that refunds and the page of a refund name the amount and
// the buyer, also after the refund was reversed.
func TestRefundNamesAmountAndBuyer(t *testing.T) {
	h := start(t)
	b := h.as(admin)
	sale := h.sold()
	key := sale.Licenses[0].Key
	for _, page := range []string{path("/licenses/%s/refund", key), path("/purchases/%d/refund", sale.ID)} {
		wants(t, b.Get(page), http.StatusOK, "Amount: $49.00. Buyer: "+buyer+".")
	}
	f, err := h.Licenses.Refund(t.Context(), apptest.Tester, license.RefundOrder{LicenseKey: key})
	h.Must(err)
	page := path("/refunds/%d", f.ID)
	wants(t, b.Get(page), http.StatusOK, "$49.00", buyer)
	_, err = h.Licenses.ReverseRefund(t.Context(), apptest.Tester, f.ID)
	h.Must(err)
	wants(t, b.Get(page), http.StatusOK, "$49.00", buyer)
	nobody, err := h.Licenses.Purchase(t.Context(), apptest.Tester, license.Purchase{PartnerID: h.tide.ID, Tier: 1, Quantity: 3, AmountCents: 10000, Currency: "USD"})
	h.Must(err)
	wants(t, b.Get(path("/purchases/%d/refund", nobody.ID)), http.StatusOK, "Amount: $100.00. No buyer was named.")
}
