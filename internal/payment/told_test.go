package payment_test

import (
	"encoding/json"
	"strings"
	"testing"

	"claviger/internal/license"
	"claviger/internal/sqldb"
)

// TestWhatStripeIsTold: Stripe gets the name of our checkout and the words of the page, and nothing
// about the buyer.
func TestWhatStripeIsTold(t *testing.T) {
	h := newHarness(t)
	c := h.begin(h.order())
	o := h.stripe.Objects("cs")[0]
	for name, want := range map[string]string{
		"client_reference_id": c.Ref, "intent_metadata": c.Ref, "item": "App, Tier 1", "currency": "usd",
		"idempotency_key": c.Ref, "adaptive": "false",
		"success_url": "https://shop.example/checkout/" + c.Ref, "cancel_url": "https://shop.example/products/1",
	} {
		if o.Text(name) != want {
			t.Errorf("%s is %q, want %q", name, o.Text(name), want)
		}
	}
	if o["amount_total"] != int64(5900) {
		t.Errorf("the buyer pays %v", o["amount_total"])
	}
	h.stripe.Pay(c.SessionID)
	h.deliver(h.stripe.Events()...)
	if _, _, err := h.book.AskRefunds(t.Context(), tester, license.RefundOrder{PurchaseID: h.checkout(c).PurchaseID}, "order-1"); err != nil {
		t.Fatal(err)
	}
	h.work()
	refund := h.stripe.Objects("re")[0]
	if request := h.refundRequest(); refund.Text("idempotency_key") != request || request == "" {
		t.Errorf("the refund is repeated as %q, want %q", refund.Text("idempotency_key"), request)
	}
	raw, err := json.Marshal(o)
	if err != nil || strings.Contains(string(raw), "ann@") {
		t.Errorf("Stripe was told %s", raw)
	}
	if len(c.Ref) > 200 {
		t.Errorf("the name has %d characters", len(c.Ref))
	}
}

// refundRequest returns our name of the only requested refund.
func (h *harness) refundRequest() string {
	h.Helper()
	name, err := sqldb.One(h.Context(), h.db, sqldb.Value[string], `SELECT request FROM payment_refunds WHERE request <> ''`)
	if err != nil {
		h.Fatal(err)
	}
	return name
}
