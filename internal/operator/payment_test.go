package operator_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"claviger/internal/account"
	"claviger/internal/license"
	"claviger/internal/payment"
	"claviger/internal/payment/fakestripe"
)

// withStripe connects the harness to a fake Stripe.
func (h *harness) withStripe() *fakestripe.Server {
	h.Helper()
	stripe := &fakestripe.Server{Secret: "whsec_test", Now: func() int64 { return h.clock.Now().Unix() }}
	server := httptest.NewServer(stripe)
	h.Cleanup(server.Close)
	stripe.URL = server.URL
	h.Payments.Stripe = payment.NewStripe(payment.StripeConfig{Key: "sk_test_1", WebhookSecrets: []string{"whsec_test"}, URL: server.URL})
	return stripe
}

// pay pays for a plan and returns the checkout.
func (h *harness) pay(stripe *fakestripe.Server, u account.User, amount int64) payment.Checkout {
	h.Helper()
	c, err := h.Payments.Begin(h.Context(), payment.Order{
		PartnerID: h.partner, Partner: "Tide Planner", Tier: 1, PlanName: "Tier 1", Amount: 4900, Currency: "EUR", UserID: u.ID, CancelPath: "/",
	})
	h.Must(err)
	stripe.Change(c.SessionID, fakestripe.Object{"amount_total": amount})
	stripe.Pay(c.SessionID)
	c, err = h.Payments.Look(h.Context(), c)
	h.Must(err)
	return c
}

