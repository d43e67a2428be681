package shop_test

import (
	"net/http"
	"strings"
	"testing"

	"claviger/internal/account"
	"claviger/internal/license"
	"claviger/internal/partner"
	"claviger/internal/sqldb"
	"claviger/internal/visitor/pagetest"
)

// putPlan replaces the plan of tier 1.
func putPlan(t *testing.T, h *pagetest.Service, price int64, limit int) {
	t.Helper()
	plan := partner.Plan{Tier: 1, Name: "Plan 1", PriceCents: price, Currency: "USD", MaxPerBuyer: partner.BuyerLimitOf(limit)}
	if _, _, err := h.Shop.Partners.PutPlan(t.Context(), pagetest.Tester, h.Partner.ID, plan); err != nil {
		t.Fatal(err)
	}
}

// wantLink checks that a page has a link.
func wantLink(t *testing.T, page *pagetest.Page, to, label string) {
	t.Helper()
	if got := page.Links(to)[to]; !strings.Contains(got, label) {
		t.Errorf("the link to %s says %q, want %q", to, got, label)
	}
}

// owned counts the licenses of a person.
func owned(t *testing.T, h *pagetest.Service, email string) int {
	t.Helper()
	u, _, err := h.SignIn.Accounts.Create(t.Context(), pagetest.Tester, account.Person{Email: email})
	if err != nil {
		t.Fatal(err)
	}
	list, err := h.Shop.Licenses.Owned(t.Context(), u.ID)
	if err != nil {
		t.Fatal(err)
	}
	return len(list)
}

// TestFreePlanOnce: a free plan is sold once. The license replaces its button, an old form is
// refused with a link to it, and sending the first form again leads to the same page.
func TestFreePlanOnce(t *testing.T) {
	for name, stripe := range map[string]bool{"test money": false, "Stripe": true} {
		t.Run(name, func(t *testing.T) {
			h := pagetest.New(t)
			h.AddUser(pagetest.Ann, pagetest.Password)
			if stripe {
				withStripe(t, h)
			}
			putPlan(t, h, 0, -1)
			b := h.NewBrowser().SignIn(pagetest.Ann, pagetest.Password)
			page, other := b.Get("/products/1"), b.Get("/products/1")
			first := b.Press(page, "Get Plan 1")
			b.Follow(first).Want(http.StatusOK, "Your license for Tide Planner is ready")
			id := strings.Split(first.Header.Get("Location"), "/")[2]

			refused := b.Press(other, "Get Plan 1").Want(http.StatusConflict, "You already have this plan")
			wantLink(t, refused, "/licenses/"+id, "Open your license")
			b.Press(page, "Get Plan 1").WantRedirect(first.Header.Get("Location"))
			for _, at := range []string{"/products/1", "/products/1/buy?tier=1"} {
				now := b.Get(at)
				wantLink(t, now, "/licenses/"+id, "Open your license")
				if strings.Contains(now.Text(), "Get Plan 1") {
					t.Errorf("%s still offers the plan: %s", at, now.Text())
				}
			}
			if n := owned(t, h, pagetest.Ann); n != 1 {
				t.Errorf("%d licenses", n)
			}
			if out := h.NewBrowser().Get("/products/1"); !strings.Contains(out.Text(), "Get Plan 1") {
				t.Errorf("others do not see the button: %s", out.Text())
			}
		})
	}
}

// TestFreePlanOnceAfterSignIn: a plan that was chosen before sign-in is refused after it.
func TestFreePlanOnceAfterSignIn(t *testing.T) {
	h := pagetest.New(t)
	h.AddUser(pagetest.Ann, pagetest.Password)
	putPlan(t, h, 0, -1)
	l := h.Sell(pagetest.Ann, 1)
	b := h.NewBrowser()
	signIn := b.Follow(b.Press(b.Get("/products/1"), "Get Plan 1")).Want(http.StatusOK, "Sign in")
	page := b.Follow(b.Press(signIn, "Sign in", "email", pagetest.Ann, "password", pagetest.Password))
	wantLink(t, page.Want(http.StatusConflict, "You already have this plan"), "/licenses/"+l.RedemptionID, "Open your license")
}

