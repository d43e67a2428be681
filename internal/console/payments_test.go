package console_test

import (
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"time"

	"claviger/internal/apptest"
	"claviger/internal/license"
	"claviger/internal/payment"
	"claviger/internal/payment/fakestripe"
)

// paymentProblem creates a payment that needs attention.
func (h *harness) paymentProblem() int64 {
	h.Helper()
	object := "cs_" + strconv.FormatInt(time.Now().UnixNano(), 36)
	h.Exec(`INSERT INTO payment_problems (kind, object_id, checkout_id, partner_id, intent_id, amount, currency, created_at, done_at)
		VALUES ('paid_other_amount', $1, 0, $2, $1, 4900, 'EUR', $3, 0)`, object, h.tide.ID, h.Accounts.Now())
	return h.Count(`SELECT id FROM payment_problems WHERE object_id = $1`, object)
}

// takePayments connects the console's marketplace to a fake Stripe.
func (h *harness) takePayments() *fakestripe.Server {
	h.Helper()
	stripe := &fakestripe.Server{Secret: "whsec_test"}
	stripe.Now = func() int64 { return h.Accounts.Now().Unix() }
	server := httptest.NewServer(stripe)
	h.Cleanup(server.Close)
	stripe.URL = server.URL
	h.Payments.Stripe = payment.NewStripe(payment.StripeConfig{Key: "sk_test_1", WebhookSecrets: []string{"whsec_test"}, URL: server.URL})
	return stripe
}

// TestPaymentProblems: a payment that bought nothing is on Today with its refund, and is refunded
// or marked.
func TestPaymentProblems(t *testing.T) {
	h := start(t)
	b := h.as(admin)
	b.Get(path("/payments")).Want(http.StatusOK, "Payments")
	id := strconv.FormatInt(h.paymentProblem(), 10)
	if home := b.Get(path("")); !strings.Contains(home.Text(), "Payments that need a person") {
		t.Errorf("Today says %s", home.Text())
	}
	list := b.Get(path("/payments"))
	if !strings.Contains(list.Text(), "Another amount or currency was paid") || !strings.Contains(list.Text(), "49.00 EUR") {
		t.Errorf("the list says %s", list.Text())
	}
	ask := b.Get(path("/payments/%s/refund", id)).Want(http.StatusOK, "Refund the payment")
	b.Follow(b.Press(ask, "Refund it")).Want(http.StatusOK, "Payments")
	if n := h.Count(`SELECT count(*) FROM payment_refunds WHERE status = 1`); n != 1 {
		t.Errorf("%d refunds are asked for", n)
	}
	other := strconv.FormatInt(h.paymentProblem(), 10)
	dismiss := b.Get(path("/payments/%s/dismiss", other))
	b.Follow(b.Press(dismiss, "Mark it"))
	if again := b.Press(dismiss, "Mark it"); again.Status != http.StatusConflict || !strings.Contains(again.Text(), "dealt with") {
		t.Errorf("marked twice: %d %s", again.Status, again.Text())
	}
}

// TestPlanChangePrice: an admin sets the price of a plan change, if payments are taken.
func TestPlanChangePrice(t *testing.T) {
	h := start(t)
	b, plans := h.as(admin), path("/partners/%d/plans", h.tide.ID)
	if page := b.Get(plans); strings.Contains(page.Text(), "What a change of plan costs") {
		t.Errorf("without payments the page says %s", page.Text())
	}
	h.takePayments()
	if page := b.Get(plans); !strings.Contains(page.Text(), "The difference: the new price, less what was paid") {
		t.Errorf("the page says %s", page.Text())
	}
	ask := b.Get(plans+"/change-price").Want(http.StatusOK, "What a change of plan costs")
	done := b.Follow(b.Press(ask, "Save", "plan_change_price", "full_price"))
	if !strings.Contains(done.Text(), "The full price of the new plan.") {
		t.Errorf("then it says %s", done.Text())
	}
	if rule, err := h.Payments.PlanRuleOf(t.Context(), h.tide.ID); err != nil || rule != payment.FullPrice {
		t.Errorf("stored %q, %v", rule, err)
	}
	if again := b.Press(ask, "Save", "plan_change_price", "not_in_shop"); again.Status != http.StatusConflict {
		t.Errorf("a form that was made before: %d %s", again.Status, again.Text())
	}
	b.Press(b.Get(plans+"/change-price"), "Save", "plan_change_price", "half").Want(http.StatusUnprocessableEntity, "What a change of plan costs")
	viewer := h.as(viewer)
	if page := viewer.Get(plans); strings.Contains(page.Body, "/change-price") {
		t.Error("a viewer is led to the form")
	}
}

