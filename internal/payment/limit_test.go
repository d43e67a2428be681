package payment_test

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"claviger/internal/event"
	"claviger/internal/license"
	"claviger/internal/partner"
	"claviger/internal/payment"
)

// limit sets the maximum of tier 1 licenses per buyer.
func (h *harness) limit(n int) {
	h.Helper()
	plan := partner.Plan{Tier: 1, Name: "Tier 1", PriceCents: 5900, Currency: "USD", MaxPerBuyer: partner.BuyerLimitOf(n)}
	if _, _, err := h.partners.PutPlan(h.Context(), tester, h.partner, plan); err != nil {
		h.Fatal(err)
	}
}

// sell sells the buyer a license of tier 1 with the operator's API.
func (h *harness) sell(externalID string) license.License {
	h.Helper()
	sale, err := h.licenses.Purchase(h.Context(), tester, license.Purchase{PartnerID: h.partner, Tier: 1, BuyerID: h.buyer.ID, Quantity: 1, ExternalID: externalID})
	if err != nil {
		h.Fatal(err)
	}
	return sale.Licenses[0]
}

// TestLimit: a checkout over the limit is not begun, and an open one is not returned again. If it
// is paid anyway it is sold, because money has moved.
func TestLimit(t *testing.T) {
	h := newHarness(t)
	h.limit(2)
	h.sell("one")
	open := h.begin(h.order())
	two := h.sell("two")
	for _, how := range []string{"resume", "begin"} {
		if _, err := h.book.Begin(t.Context(), h.order()); code(err) != license.CodeTooManyLicenses {
			t.Errorf("%s: %v", how, err)
		}
		if how == "resume" {
			h.stripe.Pay(open.SessionID)
			h.deliver(h.stripe.Events()...)
			h.want("paid", open, payment.Sold, event.Inactive, false)
		}
	}
	if n := h.count(`SELECT count(*) FROM checkouts`); n != 1 {
		t.Errorf("%d checkouts", n)
	}
	change := h.order()
	change.LicenseKey = two.Key
	h.begin(change) // a plan change makes no new license
	h.limit(0)
	h.begin(h.order())
}

// TestLimitUnderTheLock: a license that is sold while a checkout is begun counts.
func TestLimitUnderTheLock(t *testing.T) {
	h := newHarness(t)
	h.limit(1)
	var once sync.Once
	h.book.Now = func() time.Time { // called between the first check and the insert of the checkout
		once.Do(func() { h.sell("meanwhile") })
		return h.now()
	}
	if c, err := h.book.Begin(t.Context(), h.order()); code(err) != license.CodeTooManyLicenses {
		t.Errorf("got %+v, %v", c, err)
	}
	if n := h.count(`SELECT count(*) FROM checkouts`); n != 0 {
		t.Errorf("%d checkouts", n)
	}
}

// TestLimitOfPaidCheckouts: two payments that the bank confirms late are both sold.
func TestLimitOfPaidCheckouts(t *testing.T) {
	h := newHarness(t)
	h.limit(1)
	list := make([]payment.Checkout, 2)
	for i := range list {
		list[i] = h.begin(h.order())
		h.stripe.PayLater(list[i].SessionID)
		h.deliver(h.stripe.Events()...)
	}
	for i, c := range list {
		h.stripe.Settle(c.SessionID, true)
		h.deliver(h.stripe.Events()...)
		h.want(fmt.Sprint("checkout ", i), c, payment.Sold, event.Inactive, false)
	}
}
