package console_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"claviger/internal/apptest"
	"claviger/internal/partner"
	"claviger/internal/payment"
	"claviger/internal/refundrequest"
)

// asked buys a license by the fake Stripe and asks for a refund of it.
func (h *harness) asked(pay func(session string)) refundrequest.Request {
	h.Helper()
	c, err := h.Payments.Begin(h.Context(), payment.Order{
		PartnerID: h.tide.ID, Partner: "Tide", Tier: 1, PlanName: "One", Amount: 4900, Currency: "EUR", UserID: h.User(buyer).ID, CancelPath: "/",
	})
	h.Must(err)
	pay(c.SessionID)
	c, err = h.Payments.Look(h.Context(), c)
	h.Must(err)
	list, err := h.Licenses.OfSale(h.Context(), c.PurchaseID)
	h.Must(err)
	r, err := h.Payments.RequestRefund(h.Context(), apptest.Tester, list[0], h.User(buyer).ID, "Too <b>slow</b>.")
	h.Must(err)
	return r
}

// TestRefundRequests: a request is on Today and Payments; a person refunds it, or declines it with a
// reason. The buyer's data file has it.
func TestRefundRequests(t *testing.T) {
	h := start(t)
	h.setUp()
	stripe := h.takePayments()
	days := 14
	_, err := h.Partners.ChangeProduct(t.Context(), apptest.Tester, h.tide.ID, partner.ProductChange{RefundDays: &days})
	h.Must(err)
	first, second := h.asked(stripe.Pay), h.asked(stripe.Pay)
	b := h.as(sales)
	wants(t, b.Get(path("")), http.StatusOK, "Refund requests", fmt.Sprintf("Refund request %d", first.ID), "49.00 EUR")
	wants(t, b.Get(path("/payments")), http.StatusOK, "Refund requests that wait", buyer, "Too <b>slow</b>.")
	wantsNone(t, h.as(viewer).Get(path("/refund-requests")), "/refund\"", "/decline\"")
	wants(t, b.Get(path("/refund-requests")+"?state=open"), http.StatusBadRequest, "There is a problem")
	one := path("/refund-requests/%d", first.ID)
	wants(t, b.Get(one), http.StatusOK, "49.00 EUR", buyer, first.LicenseKey)
	ask := b.Get(one + "/refund")
	wants(t, ask, http.StatusOK, "Refund 49.00 EUR to "+buyer, "the partner gets a deactivate")
	wants(t, b.Follow(b.Press(ask, "Refund 49.00 EUR")), http.StatusOK, "Under way since")
	if again := b.Press(ask, "Refund 49.00 EUR"); again.Status != http.StatusConflict {
		t.Errorf("the same page again: %d %s", again.Status, again.Text())
	}
	if _, err := payment.NewJob(h.Payments).Once(t.Context()); err != nil {
		t.Fatal(err)
	}
	wants(t, b.Get(one), http.StatusOK, "Refunded")
	other := path("/refund-requests/%d/decline", second.ID)
	decline := b.Get(other).Want(http.StatusOK, "Decline the refund request")
	b.Press(decline, "Decline", "reason", " ").Want(http.StatusUnprocessableEntity, "Decline the refund request")
	wants(t, b.Follow(b.Press(decline, "Decline", "reason", "It was used.")), http.StatusOK, "It was used.", "Declined")
	wantsNone(t, b.Get(path("")), "Refund request ")
	data := h.as(buyer).Get("/account/data")
	for _, text := range []string{`"refund_requests"`, `"answer": "It was used."`, `"state": "refunded"`} {
		if !strings.Contains(data.Body, text) {
			t.Errorf("the buyer's data has no %s: %s", text, data.Body)
		}
	}
	if n := len(stripe.Objects("re")); n != 1 {
		t.Errorf("%d refunds at Stripe", n)
	}
}
