package payment_test

import (
	"testing"
	"time"

	"claviger/internal/event"
	"claviger/internal/license"
	"claviger/internal/payment"
)

// TestAskRefunds: what was paid here goes back by Stripe, and the licenses are refunded when
// Stripe has done it, once however often it is asked for. A whole license takes all that
// was paid for it, and what was free besides.
func TestAskRefunds(t *testing.T) {
	h := newHarness(t)
	base := h.begin(h.order())
	h.stripe.Pay(base.SessionID)
	h.deliver(h.stripe.Events()...)
	l := h.licensesOf(base)[0]
	o := h.tier(2)
	o.LicenseKey, o.Amount = l.Key, 5900
	change := h.begin(o)
	h.stripe.Pay(change.SessionID)
	h.deliver(h.stripe.Events()...)
	if _, err := h.licenses.ChangePlan(t.Context(), tester, l.Key, license.PlanChange{Tier: 1, ExternalID: "free"}); err != nil {
		t.Fatal(err)
	}
	order := license.RefundOrder{LicenseKey: l.Key, ExternalID: "r-1"}
	for range 2 {
		list, here, err := h.book.AskRefunds(t.Context(), tester, order, "r-1")
		if err != nil || !here || len(list) != 2 || list[0].Status != payment.RefundAsked {
			t.Fatalf("asked %+v, %t, %v", list, here, err)
		}
	}
	h.want("asked", base, payment.Sold, event.Inactive, false)
	broken := true
	h.stripe.Broken = func() bool { return broken }
	if _, err := h.job.Once(t.Context()); err == nil {
		t.Error("an outage of Stripe is no error of the job")
	}
	broken = false
	h.ahead += 2 * time.Minute
	h.work()
	h.want("done", base, payment.Sold, event.Deactivated, false)
	if n := len(h.stripe.Objects("re")); n != 2 || h.count(`SELECT count(*) FROM purchase_links WHERE refund_id = 0`) != 0 {
		t.Errorf("%d refunds at Stripe, %d links open", n, h.count(`SELECT count(*) FROM purchase_links WHERE refund_id = 0`))
	}
	if list, _, err := h.book.AskRefunds(t.Context(), tester, order, "r-1"); err != nil || len(list) != 2 || list[1].Status != payment.RefundSucceeded {
		t.Errorf("asked again %+v, %v", list, err)
	}
	if _, _, err := h.book.AskRefunds(t.Context(), tester, order, "r-2"); code(err) != "already_refunded" {
		t.Errorf("another: %v", err)
	}
	sale, err := h.licenses.Purchase(t.Context(), tester, license.Purchase{PartnerID: h.partner, Tier: 1, Quantity: 1, AmountCents: 100, Currency: "USD", ExternalID: "own"})
	if err != nil {
		t.Fatal(err)
	}
	if _, here, err := h.book.AskRefunds(t.Context(), tester, license.RefundOrder{PurchaseID: sale.ID}, ""); here || err != nil {
		t.Errorf("what was paid elsewhere: %t, %v", here, err)
	}
}

// TestRefusedRefund: a refund that Stripe refuses leaves the license as it is, and a person
// is told.
func TestRefusedRefund(t *testing.T) {
	h := newHarness(t)
	c := h.begin(h.order())
	h.stripe.Pay(c.SessionID)
	h.deliver(h.stripe.Events()...)
	h.stripe.Refund(c.SessionID, 2950, "succeeded") // and we do not know of it
	if _, err := h.book.AskRefund(t.Context(), tester, h.checkout(c), payment.Ask{}); err != nil {
		t.Fatal(err)
	}
	if _, err := h.job.Once(t.Context()); err != nil {
		t.Fatal(err)
	}
	h.want("refused", c, payment.Sold, event.Inactive, false)
	if got := h.problems(); len(got) != 1 || got[0] != payment.RefundRefused {
		t.Errorf("problems %v", got)
	}
}
