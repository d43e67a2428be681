package shop_test

import (
	"bytes"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"claviger/internal/partner"
	"claviger/internal/payment"
	"claviger/internal/payment/fakestripe"
	"claviger/internal/sqldb"
	"claviger/internal/visitor/pagetest"
)

// withStripe connects a shop to a fake Stripe.
func withStripe(t *testing.T, h *pagetest.Service) *fakestripe.Server {
	t.Helper()
	stripe := &fakestripe.Server{Secret: "whsec_test"}
	server := httptest.NewServer(stripe)
	t.Cleanup(server.Close)
	stripe.URL = server.URL
	h.Shop.TestMoney = false
	h.Shop.Payments = &payment.Store{
		DB: h.DB, Now: h.Shop.Now, Sealer: h.Shop.OAuth.Sealer, Licenses: h.Shop.Licenses, Accounts: h.SignIn.Accounts,
		PublicURL: "https://shop.example", Log: slog.New(slog.DiscardHandler),
		Stripe: payment.NewStripe(payment.StripeConfig{Key: "sk_test_1", WebhookSecrets: []string{"whsec_test"}, URL: server.URL}),
	}
	return stripe
}

// post delivers events as Stripe does and returns the last answer.
func post(t *testing.T, h *pagetest.Service, stripe *fakestripe.Server, events ...fakestripe.Event) (status int, text string) {
	t.Helper()
	for _, e := range events {
		status, text = postSigned(t, h, e.Body, stripe.Sign(e.Body))
	}
	return status, text
}

