package console_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"claviger/internal/apptest"
	"claviger/internal/license"
	"claviger/internal/payment"
	"claviger/internal/payment/fakestripe"
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
	found, err := h.Payments.FindOrders(h.Context(), payment.FindOrders{UserID: userID}, 0, 1)
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

// TestSupportCases: each way in which a buyer paid and has no license is answered by a search and
// the page that it leads to.
func TestSupportCases(t *testing.T) {
	h := start(t)
	stripe := h.takePayments()
	b := h.as(viewer)
	search := func(text string) string {
		t.Helper()
		page := b.Get(path("/search?q=%s", url.QueryEscape(text)))
		if page.Status == http.StatusSeeOther {
			page = b.Follow(page)
		}
		return page.Text()
	}
	tell := func() {
		t.Helper()
		for _, e := range stripe.Events() {
			h.Must(h.Payments.Receive(t.Context(), e.Body, stripe.Sign(e.Body)))
		}
	}
	says := func(name, text string, want ...string) {
		t.Helper()
		for _, w := range want {
			if !strings.Contains(text, w) {
				t.Errorf("%s: the page has no %q: %s", name, w, text)
			}
		}
	}

	waits := h.begins("waits@example.com")
	stripe.PayLater(waits.SessionID)
	tell()
	says("waiting for the bank", search("waits@example.com"), "Tide Planner, Plan 1", "Pending")
	says("waiting for the bank", search(waits.Ref), "the bank has not confirmed the payment", "Nobody has to do anything")

	lost := h.begins("lost@example.com")
	stripe.Pay(lost.SessionID) // no event arrives
	says("webhook lost", search(lost.SessionID), "Paid", "was sold and is not activated yet", "Stripe took the payment of 49.00 EUR")

	twice := h.begins("twice@example.com")
	other := h.begins("other@example.com")
	stripe.Change(other.SessionID, fakestripe.Object{"client_reference_id": twice.Ref})
	stripe.Pay(twice.SessionID)
	stripe.Pay(other.SessionID)
	tell()
	says("paid twice", search("twice@example.com"), "needs a person: paid twice")
	says("paid twice", search(twice.Ref), "Another payment bought the same already. Refund this one.", "The payment has an open problem")

	says("typo", search("wiats@example.con"), "Recent buyers with a similar one", "waits@example.com")

	h.Must(h.Partners.DeletePlan(t.Context(), apptest.Tester, h.tide.ID, 1))
	gone := h.begins("gone@example.com")
	stripe.Pay(gone.SessionID)
	says("plan removed", search(gone.SessionID), "The plan is no longer for sale. The license keeps it")

	charge := stripe.Objects("ch")[0].Text("id")
	says("by the charge", search(charge), "Reference "+gone.Ref)
	stripe.Broken = func() bool { return true }
	silent := h.begun(t, "silent@example.com")
	says("without Stripe", search(silent.Ref), "was not opened")
}

// begun writes an order whose payment page could not be opened.
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
	wrong := b.Get(path("/payments?state=payed"))
	if wrong.Status != http.StatusBadRequest || !strings.Contains(wrong.Text(), "must be one of begun, pending, paid, failed") {
		t.Errorf("an unknown state: %d %s", wrong.Status, wrong.Text())
	}
	stripe.Broken = func() bool { return true }
	if text := b.Get(path("/orders/%s", c.Ref)).Text(); !strings.Contains(text, "Stripe could not be asked just now") || !strings.Contains(text, "The buyer can pay until") {
		t.Errorf("without Stripe: %s", text)
	}
}
