package shop_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"claviger/internal/visitor/pagetest"
)

// chosenPlan is the page after sign-in for a visitor who pressed Buy for plan 2.
const chosenPlan = "/products/1/buy?tier=2"

// choosePlan presses Buy for plan 2 while signed out.
func choosePlan(t *testing.T, b *pagetest.Browser) *pagetest.Page {
	t.Helper()
	page := b.Follow(b.Press(b.Get("/products/1"), "Buy Plan 2")).Want(http.StatusOK, "Sign in")
	says(t, page, "Sign in to buy Tide Planner, Plan 2.")
	return page
}

// TestBuyBeforeSignIn: the chosen plan is bought after sign-in, once.
func TestBuyBeforeSignIn(t *testing.T) {
	h := pagetest.New(t)
	h.AddUser(pagetest.Ann, pagetest.Password)
	h.Shop.TestMoney = true
	b := h.NewBrowser()
	signIn := choosePlan(t, b)
	done := b.Press(signIn, "Sign in", "email", pagetest.Ann, "password", pagetest.Password)
	done.WantRedirect(chosenPlan)
	page := b.Follow(done).Want(http.StatusOK, "Your license for Tide Planner is ready")
	says(t, page, "Plan 2")
	b.Get(chosenPlan).Want(http.StatusOK, "Buy Tide Planner, Plan 2?") // not a second time
	if list, err := h.Shop.Licenses.Owned(t.Context(), 1); err != nil || len(list) != 1 || list[0].Tier != 2 {
		t.Errorf("bought %+v, %v", list, err)
	}
}

// TestBuyBeforeSignInByStripe: after sign-in the browser continues to the payment page, where no
// form of the sign-in page may end.
func TestBuyBeforeSignInByStripe(t *testing.T) {
	h := pagetest.New(t)
	h.AddUser(pagetest.Ann, pagetest.Password)
	stripe := withStripe(t, h)
	b := h.NewBrowser()
	ask := b.Follow(b.Press(b.Get("/products/1"), "Buy Plan 2")).Want(http.StatusOK, "Where do we send your receipt?")
	signIn := b.Get("/sign-in?next=" + url.QueryEscape("/products/1/buy?tier=2"))
	says(t, ask, "Have an account? Sign in")
	page := b.Follow(b.Press(signIn, "Sign in", "email", pagetest.Ann, "password", pagetest.Password)).Want(http.StatusOK, "Going to the payment page…")
	session, back := ref(stripe)
	if to := "url=" + stripe.URL + "/pay/" + session; !strings.Contains(page.Body, to) {
		t.Errorf("the page does not go on to %s: %s", to, page.Body)
	}
	stripe.Pay(session)
	says(t, b.Follow(b.Get(back)).Want(http.StatusOK, "Connect Tide Planner?"), "Plan 2")
}

// TestLinksBuyNothing: a link to a plan asks first, also in a browser that opened an emailed link
// or chose another plan.
func TestLinksBuyNothing(t *testing.T) {
	h := pagetest.New(t)
	h.AddUser(pagetest.Ann, pagetest.Password)
	h.Shop.TestMoney = true
	b := h.NewBrowser()
	b.Press(b.Get("/products/1"), "Buy Plan 1")
	b.SignIn(pagetest.Ann, pagetest.Password)
	page := b.Get(chosenPlan).Want(http.StatusOK, "Buy Tide Planner, Plan 2?")
	b.Do(http.MethodHead, "/products/1/buy?tier=1", nil, "same-origin")
	if list, err := h.Shop.Licenses.Owned(t.Context(), 1); err != nil || len(list) != 0 {
		t.Errorf("a link bought %+v, %v", list, err)
	}
	says(t, b.Follow(b.Press(page, "Buy Plan 2")).Want(http.StatusOK, "Your license for Tide Planner is ready"), "Plan 2")
	for _, path := range []string{"/products/1/buy", "/products/1/buy?tier=x", "/products/1/buy?tier=99", "/products/99/buy?tier=1"} {
		b.Get(path).Want(http.StatusNotFound, "Not found")
	}
	h.NewBrowser().Post("/products/1/buy", "tier", "99").Want(http.StatusNotFound, "Not found")
}
