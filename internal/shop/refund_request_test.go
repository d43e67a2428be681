package shop_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"claviger/internal/license"
	"claviger/internal/partner"
	"claviger/internal/payment"
	"claviger/internal/refundrequest"
	"claviger/internal/visitor/pagetest"
)

// refundable is a shop with a fake Stripe, whose product has refund days. It returns the license
// that Ann bought, and lets Stripe's job run.
func refundable(t *testing.T) (h *pagetest.Service, b *pagetest.Browser, l license.License, work func()) {
	t.Helper()
	h, b, _ = annAndLicense(t)
	stripe := withStripe(t, h)
	p := h.Shop.Payments
	p.Requests = &refundrequest.Store{DB: h.DB, Now: h.Shop.Now, Marketplace: "Harbour"}
	h.Shop.Licenses.OnUncovered = p.Uncovered
	h.Shop.Licenses.Record = p.Record
	days := 14
	if _, err := h.Shop.Partners.ChangeProduct(t.Context(), pagetest.Tester, h.Partner.ID, partner.ProductChange{RefundDays: &days}); err != nil {
		t.Fatal(err)
	}
	b.Press(b.Get("/products/1"), "Buy Plan 1")
	session, _ := ref(stripe)
	stripe.Pay(session)
	post(t, h, stripe, stripe.Events()...)
	c, err := p.ByRef(t.Context(), stripe.Objects("cs")[0].Text("client_reference_id"))
	if err != nil {
		t.Fatal(err)
	}
	list, err := h.Shop.Licenses.OfSale(t.Context(), c.PurchaseID)
	if err != nil || len(list) != 1 {
		t.Fatalf("%+v, %v", list, err)
	}
	return h, b, list[0], func() {
		t.Helper()
		if _, err := payment.NewJob(p).Once(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
}

// TestRequestRefund: until the last day, the page of a license leads to a page that names the
// amount and the effect; then it says how the request stands.
func TestRequestRefund(t *testing.T) {
	h, b, l, work := refundable(t)
	if page := b.Get("/products/1"); !strings.Contains(page.Text(), "You can ask for your money back for 14 days after you pay") {
		t.Errorf("the product says %s", page.Text())
	}
	last := payment.LastDay(time.Now().UTC().Truncate(24*time.Hour).AddDate(0, 0, 15))
	own := "/licenses/" + l.RedemptionID
	page := b.Get(own)
	if !strings.Contains(page.Text(), "You can ask for your money back until "+last) || page.Links("/refund")[own+"/refund"] != "Request a refund" {
		t.Errorf("the license says %s", page.Text())
	}
	ask := b.Get(own+"/refund").Want(http.StatusOK, "Request a refund")
	for _, text := range []string{"You get $49.00 back for Tide Planner, Plan 1.", "no longer works in Tide Planner"} {
		if !strings.Contains(ask.Text(), text) {
			t.Errorf("the page does not say %q: %s", text, ask.Text())
		}
	}
	b.Press(ask, "Request a refund", "reason", strings.Repeat("x", 1001)).Want(http.StatusUnprocessableEntity, "Request a refund")
	done := b.Follow(b.Press(ask, "Request a refund", "reason", "Too <b>slow</b>"))
	if !strings.Contains(done.Text(), "You asked for a refund of $49.00") || len(done.Links("/refund")) != 0 {
		t.Errorf("after the request: %s", done.Text())
	}
	b.Press(ask, "Request a refund", "reason", "Again").Want(http.StatusConflict, "That did not work")
	list, err := h.Shop.Payments.Requests.OfUser(t.Context(), l.OwnerID)
	if err != nil || len(list) != 1 || list[0].Reason != "Too <b>slow</b>" {
		t.Fatalf("stored %+v, %v", list, err)
	}
	if _, err := h.Shop.Payments.Requests.Decline(t.Context(), pagetest.Tester, list[0].ID, "You <i>used</i> it."); err != nil {
		t.Fatal(err)
	}
	if page := b.Get(own); !strings.Contains(page.Text(), "was declined") || !strings.Contains(page.Text(), "You <i>used</i> it.") {
		t.Errorf("after the refusal: %s", page.Text())
	}
	h.Shop.Payments.Requested = payment.Automatic
	if sent := b.Follow(b.Press(b.Get(own+"/refund"), "Request a refund")); !strings.Contains(sent.Text(), "Your refund of $49.00 is on its way") {
		t.Errorf("in the mode automatic: %s", sent.Text())
	}
	work()
	if page := b.Get(own); !strings.Contains(page.Text(), "We refunded $49.00") || len(page.Links("/refund")) != 0 {
		t.Errorf("after the refund: %s", page.Text())
	}
}

// TestRequestRefundOfOthers: nobody else can see or send the request of a license, and its owner
// can't after the last day.
func TestRequestRefundOfOthers(t *testing.T) {
	h, b, l, _ := refundable(t)
	path := "/licenses/" + l.RedemptionID + "/refund"
	h.AddUser(pagetest.Eve, pagetest.Password)
	eve := h.NewBrowser().SignIn(pagetest.Eve, pagetest.Password)
	eve.Get(path).Want(http.StatusNotFound, "Not found")
	eve.Post(path, "reason", "Mine").Want(http.StatusNotFound, "Not found")
	if got := h.NewBrowser().Post(path).Status; got == http.StatusOK {
		t.Errorf("without a sign-in: %d", got)
	}
	ask := b.Get(path)
	before := h.Shop.Payments.Now
	h.Shop.Payments.Now = func() time.Time { return before().AddDate(0, 0, 15) }
	late := b.Press(ask, "Request a refund", "reason", "Late").Want(http.StatusConflict, "That did not work")
	if !strings.Contains(late.Text(), "The last day to ask for a refund was") {
		t.Errorf("after the last day: %s", late.Text())
	}
	b.Get(path).Want(http.StatusConflict, "That did not work")
	if page := b.Get("/licenses/" + l.RedemptionID); len(page.Links("/refund")) != 0 {
		t.Errorf("the button is still there: %s", page.Text())
	}
	if list, err := h.Shop.Payments.Requests.OfUser(t.Context(), l.OwnerID); err != nil || len(list) != 0 {
		t.Errorf("stored %+v, %v", list, err)
	}
}

// TestRequestOfAMergedBuyer: a merge moves the request with the license, so that it can be granted.
func TestRequestOfAMergedBuyer(t *testing.T) {
	h, _, l, work := refundable(t)
	r, err := h.Shop.Payments.RequestRefund(t.Context(), pagetest.Tester, l, l.OwnerID, "")
	if err != nil {
		t.Fatal(err)
	}
	eve := h.AddUser(pagetest.Eve, pagetest.Password)
	if _, err := h.SignIn.Merges.People(t.Context(), pagetest.Tester, l.OwnerID, eve.ID); err != nil {
		t.Fatal(err)
	}
	if _, err := h.Shop.Payments.GrantRequest(t.Context(), pagetest.Tester, r.ID); err != nil {
		t.Errorf("granted: %v", err)
	}
	work()
	list, err := h.Shop.Payments.Requests.OfUser(t.Context(), eve.ID)
	if err != nil || len(list) != 1 || list[0].State != refundrequest.Refunded {
		t.Errorf("the requests of the other buyer: %+v, %v", list, err)
	}
}
