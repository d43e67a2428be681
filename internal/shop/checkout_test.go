package shop_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"claviger/internal/account"
	"claviger/internal/license"
	"claviger/internal/visitor/pagetest"
)

// TestWhoSeesACheckout: the buyer's login and the browser that pressed Buy see the license. Others
// without a login learn whether the payment is done and that they can sign in; other accounts learn
// nothing. No one reads that an open payment failed.
func TestWhoSeesACheckout(t *testing.T) {
	h, b, _ := annAndLicense(t)
	stripe := withStripe(t, h)
	bought := b.Press(b.Get("/products/1"), "Buy Plan 1")
	session, back := ref(stripe)
	cookies := bought.Header.Values("Set-Cookie")
	if mark := strings.Join(cookies, "\n"); !strings.Contains(mark, "claviger-pays=") || !strings.Contains(mark, "Path="+back+";") || !strings.Contains(mark, "HttpOnly") {
		t.Errorf("Buy sets %q", mark)
	}
	b.Post("/sign-out")
	b.WantSignedIn("")
	stranger := h.NewBrowser()
	forger := h.NewBrowser()
	forger.SetCookie(&http.Cookie{Name: "claviger-pays", Value: "forged", Path: "/"})
	h.AddUser(pagetest.Eve, pagetest.Password)
	eve := h.NewBrowser().SignIn(pagetest.Eve, pagetest.Password)

	b.Get(back).Want(http.StatusOK, "Waiting for your payment")
	for _, other := range []*pagetest.Browser{stranger, forger} {
		page := other.Get(back).Want(http.StatusOK, "The payment is in progress")
		knowsNothing(t, page)
	}
	stripe.PayLater(session)
	b.Get(back).Want(http.StatusOK, "We're waiting for your bank")
	knowsNothing(t, stranger.Get(back).Want(http.StatusOK, "The payment is in progress"))

	stripe.Settle(session, true)
	page := b.Get(back).Want(http.StatusOK, "Your license for Tide Planner is ready")
	says(t, page, "You paid $49.00 for Tide Planner, Plan 1")
	for _, other := range []*pagetest.Browser{stranger, forger} {
		page := other.Get(back).Want(http.StatusOK, "The payment is done")
		knowsNothing(t, page)
		if !strings.Contains(page.Body, `href="/sign-in?next=`+url.QueryEscape(back)) {
			t.Errorf("it does not lead to sign-in: %s", page.Body)
		}
	}
	eve.Get(back).Want(http.StatusNotFound, "Not found")
	stranger.SignIn(pagetest.Ann, pagetest.Password)
	stranger.Follow(stranger.Get(back)).Want(http.StatusOK, "Connect Tide Planner?")
	stranger.Get("/checkout/co_1_2").Want(http.StatusNotFound, "Not found")

	// The button leads through sign-in to the license.
	for to := range page.Links("/licensing/") {
		signIn := b.Follow(b.Get(to)).Want(http.StatusOK, "Sign in")
		b.Follow(b.Press(signIn, "Sign in", "email", pagetest.Ann, "password", pagetest.Password)).Want(http.StatusOK, "Your license for Tide Planner is ready")
		return
	}
	t.Error("there is no link to the license")
}

// TestCheckoutOfAMovedLicense: the buyer who no longer owns the license does not see it, with or without a
// login.
func TestCheckoutOfAMovedLicense(t *testing.T) {
	for name, move := range map[string]func(*pagetest.Service, license.License) error{
		"transferred": func(h *pagetest.Service, l license.License) error {
			_, err := h.Shop.Licenses.Transfer(t.Context(), pagetest.Tester, l.Key, account.Person{Email: pagetest.Eve})
			return err
		},
		"erased": func(h *pagetest.Service, l license.License) error {
			_, err := h.Shop.Licenses.EraseUser(t.Context(), pagetest.Tester, l.OwnerID)
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			h, b, _ := annAndLicense(t)
			stripe := withStripe(t, h)
			b.Press(b.Get("/products/1"), "Buy Plan 1")
			session, back := ref(stripe)
			stripe.Pay(session)
			b.Follow(b.Get(back)).Want(http.StatusOK, "Connect Tide Planner?")
			c, err := h.Shop.Payments.ByRef(t.Context(), stripe.Objects("cs")[0].Text("client_reference_id"))
			if err != nil {
				t.Fatal(err)
			}
			list, err := h.Shop.Licenses.OfSale(t.Context(), c.PurchaseID)
			if err == nil {
				err = move(h, list[0])
			}
			if err != nil {
				t.Fatal(err)
			}
			if name == "transferred" {
				b.Get(back).WantRedirect("/licenses")
				b.Post("/sign-out")
			}
			page := b.Get(back).Want(http.StatusOK, "Your payment is done")
			if strings.Contains(page.Body, list[0].RedemptionID) || strings.Contains(page.Body, list[0].Key[len(list[0].Key)-4:]) {
				t.Errorf("the page shows the license: %s", page.Text())
			}
		})
	}
}

// knowsNothing checks that a page names neither the purchase nor its price.
func knowsNothing(t *testing.T, page *pagetest.Page) {
	t.Helper()
	for _, word := range []string{"Tide Planner", "49.00", "Plan 1", "/licensing/", "failed"} {
		if strings.Contains(page.Text(), word) {
			t.Errorf("a stranger reads %q: %s", word, page.Text())
		}
	}
}

// TestStrangersAskNothing: requests from other browsers do not make us ask Stripe.
func TestStrangersAskNothing(t *testing.T) {
	h, b, _ := annAndLicense(t)
	stripe := withStripe(t, h)
	b.Press(b.Get("/products/1"), "Buy Plan 1")
	_, back := ref(stripe)
	stripe.Broken = func() bool {
		t.Error("Stripe was asked")
		return true
	}
	h.NewBrowser().Get(back).Want(http.StatusOK, "The payment is in progress")
}
