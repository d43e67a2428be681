package support_test

import (
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"claviger/internal/payment"
	"claviger/internal/payment/fakestripe"
	"claviger/internal/support"
)

// TestCaseTellsOfPayments: the payment of a license, partial refunds that were made at Stripe, and
// disputes are in its timeline and in the text for a reply.
func TestCaseTellsOfPayments(t *testing.T) {
	m := newMarket(t)
	stripe := &fakestripe.Server{Secret: "whsec_test", Now: func() int64 { return m.Licenses.Now().Unix() }}
	server := httptest.NewServer(stripe)
	t.Cleanup(server.Close)
	stripe.URL = server.URL
	m.Payments.Stripe = payment.NewStripe(payment.StripeConfig{Key: "sk_test_1", WebhookSecrets: []string{"whsec_test"}, URL: server.URL})
	seen := len(stripe.Events())
	settle := func() {
		t.Helper()
		for _, e := range stripe.Events()[seen:] {
			m.Must(m.Payments.Receive(t.Context(), e.Body, stripe.Sign(e.Body)))
		}
		seen = len(stripe.Events())
		_, err := payment.NewJob(m.Payments).Once(t.Context()) // looks up the events of disputes
		m.Must(err)
	}
	u := m.User("payer@example.com")
	c, err := m.Payments.Begin(t.Context(), payment.Order{
		PartnerID: m.tide.ID, Partner: "Tide", Tier: 1, PlanName: "One", Amount: 4900, Currency: "EUR", UserID: u.ID, CancelPath: "/",
	})
	m.Must(err)
	stripe.Pay(c.SessionID)
	c, err = m.Payments.Look(t.Context(), c)
	m.Must(err)
	list, err := m.Licenses.OfSale(t.Context(), c.PurchaseID)
	m.Must(err)

	told := func() (said []string, text string) {
		t.Helper()
		file, err := m.Support.Case(t.Context(), list[0].Key)
		m.Must(err)
		for _, e := range slices.Backward(file.Entries) {
			if e.Kind == support.Payment {
				said = append(said, e.Title+". "+e.Text)
			}
		}
		return said, file.Text()
	}
	took := "Stripe took the payment of 49.00 EUR. "
	part := "A refund of 10.00 EUR was begun at Stripe, a part of the payment. The money went back. "
	stripe.Refund(c.SessionID, 1000, "succeeded")
	settle()
	said, text := told()
	want := []string{took, part + "The license works as before: it is refunded when all that was paid went back."}
	if diff := cmp.Diff(want, said); diff != "" {
		t.Error(diff)
	}
	if !strings.Contains(text, "A refund of 10.00 EUR was begun at Stripe") || strings.Contains(text, "pi_") {
		t.Errorf("the text for a reply:\n%s", text)
	}
	id := stripe.Dispute(c.SessionID, "needs_response")
	settle()
	said, _ = told()
	if want := "The buyer's bank asked for 49.00 EUR back. The license is on hold. The marketplace has to answer it. Evidence is due by "; len(said) != 3 || !strings.HasPrefix(said[2], want) {
		t.Errorf("of a dispute it says %q", said)
	}
	stripe.SetDispute(id, "lost")
	settle()
	said, text = told()
	if len(said) != 3 || said[2] != "The buyer's bank asked for 49.00 EUR back. It ended for the buyer: the money went back, and the purchase is refunded." || strings.Contains(text, "works as before") {
		t.Errorf("of a lost dispute it says %q\n%s", said, text)
	}
}