// testPayments: refunds of Stripe payments go through Stripe, unless they are only recorded, and a
// payment that bought nothing is refunded on request.
func testPayments(t *testing.T, h *harness) {
	stripe, ann := h.withStripe(), h.User("ann@example.com")
	job := payment.NewJob(h.Payments)
	work := func() {
		t.Helper()
		if _, err := job.Once(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	sold := h.pay(stripe, ann, 4900)
	body := fmt.Sprintf(`{"purchase_id":%d,"external_id":"r-1"}`, sold.PurchaseID)
	asked := h.must(http.StatusAccepted, "POST", "/operator/v1/refunds", body)
	if !strings.Contains(asked.Body, `"status":"asked"`) || !strings.Contains(asked.Body, fmt.Sprintf(`"purchase_id":%d`, sold.PurchaseID)) {
		t.Errorf("asked %s", asked.Body)
	}
	if n := h.Count(`SELECT count(*) FROM purchase_links WHERE refund_id <> 0`); n != 0 {
		t.Error("the license was refunded before the money went")
	}
	work()
	if a := h.must(http.StatusOK, "GET", "/operator/v1/payments/refunds/1", ""); !strings.Contains(a.Body, `"status":"succeeded"`) {
		t.Errorf("done %s", a.Body)
	}
	if again := h.must(http.StatusAccepted, "POST", "/operator/v1/refunds", body); !strings.Contains(again.Body, `"status":"succeeded"`) || len(stripe.Objects("re")) != 1 {
		t.Errorf("repeated %s", again.Body)
	}
	recorded := h.pay(stripe, ann, 4900)
	h.must(http.StatusCreated, "POST", "/operator/v1/refunds", fmt.Sprintf(`{"purchase_id":%d,"external_id":"r-2","record_only":true}`, recorded.PurchaseID))
	if len(stripe.Objects("re")) != 1 {
		t.Error("Stripe was asked for what is only recorded")
	}
	for range 2 {
		h.pay(stripe, ann, 4800)
	}
	if a := h.must(http.StatusOK, "GET", "/operator/v1/payments/problems", ""); !strings.Contains(a.Body, `"size":2`) || !strings.Contains(a.Body, `"kind":"paid_other_amount"`) {
		t.Errorf("problems %s", a.Body)
	}
	h.must(http.StatusAccepted, "POST", "/operator/v1/payments/problems/1/refund", "")
	work()
	h.must(http.StatusConflict, "POST", "/operator/v1/payments/problems/1/refund", "")
	h.must(http.StatusOK, "POST", "/operator/v1/payments/problems/2/dismiss", "")
	if a := h.must(http.StatusOK, "GET", "/operator/v1/payments/problems", ""); !strings.Contains(a.Body, `"size":0`) || len(stripe.Objects("re")) != 2 {
		t.Errorf("left %s", a.Body)
	}
	h.checkOrders(stripe, sold)
	h.checkDispute(stripe, h.pay(stripe, ann, 4900))
}

// checkDispute opens a dispute about an order: the order and Today have its deadline.
func (h *harness) checkDispute(stripe *fakestripe.Server, sold payment.Checkout) {
	h.Helper()
	id := stripe.Dispute(sold.SessionID, "needs_response")
	events := stripe.Events()
	e := events[len(events)-1]
	h.Must(h.Payments.Receive(h.Context(), e.Body, stripe.Sign(e.Body)))
	h.Must(h.Payments.SaveEvidence(h.Context(), tester, id, payment.Evidence{payment.CustomerName: "Ann Example"}))
	due := `"` + h.Payments.Now().AddDate(0, 0, 7).Format("2006-01-02")
	for path, want := range map[string][]string{
		"/orders/" + sold.Ref:                      {`"state":"disputed"`, `"id":"` + id + `"`, `"reason":"fraudulent"`, `"due_by":` + due, `"submission_count":0`},
		fmt.Sprintf("/users/%d/data", sold.UserID): {`"dispute": "` + id + `"`, `"customer_name": "Ann Example"`},
		"/today": {`"kind":"dispute_open"`, `"subject":"` + id + `"`, `"until":` + due, `"count":4900`},
	} {
		a := h.must(http.StatusOK, "GET", "/operator/v1"+path, "")
		for _, text := range want {
			if !strings.Contains(a.Body, text) {
				h.Errorf("%s has no %s: %s", path, text, a.Body)
			}
		}
	}
}

// checkOrders reads the orders of testPayments: one is refunded by Stripe, one only in our records,
// and two could not be sold.
func (h *harness) checkOrders(stripe *fakestripe.Server, sold payment.Checkout) {
	h.Helper()
	refund := stripe.Objects("re")[1].Text("id")
	for path, want := range map[string][]string{
		"/orders?state=refunded": {`"size":2`}, "/orders?email=ann@example.com&limit=3": {`"size":3`}, "/orders?email=nobody@example.com": {`"size":0`},
		"/orders?state=paid&partner_id=1": {`"size":2`, `"paid_cents":4800`, `"state":"paid"`},
		"/orders/" + sold.Ref:             {`"state":"refunded"`, `"email":"ann@example.com"`, `"license_keys":["`, `"The money went back, so the license ended. The buyer can buy again."`},
		"/orders/" + refund:               {sold.Ref},
		"/orders/" + sold.SessionID:       {sold.Ref},
		"/search?q=" + refund:             {`"orders":{"size":1`, sold.Ref},
		"/search?q=ann@example.com":       {`"orders":{"size":4`, `"similar_users":{"size":0`},
		"/search?q=anm@exmaple.com":       {`"orders":{"size":0`, `"similar_users":{"size":1`},
		"/search?q=someone@example.com":   {`"similar_users":{"size":0`},
		"/exports/orders?state=refunded":  {sold.Ref + ",refunded,1,1,\"Tide Planner, Tier 1\",4900,EUR,4900,EUR,", "#complete,2"},
	} {
		a := h.must(http.StatusOK, "GET", "/operator/v1"+path, "")
		for _, text := range want {
			if !strings.Contains(a.Body, text) {
				h.Errorf("%s has no %s: %s", path, text, a.Body)
			}
		}
	}
	h.must(http.StatusBadRequest, "GET", "/operator/v1/exports/orders?state=shipped", "")
	data := h.must(http.StatusOK, "GET", fmt.Sprintf("/operator/v1/users/%d/data", sold.UserID), "").Body
	if !strings.Contains(data, sold.Ref) || !strings.Contains(data, `"email": "ann@example.com"`) {
		h.Errorf("the data of the buyer: %s", data)
	}
	if n := h.Count(`SELECT count(*) FROM audit_entries WHERE action = 'user.data' AND subject = $1`, fmt.Sprintf("user:%d", sold.UserID)); n != 1 {
		h.Errorf("it was read once, and %d entries say so", n)
	}
	h.must(http.StatusNotFound, "GET", "/operator/v1/users/99/data", "")
}

// TestOrdersOfAddress: who asks for an address finds what its account bought, and what guests bought
// who typed it.
func TestOrdersOfAddress(t *testing.T) {
	h := newHarness(t)
	h.must(201, "POST", "/operator/v1/partners", `{"name":"Tide Planner","external_id":"tide"}`)
	h.must(200, "PUT", "/operator/v1/partners/1/plans/1", `{"name":"One","price_cents":0}`)
	ann, other := h.User("ann@example.com"), h.User("other@example.com")
	guest, err := h.Accounts.StartGuest(t.Context(), account.GuestOrder{
		Email: "Ann@Example.com", Browser: "browser", PartnerID: 1, Tier: 1,
	})
	h.Must(err)
	for _, id := range []int64{ann.ID, guest.ID, other.ID} {
		_, err := h.Payments.SellFree(t.Context(), tester, payment.Order{PartnerID: 1, Tier: 1, PlanName: "One", Currency: "USD"},
			license.Purchase{PartnerID: 1, Tier: 1, BuyerID: id, Quantity: 1, Currency: "USD", Shop: true})
		h.Must(err)
	}
	for _, path := range []string{"/orders?", "/purchases/search?", "/licenses/search?", "/licenses?"} {
		a := h.must(200, "GET", "/operator/v1"+path+"email=ann@example.com", "").Body
		if !strings.Contains(a, `"size":2`) || strings.Contains(a, fmt.Sprintf(`r_id":%d,"`, other.ID)) {
			t.Errorf("%s: %s", path, a)
		}
	}
	for _, list := range []string{"orders", "purchases", "licenses"} {
		file := h.must(200, "GET", "/operator/v1/exports/"+list+"?email=ann@example.com", "").Body
		if !strings.Contains(file, "#complete,2") || !strings.Contains(file, "Ann@Example.com") || strings.Contains(file, "other@") {
			t.Errorf("the export of %s: %s", list, file)
		}
	}
}