func postSigned(t *testing.T, h *pagetest.Service, body []byte, signature string) (int, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, h.URL+"/stripe/webhook", bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Stripe-Signature", signature)
	answer, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close() //nolint:errcheck // it was read
	var text bytes.Buffer
	_, err = text.ReadFrom(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer.StatusCode, text.String()
}

// ref returns the newest session and the path of its return from the payment page.
func ref(stripe *fakestripe.Server) (session, path string) {
	o := stripe.Objects("cs")[0]
	return o.Text("id"), strings.TrimPrefix(o.Text("success_url"), "https://shop.example")
}

// TestPay: Buy leads to Stripe, and from there to the license, before and after the webhook came.
// Other people with the URL see nothing.
func TestPay(t *testing.T) {
	h, b, _ := annAndLicense(t)
	stripe := withStripe(t, h)
	page := b.Get("/products/1")
	if policy := page.Header.Get("Content-Security-Policy"); !strings.Contains(policy, "form-action 'self' https:;") {
		t.Errorf("the browser would not follow to Stripe: %s", policy)
	}
	if !strings.Contains(page.Text(), "on a page of Stripe") || strings.Contains(page.Text(), "test money") {
		t.Errorf("the page says %s", page.Text())
	}
	to := b.Press(page, "Buy Plan 1").Header.Get("Location")
	session, back := ref(stripe)
	if to != stripe.URL+"/pay/"+session {
		t.Errorf("Buy leads to %s", to)
	}
	b.Get(back).Want(http.StatusOK, "Waiting for your payment")
	h.AddUser(pagetest.Eve, pagetest.Password)
	h.NewBrowser().SignIn(pagetest.Eve, pagetest.Password).Get(back).Want(http.StatusNotFound, "Not found")
	stripe.Pay(session)
	if status, text := post(t, h, stripe, stripe.Events()...); status != http.StatusOK {
		t.Fatalf("the webhook: %d %s", status, text)
	}
	b.Follow(b.Get(back)).Want(http.StatusOK, "Connect Tide Planner?")

	b.Press(b.Get("/products/1"), "Buy Plan 1")
	session, back = ref(stripe)
	stripe.Pay(session)
	b.Follow(b.Get(back)).Want(http.StatusOK, "Connect Tide Planner?") // no webhook came
}

// TestPayOtherEnds: the page shows the result of a payment that did not sell, and never that it
// failed while it is open.
func TestPayOtherEnds(t *testing.T) {
	h, b, _ := annAndLicense(t)
	stripe := withStripe(t, h)
	b.Press(b.Get("/products/1"), "Buy Plan 1")
	session, back := ref(stripe)
	stripe.PayLater(session)
	b.Get(back).Want(http.StatusOK, "We're waiting for your bank")
	stripe.Settle(session, false)
	b.Get(back).Want(http.StatusOK, "Your payment was refused")
	b.Press(b.Get("/products/1"), "Buy Plan 1")
	session, back = ref(stripe)
	stripe.Change(session, fakestripe.Object{"amount_total": int64(1)})
	stripe.Pay(session)
	b.Get(back).Want(http.StatusOK, "We need to look at your payment")
	stripe.Broken = func() bool { return true }
	b.Press(b.Get("/products/1"), "Buy Plan 1").Want(http.StatusServiceUnavailable, "Please wait a moment")
}

// TestStripeEvents: events without a signature of Stripe, or with an old one, are refused with
// advice.
func TestStripeEvents(t *testing.T) {
	h, b, _ := annAndLicense(t)
	body := []byte(`{}`)
	if status, text := postSigned(t, h, body, ""); status != http.StatusNotFound || !strings.Contains(text, "takes no payments") {
		t.Errorf("without Stripe: %d %s", status, text)
	}
	stripe := withStripe(t, h)
	b.Press(b.Get("/products/1"), "Buy Plan 1")
	session, _ := ref(stripe)
	stripe.Pay(session)
	body = stripe.Events()[0].Body
	other := &fakestripe.Server{Secret: "whsec_other"}
	nobody := &fakestripe.Server{}
	for name, c := range map[string]struct {
		body      []byte
		signature string
		status    int
		text      string
	}{
		"none":         {body, "", http.StatusBadRequest, "no valid Stripe-Signature"},
		"another key":  {body, other.Sign(body), http.StatusBadRequest, "signing secret of this endpoint"},
		"an empty key": {body, nobody.Sign(body), http.StatusBadRequest, "signing secret of this endpoint"},
		"old":          {body, "t=1600000000,v1=00", http.StatusBadRequest, "Stripe"},
		"one space":    {append(bytes.Clone(body), ' '), stripe.Sign(body), http.StatusBadRequest, "signing secret"},
		"no JSON":      {[]byte(`{"id":`), stripe.Sign([]byte(`{"id":`)), http.StatusBadRequest, "invalid_event"},
		"another type": {[]byte(`{"type":1}`), stripe.Sign([]byte(`{"type":1}`)), http.StatusBadRequest, "invalid_event"},
		"large":        {bytes.Repeat([]byte(" "), 2<<20), "", http.StatusRequestEntityTooLarge, "1 MiB"},
		"live":         {relive(body), stripe.Sign(relive(body)), http.StatusOK, "received"},
		"unknown":      {[]byte(`{"id":"evt_1","object":"event","api_version":"2026-03-25.dahlia","type":"plan.created","data":{"object":{}}}`), "", http.StatusOK, "received"},
	} {
		if c.signature == "" && c.status == http.StatusOK {
			c.signature = stripe.Sign(c.body)
		}
		if status, text := postSigned(t, h, c.body, c.signature); status != c.status || !strings.Contains(text, c.text) {
			t.Errorf("%s: %d %s", name, status, text)
		}
	}
	if list, err := h.Shop.Licenses.Owned(t.Context(), 1); err != nil || len(list) > 1 {
		t.Errorf("one of them sold: %v, %v", list, err)
	}
}

func says(t *testing.T, page *pagetest.Page, want string) {
	t.Helper()
	if !strings.Contains(page.Text(), want) {
		t.Errorf("the page says %s, want %q", page.Text(), want)
	}
}

func relive(body []byte) []byte {
	return bytes.Replace(body, []byte(`"livemode":false,"object":"event"`), []byte(`"livemode":true,"object":"event"`), 1)
}

// TestPayForAPlan: a plan change costs the difference, a cheaper plan nothing.
func TestPayForAPlan(t *testing.T) {
	h, b, _ := annAndLicense(t)
	stripe := withStripe(t, h)
	b.Press(b.Get("/products/1"), "Buy Plan 1")
	session, back := ref(stripe)
	stripe.Pay(session)
	change := strings.Replace(b.Get(back).Header.Get("Location"), "/consent?paid=1", "/change_plan", 1)
	plans := b.Get(change)
	says(t, plans, "$49.00 of the price is already covered by what you've paid. You pay $49.00.")
	b.Press(b.Get(change+"?tier=2"), "Pay $49.00")
	session, back = ref(stripe)
	if got := stripe.Objects("cs")[0]["amount_total"]; got != int64(4900) {
		t.Errorf("charges %v", got)
	}
	stripe.Pay(session)
	says(t, b.Follow(b.Get(back)), "Your plan is now Plan 2.")
	plans = b.Get(change + "?tier=1")
	says(t, plans, "Your payments of $98.00 cover it.")
	says(t, plans, "The difference isn't refunded.")
	says(t, plans, "You can go back to Plan 2 later at no cost.")
	says(t, b.Follow(b.Press(plans, "Change plan")), "Your plan is now Plan 1.")
	if err := h.Shop.Payments.SetPlanRule(t.Context(), pagetest.Tester, h.Partner.ID, payment.FullPrice); err != nil {
		t.Fatal(err)
	}
	says(t, b.Get(change+"?tier=2"), "Due today $98.00")
	if err := h.Shop.Payments.SetPlanRule(t.Context(), pagetest.Tester, h.Partner.ID, payment.NotInShop); err != nil {
		t.Fatal(err)
	}
	says(t, b.Get(change), "Currently unavailable")
	if s := b.Post(change, "tier", "2"); s.Status != http.StatusNotFound {
		t.Errorf("a plan that is not in the shop: %d", s.Status)
	}
}

// TestUncheckedPrice: a plan with a price to review is not on sale until it is saved again, even
// unchanged.
func TestUncheckedPrice(t *testing.T) {
	h, b, _ := annAndLicense(t)
	err := h.DB.Write(t.Context(), func(tx *sqldb.Tx) error {
		tx.Queue(`UPDATE plans SET recheck = $1`, true)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	says(t, b.Get("/products/1"), "Currently unavailable")
	if home := b.Get("/"); strings.Contains(home.Text(), "Tide Planner") {
		t.Errorf("the front page says %s", home.Text())
	}
	b.Post("/products/1/buy", "tier", "1").Want(http.StatusNotFound, "Not found")
	if list, err := partner.ListUnchecked(t.Context(), h.DB, 10); err != nil || len(list) != 3 || list[0].Partner != "Tide Planner" {
		t.Errorf("to be checked: %+v, %v", list, err)
	}
	plan, err := h.Shop.Partners.Plan(t.Context(), h.Partner.ID, 1)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := h.Shop.Partners.DescribePlan(t.Context(), pagetest.Tester, h.Partner.ID, 1, partner.PlanTexts{Sort: new(3)}); err != nil {
		t.Fatal(err)
	}
	says(t, b.Get("/products/1"), "Currently unavailable")
	if _, _, err := h.Shop.Partners.PutPlan(t.Context(), pagetest.Tester, h.Partner.ID, plan); err != nil {
		t.Fatal(err)
	}
	says(t, b.Get("/products/1"), "Buy Plan 1")
}
