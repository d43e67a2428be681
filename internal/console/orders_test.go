package console_test

import (
	"net/http"
	"strings"
	"testing"

	"claviger/internal/apptest"
	"claviger/internal/license"
	"claviger/internal/payment"
)

// freeOrder sells a plan for nothing in the shop.
func (h *harness) freeOrder() payment.Checkout {
	h.Helper()
	u := h.User(h.unique("free") + "@buyer.example")
	o := payment.Order{PartnerID: h.tide.ID, Partner: "Tide Planner", Tier: 1, PlanName: "Plan 1", Currency: "EUR", UserID: u.ID}
	_, err := h.Payments.SellFree(h.Context(), apptest.Tester, o, license.Purchase{
		PartnerID: h.tide.ID, Tier: 1, BuyerID: u.ID, Quantity: 1, Currency: "EUR", ExternalID: h.unique("form"), Shop: true,
	})
	h.Must(err)
	return h.orderOf(u.ID)
}

// orderOf returns the newest order of a buyer.
func (h *harness) orderOf(userID int64) payment.Checkout {
	h.Helper()
	found, err := h.Payments.FindOrders(h.Context(), payment.FindOrders{Users: []int64{userID}}, 0, 1)
	h.Must(err)
	if len(found.Orders) != 1 {
		h.Fatal("there is no order")
	}
	return found.Orders[0]
}

// begins begins an order of a buyer who has just signed up.
func (h *harness) begins(email string) payment.Checkout {
	h.Helper()
	u := h.User(email)
	c, err := h.Payments.Begin(h.Context(), payment.Order{
		PartnerID: h.tide.ID, Partner: "Tide Planner", Tier: 1, PlanName: "Plan 1", Amount: 4900, Currency: "EUR", UserID: u.ID, CancelPath: "/",
	})
	h.Must(err)
	return c
}

// begun writes an order without a payment page.
func (h *harness) begun(t *testing.T, email string) payment.Checkout {
	t.Helper()
	u := h.User(email)
	_, err := h.Payments.Begin(t.Context(), payment.Order{
		PartnerID: h.tide.ID, Partner: "Tide Planner", Tier: 1, PlanName: "Plan 1", Amount: 4900, Currency: "EUR", UserID: u.ID, CancelPath: "/",
	})
	if err == nil {
		t.Fatal("Stripe answers")
	}
	return h.orderOf(u.ID)
}

// TestOrdersPage: filters narrow the orders and their totals, and an unknown state is refused in a
// sentence.
func TestOrdersPage(t *testing.T) {
	h := start(t)
	stripe := h.takePayments()
	c := h.begins("ann@example.com")
	h.freeOrder()
	b := h.as(viewer)
	all := b.Get(path("/payments")).Want(http.StatusOK, "Payments").Text()
	for _, want := range []string{"Begun 1 49.00 EUR", "Paid 1 0.00 EUR", "free", "co_"} {
		if !strings.Contains(all, want) {
			t.Errorf("the page has no %q: %s", want, all)
		}
	}
	paid := b.Get(path("/payments?state=paid")).Text()
	if strings.Contains(paid, "ann@example.com") || !strings.Contains(paid, "free") {
		t.Errorf("the paid ones: %s", paid)
	}
	if one := b.Get(path("/payments?order=%s", c.SessionID)).Text(); !strings.Contains(one, "ann@example.com") || strings.Contains(one, "free-") {
		t.Errorf("by an id: %s", one)
	}
	wrong := b.Get(path("/payments?state=shipped"))
	if wrong.Status != http.StatusBadRequest || !strings.Contains(wrong.Text(), "must be one of begun, pending, paid, failed") {
		t.Errorf("an unknown state: %d %s", wrong.Status, wrong.Text())
	}
	stripe.Broken = func() bool { return true }
	begun := h.begun(t, "silent@example.com")
	if text := b.Get(path("/orders/%s", begun.Ref)).Text(); !strings.Contains(text, "The payment page was not opened") {
		t.Errorf("an order without a payment page: %s", text)
	}
	if text := b.Get(path("/orders/%s", c.Ref)).Text(); !strings.Contains(text, "Stripe could not be asked just now") || !strings.Contains(text, "The buyer can pay until") {
		t.Errorf("without Stripe: %s", text)
	}
}