// TestPaidPlanLimit: a paid plan with a limit is refused before the payment, and one without is
// sold any number of times.
func TestPaidPlanLimit(t *testing.T) {
	h, b, _ := annAndLicense(t)
	stripe := withStripe(t, h)
	putPlan(t, h, 4900, 2)
	page := b.Get("/products/1")
	h.Sell(pagetest.Ann, 1)
	refused := b.Press(page, "Buy Plan 1").Want(http.StatusConflict, "You already have this plan")
	wantLink(t, refused, "/licenses", "See your licenses")
	says(t, refused, "You can have 2 licenses of Plan 1, and they're in your account.")
	if n := len(stripe.Objects("cs")); n != 0 {
		t.Errorf("%d payments were begun", n)
	}
	wantLink(t, b.Get("/products/1"), "/licenses", "See your licenses")
	putPlan(t, h, 4900, -1)
	if to := b.Press(b.Get("/products/1"), "Buy Plan 1").Header.Get("Location"); !strings.HasPrefix(to, stripe.URL) {
		t.Errorf("without a limit it leads to %q", to)
	}
}

// TestPlanOfAnotherCheckout: the limit does not apply to plans that are sold elsewhere.
func TestPlanOfAnotherCheckout(t *testing.T) {
	h, b, _ := annAndLicense(t)
	plan := partner.Plan{Tier: 1, Name: "Plan 1", CheckoutURL: "https://pay.example/1"}
	if _, _, err := h.Shop.Partners.PutPlan(t.Context(), pagetest.Tester, h.Partner.ID, plan); err != nil {
		t.Fatal(err)
	}
	wantLink(t, b.Get("/products/1"), plan.CheckoutURL, "Get Plan 1")
}

// TestFreePlanNeedsAnAddress: a buyer confirms the address with an emailed link first, and then
// gets the plan. A paid plan does not require that.
func TestFreePlanNeedsAnAddress(t *testing.T) {
	h := pagetest.New(t)
	h.AddUser(pagetest.Ann, pagetest.Password)
	putPlan(t, h, 0, -1)
	b := h.NewBrowser().SignIn(pagetest.Ann, pagetest.Password)
	if err := h.DB.Write(t.Context(), func(tx *sqldb.Tx) error {
		tx.Queue(`UPDATE users SET proven_at = 0`)
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	refused := b.Press(b.Get("/products/1"), "Get Plan 1").Want(http.StatusForbidden, "Confirm your email address")
	if n := owned(t, h, pagetest.Ann); n != 0 {
		t.Errorf("%d licenses", n)
	}
	b.Follow(b.Press(b.Get("/products/1"), "Buy Plan 2")).Want(http.StatusOK, "Your license for Tide Planner is ready")
	b.Follow(b.Press(refused, "Send the link")).Want(http.StatusOK, "Check your email")
	back := b.Follow(b.Press(b.Get(h.MailedLink(pagetest.Ann)), "Continue")).Want(http.StatusOK, "Buy Tide Planner, Plan 1?")
	b.Follow(b.Press(back, "Get Plan 1")).Want(http.StatusOK, "Your license for Tide Planner is ready")
}

// TestFreePlanWithoutAnAddress: a buyer without an address adds one first.
func TestFreePlanWithoutAnAddress(t *testing.T) {
	h := pagetest.New(t)
	putPlan(t, h, 0, -1)
	u, _, err := h.SignIn.Accounts.Create(t.Context(), pagetest.Tester, account.Person{ExternalID: "customer-7"})
	if err != nil {
		t.Fatal(err)
	}
	link, _, err := h.SignIn.Accounts.Link(t.Context(), pagetest.Tester, u.ID, "/products/1")
	if err != nil {
		t.Fatal(err)
	}
	b := h.NewBrowser()
	page := b.Follow(b.Press(b.Get(strings.TrimPrefix(link, h.URL)), "Continue"))
	refused := b.Press(page, "Get Plan 1").Want(http.StatusForbidden, "Add your email address")
	wantLink(t, refused, "/account/email", "Add an email address")
	if list, err := h.Shop.Licenses.Owned(t.Context(), u.ID); err != nil || len(list) != 0 {
		t.Errorf("licenses %+v, %v", list, err)
	}
}

// TestFreePlanAfterARefund: after a refund, the buyer can get the free plan again.
func TestFreePlanAfterARefund(t *testing.T) {
	h, b, l := annAndLicense(t)
	putPlan(t, h, 0, -1)
	b.Get("/products/1").Want(http.StatusOK, "Tide Planner")
	if _, err := h.Shop.Licenses.Refund(t.Context(), pagetest.Tester, license.RefundOrder{LicenseKey: l.Key, ExternalID: "f"}); err != nil {
		t.Fatal(err)
	}
	b.Follow(b.Press(b.Get("/products/1"), "Get Plan 1")).Want(http.StatusOK, "Your license for Tide Planner is ready")
}