// TestRefundByStripe: the refund of a Stripe payment moves the money, or is only recorded if the
// person chooses so.
func TestRefundByStripe(t *testing.T) {
	h := start(t)
	stripe, b := h.takePayments(), h.as(admin)
	u := h.User("payer@example.com")
	buy := func() payment.Checkout {
		c, err := h.Payments.Begin(t.Context(), payment.Order{
			PartnerID: h.tide.ID, Partner: "Tide", Tier: 1, PlanName: "One", Amount: 4900, Currency: "EUR", UserID: u.ID, CancelPath: "/",
		})
		h.Must(err)
		stripe.Pay(c.SessionID)
		c, err = h.Payments.Look(t.Context(), c)
		h.Must(err)
		return c
	}
	page := func(c payment.Checkout) string { return path("/purchases/%d/refund", c.PurchaseID) }
	first, second := buy(), buy()
	ask := b.Get(page(first))
	if !strings.Contains(ask.Text(), "Stripe is asked to pay 49.00 EUR for Tide, One back") || strings.Contains(ask.Text(), "It moves no money") {
		t.Errorf("the page says %s", ask.Text())
	}
	b.Follow(b.Press(ask, "Refund"))
	if _, err := payment.NewJob(h.Payments).Once(t.Context()); err != nil {
		t.Fatal(err)
	}
	if n := h.Count(`SELECT count(*) FROM purchase_links WHERE purchase_id = $1 AND refund_id <> 0`, first.PurchaseID); n != 1 || len(stripe.Objects("re")) != 1 {
		t.Errorf("%d refunded, %d at Stripe", n, len(stripe.Objects("re")))
	}
	b.Follow(b.Press(b.Get(page(second)), "Refund", "record_only", "yes"))
	if n := h.Count(`SELECT count(*) FROM purchase_links WHERE purchase_id = $1 AND refund_id <> 0`, second.PurchaseID); n != 1 || len(stripe.Objects("re")) != 1 {
		t.Errorf("%d recorded, %d at Stripe", n, len(stripe.Objects("re")))
	}
}

// TestRefundedButWorking: Today lists a license that was refunded but still works, and its button
// ends it without touching the payment.
func TestRefundedButWorking(t *testing.T) {
	h := start(t)
	h.setUp()
	l := h.sell()
	order := license.RefundOrder{LicenseKey: l.Key}
	_, err := h.Licenses.Refund(t.Context(), apptest.Tester, order)
	h.Must(err)
	h.Exec(`INSERT INTO purchases (id, partner_id, kind, external_id, tier, quantity, amount_cents, currency, user_id, shop, content, created_at)
		VALUES (900, $1, 2, '', 1, 1, 0, 'USD', 0, TRUE, '', 1)`, h.tide.ID)
	h.Exec(`INSERT INTO purchase_links (license_id, seq, purchase_id, tier, refund_id) VALUES ($1, 2, 900, 1, 0)`, l.ID)
	h.Exec(`UPDATE licenses SET ended = FALSE, status = 1 WHERE id = $1`, l.ID)
	h.Exec(`INSERT INTO refunded_but_working (license_id) VALUES ($1)`, l.ID)
	wantsNone(t, h.as(viewer).Get(path("")), "?only=free")
	b := h.as(admin)
	wants(t, b.Get(path("")), http.StatusOK, "Refunded but still working", l.Key, "Sold for Tide Planner.")
	ask := b.Get(path("/licenses/%s/refund", l.Key)+"?only=free").Want(http.StatusOK, "Refund the plan changes that cost nothing")
	wants(t, b.Follow(b.Press(ask, "Record the refund")), http.StatusOK, "The refund is recorded.")
	if now, err := h.Licenses.ByKey(t.Context(), l.Key); err != nil || !now.Ended {
		t.Errorf("it still works: %+v, %v", now, err)
	}
	wantsNone(t, b.Get(path("")), "Refunded but still working")
}
