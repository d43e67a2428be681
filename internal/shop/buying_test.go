package shop_test

import (
	"net/http"
	"strings"
	"testing"

	"claviger/internal/event"
	"claviger/internal/partner"
	"claviger/internal/visitor/pagetest"
)

func TestProducts(t *testing.T) {
	h := pagetest.New(t)
	b := h.NewBrowser()
	if home := b.Get("/"); !strings.Contains(home.Text(), "Tide Planner") || !strings.Contains(home.Text(), "$49.00") {
		t.Errorf("the front page says %s", home.Text())
	}
	page := b.Get("/products/1").Want(http.StatusOK, "Tide Planner")
	if page.Header.Get("Set-Cookie") != "" {
		t.Error("somebody who only looks got a cookie")
	}
	b.Get("/products/2").Want(http.StatusNotFound, "Not found")
	b.Get("/products/x").Want(http.StatusNotFound, "Not found")
}

// TestBuyWithTestMoney: one order makes one license, however often it is sent.
func TestBuyWithTestMoney(t *testing.T) {
	h, b, _ := annAndLicense(t)
	page := b.Get("/products/1")
	first := b.Press(page, "Buy Plan 1")
	b.Follow(first).Want(http.StatusOK, "Your license for Tide Planner is ready")
	if again := b.Press(page, "Buy Plan 1"); again.Header.Get("Location") != first.Header.Get("Location") {
		t.Errorf("the same form sent twice leads to %q and %q", first.Header.Get("Location"), again.Header.Get("Location"))
	}
	if other := b.Press(b.Get("/products/1"), "Buy Plan 1"); other.Header.Get("Location") == first.Header.Get("Location") {
		t.Error("a second order made no second license")
	}
	if s := b.Post("/products/1/buy", "tier", "9"); s.Status != http.StatusNotFound {
		t.Errorf("a plan that is not sold: %d", s.Status)
	}
	for _, bad := range []string{"a\x00b", "a\xffb", strings.Repeat("x", 101)} {
		if s := b.Post("/products/1/buy", "tier", "1", "order", bad); s.Status != http.StatusUnprocessableEntity {
			t.Errorf("the order %.10q: %d", bad, s.Status)
		}
	}
	h.Shop.TestMoney = false
	if s := b.Press(page, "Buy Plan 1"); s.Status != http.StatusForbidden {
		t.Errorf("without test money: %d", s.Status)
	}
	if s := b.Get("/products/1"); strings.Contains(s.Text(), "test money") || !strings.Contains(s.Text(), "Currently unavailable") {
		t.Errorf("without test money the page says %s", s.Text())
	}
}

// TestCheckout: a plan with a checkout is paid for there and nowhere else.
func TestCheckout(t *testing.T) {
	h, b, l := annAndLicense(t)
	plan := partner.Plan{Tier: 2, Name: "Plan 2", PriceCents: 9800, Currency: "USD", CheckoutURL: "https://pay.example/p?sku=2&a=%7E1&flag&sig=a+b"}
	if _, _, err := h.Shop.Partners.PutPlan(t.Context(), pagetest.Tester, h.Partner.ID, plan); err != nil {
		t.Fatal(err)
	}
	// The saved URL stays byte for byte: it may be signed.
	for page, want := range map[string]string{
		"/products/1": plan.CheckoutURL,
		"/licensing/" + l.RedemptionID + "/change_plan": plan.CheckoutURL + "&license_key=" + l.Key,
	} {
		if _, ok := b.Get(page).Links("https://pay.example/")[want]; !ok {
			t.Errorf("%s leads to %v, want %s", page, b.Get(page).Links("https://pay.example/"), want)
		}
	}
	for _, path := range []string{"/products/1/buy", "/licensing/" + l.RedemptionID + "/change_plan"} {
		if s := b.Post(path, "tier", "2"); s.Status != http.StatusForbidden {
			t.Errorf("%s: %d", path, s.Status)
		}
	}
}

// TestMyLicenses: from the list to a changed plan and a released license.
func TestMyLicenses(t *testing.T) {
	h, b, l := annAndLicense(t)
	list := b.Get("/licenses")
	list.Want(http.StatusOK, "My licenses")
	for _, want := range []string{"Tide Planner", "Plan 1", "Ready to activate", "Activate"} {
		if !strings.Contains(list.Text(), want) {
			t.Errorf("the list does not say %q: %s", want, list.Text())
		}
	}
	b.Press(b.Get(consentPage(l)), "Allow and continue").WantCallback(h.RedirectURL)

	plans := b.Get("/licensing/" + l.RedemptionID + "/change_plan/")
	if !strings.Contains(plans.Text(), "This is your plan.") {
		t.Errorf("the plans say %s", plans.Text())
	}
	confirm := b.Get("/licensing/"+l.RedemptionID+"/change_plan/?tier=3").Want(http.StatusOK, "Change to Plan 3?")
	says(t, confirm, "Due today $147.00 of test money")
	changed := b.Follow(b.Press(confirm, "Pay $147.00"))
	changed.Want(http.StatusOK, "Tide Planner")
	if now := stored(h, l); now.Tier != 3 || now.Key != l.Key {
		t.Errorf("the license is %+v", now)
	}
	for _, want := range []string{"Your plan is now Plan 3.", l.Key, "Change to Plan 3", "$147.00", "Paid"} {
		if !strings.Contains(changed.Text(), want) {
			t.Errorf("the page does not say %q: %s", want, changed.Text())
		}
	}
	asked := b.Get("/licenses/" + l.RedemptionID + "/release")
	released := b.Follow(b.Press(asked, "Disconnect"))
	released.Want(http.StatusOK, "Tide Planner is not connected")
	if now := stored(h, l); now.Status != event.Deactivated || !now.Released {
		t.Errorf("the license is %+v", now)
	}
	// The consent ended with it.
	b.Follow(b.Press(released, "Activate")).Want(http.StatusOK, "Connect Tide Planner?")
	// The button in another tab leads to the current state of the license.
	twice := b.Follow(b.Press(asked, "Disconnect")).Want(http.StatusOK, "Tide Planner is not connected")
	if !strings.Contains(twice.Text(), "Nothing was changed: the license was already disconnected.") {
		t.Errorf("releasing twice says %s", twice.Text())
	}
}

// TestBackToThePageOfAForm: visitors who must sign in to send a form return to the page of the
// form.
func TestBackToThePageOfAForm(t *testing.T) {
	h := pagetest.New(t)
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, h.URL+"/licenses/1/release", strings.NewReader(""))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	r.Header.Set("Referer", h.URL+"/licenses/1?a=b")
	answer, err := h.NewBrowser().Client.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	_ = answer.Body.Close()
	if to := answer.Header.Get("Location"); to != "/sign-in?next=%2Flicenses%2F1%3Fa%3Db" {
		t.Errorf("sent to %q", to)
	}
}
