package shop_test

import (
	"net/http"
	"strings"
	"testing"

	"claviger/internal/account"
	"claviger/internal/fault"
	"claviger/internal/license"
	"claviger/internal/partner"
	"claviger/internal/visitor/pagetest"
)

// TestDowngradePage: a cheaper plan says how much is covered, that nothing is refunded, that
// the way back is free, and which features change. It names no money of a former owner.
func TestDowngradePage(t *testing.T) {
	h, b, _ := annAndLicense(t)
	stripe := withStripe(t, h)
	for tier, features := range map[int][]string{1: {"One seat", "Email support"}, 2: {"One seat", "Ten projects"}} {
		plan, err := h.Shop.Partners.Plan(t.Context(), h.Partner.ID, tier)
		if err != nil {
			t.Fatal(err)
		}
		plan.Features = features
		if _, _, err := h.Shop.Partners.PutPlan(t.Context(), pagetest.Tester, h.Partner.ID, plan); err != nil {
			t.Fatal(err)
		}
	}
	b.Press(b.Get("/products/1"), "Buy Plan 2")
	session, back := ref(stripe)
	stripe.Pay(session)
	change := strings.Replace(b.Get(back).Header.Get("Location"), "/consent?paid=1", "/change_plan", 1)
	says(t, b.Get(change), "Your payment of $98.00 covers it. You can go back to Plan 2 later at no cost.")
	page := b.Get(change + "?tier=1")
	for _, want := range []string{
		"Current plan Plan 2 New plan Plan 1 Price $49.00 Already covered $49.00 Due today Nothing",
		"Your payment of $98.00 covers it.", "The difference isn't refunded.", "You can go back to Plan 2 later at no cost.",
		"You gain Email support", "You lose Ten projects",
	} {
		says(t, page, want)
	}
	l, err := h.Shop.Licenses.ByRedemption(t.Context(), strings.Split(change, "/")[2])
	if err == nil {
		h.AddUser("bob@example.com", pagetest.Password)
		_, err = h.Shop.Licenses.Transfer(t.Context(), pagetest.Tester, l.Key, account.Person{Email: "bob@example.com"})
	}
	if err != nil {
		t.Fatal(err)
	}
	bob := h.NewBrowser().SignIn("bob@example.com", pagetest.Password)
	page = bob.Get(change + "?tier=1")
	says(t, page, "The price is already covered.")
	if strings.Contains(page.Text(), "$98.00") {
		t.Errorf("it tells bob what ann paid: %s", page.Text())
	}
	says(t, bob.Get(change+"?tier=3"), "$98.00 of the price is already covered.")
}

// TestNoPlanChangeOnHold: while a license is on hold, the shop changes no plan.
func TestNoPlanChangeOnHold(t *testing.T) {
	h, b, l := annAndLicense(t)
	change := "/licensing/" + l.RedemptionID + "/change_plan"
	form := b.Get(change + "?tier=2")
	if _, err := h.Shop.Licenses.Hold(t.Context(), pagetest.Tester, l.Key, license.HoldChargeback); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{change, change + "?tier=2"} {
		page := b.Get(path)
		says(t, page, "This license is on hold")
		if strings.Contains(page.Text(), "Change to Plan") {
			t.Errorf("%s offers a plan: %s", path, page.Text())
		}
	}
	says(t, b.Press(form, "Pay $98.00").Want(http.StatusConflict, "That did not work"), "while the license is on hold")
	if now, err := h.Shop.Licenses.ByKey(t.Context(), l.Key); err != nil || now.Tier != 1 {
		t.Errorf("the license is %+v, %v", now, err)
	}
	// A checkout that was opened before the hold is refused when it starts, too.
	withStripe(t, h)
	says(t, b.Post(change, "tier", "2").Want(http.StatusConflict, "That did not work"), "while the license is on hold")
}

// TestCreditGone: a free change is refused if the payment that covered it was refunded.
func TestCreditGone(t *testing.T) {
	h, b, _ := annAndLicense(t)
	stripe := withStripe(t, h)
	free := partner.Plan{Tier: 4, Name: "Free", Currency: "USD"}
	if _, _, err := h.Shop.Partners.PutPlan(t.Context(), pagetest.Tester, h.Partner.ID, free); err != nil {
		t.Fatal(err)
	}
	b.Press(b.Get("/products/1"), "Buy Plan 2")
	session, back := ref(stripe)
	stripe.Pay(session)
	change := strings.Replace(b.Get(back).Header.Get("Location"), "/consent?paid=1", "/change_plan", 1)
	b.Press(b.Get(change+"?tier=4"), "Change plan")
	form := b.Get(change + "?tier=1")
	says(t, form, "Due today Nothing")
	l, err := h.Shop.Licenses.ByRedemption(t.Context(), strings.Split(change, "/")[2])
	if err != nil {
		t.Fatal(err)
	}
	named, err := h.Shop.Licenses.Named(t.Context(), license.RefundOrder{LicenseKey: l.Key})
	if err != nil {
		t.Fatal(err)
	}
	order := license.RefundOrder{PurchaseID: named.Sales[0], Reported: true}
	if _, err := h.Shop.Licenses.Refund(t.Context(), pagetest.Tester, order); err != nil {
		t.Fatal(err)
	}
	plan, err := h.Shop.Partners.Plan(t.Context(), h.Partner.ID, 1)
	if err != nil {
		t.Fatal(err)
	}
	err = h.Shop.Payments.ChangeFree(t.Context(), pagetest.Tester, l, plan, "late")
	if !fault.Is(err, license.CodeCreditGone) {
		t.Errorf("changed under the lock: %v", err)
	}
	// The price was computed again, so the form leads to the payment of the full price.
	paid := b.Press(form, "Change plan")
	if to := paid.Header.Get("Location"); paid.Status != http.StatusSeeOther || !strings.HasPrefix(to, stripe.URL) {
		t.Errorf("got %d to %s: %s", paid.Status, to, paid.Text())
	}
}
