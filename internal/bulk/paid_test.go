package bulk_test

import (
	"net/http/httptest"
	"testing"

	"claviger/internal/account"
	"claviger/internal/bulk"
	"claviger/internal/payment"
	"claviger/internal/payment/fakestripe"
)

// TestPaidByStripeIsNotRecorded checks that a bulk act refunds only what was paid elsewhere. The
// license that was paid by Stripe keeps working, because its money did not move.
func TestPaidByStripeIsNotRecorded(t *testing.T) {
	h := newHarness(t)
	stripe := &fakestripe.Server{Secret: "whsec_test"}
	stripe.Now = func() int64 { return h.Accounts.Now().Unix() }
	server := httptest.NewServer(stripe)
	t.Cleanup(server.Close)
	stripe.URL = server.URL
	h.Payments.Stripe = payment.NewStripe(payment.StripeConfig{Key: "sk_test_1", WebhookSecrets: []string{"whsec_test"}, URL: server.URL})
	buyer, _, err := h.Accounts.Create(t.Context(), h.by, account.Person{Email: "bob@example.com"})
	h.Must(err)
	c, err := h.Payments.Begin(t.Context(), payment.Order{
		PartnerID: h.tide.ID, Partner: "Tide Planner", Tier: 1, PlanName: "One", Amount: 100, Currency: "USD", UserID: buyer.ID, CancelPath: "/",
	})
	h.Must(err)
	stripe.Pay(c.SessionID)
	for _, e := range stripe.Events() {
		h.Must(h.Payments.Receive(t.Context(), e.Body, stripe.Sign(e.Body)))
	}
	elsewhere := h.sell(1)
	j := h.prepare(bulk.Refund, "")
	if rows := h.rows(j, bulk.Skipped); j.Total != 2 || len(rows) != 1 || rows[0].Code != "paid_here" {
		t.Fatalf("of %d licenses these are skipped: %+v", j.Total, rows)
	}
	h.start(j)
	j = h.finish(j)
	n := h.Count(`SELECT count(*) FROM licenses WHERE ended AND license_key = $1`, elsewhere.Key)
	if all := h.Count(`SELECT count(*) FROM licenses WHERE ended`); j.Succeeded != 1 || n != 1 || all != 1 {
		t.Errorf("%d licenses are refunded, of those paid elsewhere %d: %+v", all, n, j)
	}
}
