package shop_test

import (
	"net/http"
	"strings"
	"testing"

	"claviger/internal/event"
	"claviger/internal/license"
	"claviger/internal/profile"
	"claviger/internal/visitor/pagetest"
)

// annAndLicense returns a service with Ann signed in and her license.
func annAndLicense(t *testing.T) (*pagetest.Service, *pagetest.Browser, license.License) {
	t.Helper()
	h := pagetest.New(t)
	h.AddUser(pagetest.Ann, pagetest.Password)
	return h, h.NewBrowser().SignIn(pagetest.Ann, pagetest.Password), h.Sell(pagetest.Ann, 1)
}

func consentPage(l license.License) string { return "/licensing/" + l.RedemptionID + "/consent" }

// TestRedeemInThreeClicks: sign in, activate, allow.
func TestRedeemInThreeClicks(t *testing.T) {
	h := pagetest.New(t)
	h.AddUser(pagetest.Ann, pagetest.Password)
	l := h.Sell(pagetest.Ann, 2)
	b := h.NewBrowser()
	signIn := b.Follow(b.Get(pagetest.RedeemPath(l)))
	signIn.Want(http.StatusOK, "Sign in")
	page := b.Follow(b.Press(signIn, "Sign in", "email", pagetest.Ann, "password", pagetest.Password)) // one
	page.Want(http.StatusOK, "Your license for Tide Planner is ready")
	consent := b.Follow(b.Press(page, "Activate")) // two
	consent.Want(http.StatusOK, "Connect Tide Planner?")
	for _, want := range []string{"tide.example", "your license key", "your email address or your name"} {
		if !strings.Contains(consent.Text(), want) {
			t.Errorf("the consent does not say %q: %s", want, consent.Text())
		}
	}
	brought := b.Press(consent, "Allow and continue").WantCallback(h.RedirectURL) // three
	if len(brought) != 2 || len(brought.Get("code")) != 64 || brought.Get("iss") != h.URL {
		t.Errorf("the application gets %v, want a code and the issuer", brought)
	}
	h.AddSecret(brought.Get("code"))
	if now := stored(h, l); now.Status != event.Active {
		t.Errorf("the license is %s", now.Status)
	}

	// A returning buyer goes straight through, with a new code.
	back := b.Get(pagetest.RedeemPath(l))
	back.Want(http.StatusOK, "Tide Planner is active")
	again := b.Press(back, "Open Tide Planner").WantCallback(h.RedirectURL)
	if again.Get("code") == brought.Get("code") || again.Get("code") == "" {
		t.Error("the second visit brought the same code, or none")
	}
	h.AddSecret(again.Get("code"))
}

func stored(h *pagetest.Service, l license.License) license.License {
	h.Helper()
	now, err := h.Shop.Licenses.ByKey(h.Context(), l.Key)
	if err != nil {
		h.Fatal(err)
	}
	return now
}

func TestCancelGoesToMyLicenses(t *testing.T) {
	h, b, l := annAndLicense(t)
	s := b.Press(b.Get(consentPage(l)), "Cancel")
	s.WantRedirect("/licenses")
	if !strings.Contains(b.Get("/licenses").Text(), "Nothing was connected") {
		t.Error("the page does not say that nothing was connected")
	}
	if now := stored(h, l); now.Status != event.Inactive {
		t.Errorf("the license is %s", now.Status)
	}
}

// TestRedeemStages: each state has its own sentence, and its form works only if the license can be
// redeemed.
func TestRedeemStages(t *testing.T) {
	h := pagetest.New(t)
	user := h.AddUser(pagetest.Ann, pagetest.Password)
	b := h.NewBrowser().SignIn(pagetest.Ann, pagetest.Password)
	redeem := func(l license.License) {
		if _, err := h.Shop.Licenses.Redeem(t.Context(), pagetest.Tester, l.RedemptionID, user.ID); err != nil {
			t.Fatal(err)
		}
	}
	tests := map[string]struct {
		do     func(license.License)
		title  string
		button string // "": none
	}{
		"ready":     {func(license.License) {}, "Your license for Tide Planner is ready", "Activate"},
		"connected": {redeem, "Tide Planner is active", "Open Tide Planner"},
		"released": {func(l license.License) {
			redeem(l)
			if _, err := h.Shop.Licenses.Release(t.Context(), pagetest.Tester, l.Key); err != nil {
				t.Fatal(err)
			}
		}, "Tide Planner is not connected", "Activate"},
		"refunded": {func(l license.License) {
			if _, err := h.Shop.Licenses.Refund(t.Context(), pagetest.Tester, license.RefundOrder{LicenseKey: l.Key}); err != nil {
				t.Fatal(err)
			}
		}, "This license was refunded", ""},
		"held": {func(l license.License) {
			if _, err := h.Shop.Licenses.Hold(t.Context(), pagetest.Tester, l.Key, license.HoldChargeback); err != nil {
				t.Fatal(err)
			}
		}, "This license is on hold", ""},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			h.In(t)
			l := h.Sell(pagetest.Ann, 1)
			tt.do(l)
			before := stored(h, l)
			page := b.Get(pagetest.RedeemPath(l))
			page.Want(http.StatusOK, tt.title)
			if tt.button == "" {
				// A post gets the reason, too.
				b.Post(pagetest.RedeemPath(l)).WantRedirect(pagetest.RedeemPath(l))
				b.Post(consentPage(l), "decision", "allow").WantRedirect(pagetest.RedeemPath(l))
				if stored(h, l) != before {
					t.Error("it was redeemed")
				}
				return
			}
			b.Follow(b.Press(page, tt.button)).Want(http.StatusOK, "Connect Tide Planner?")
		})
	}
}

// TestSomebodyElsesLicense: another person's license reveals nothing and cannot be changed.
func TestSomebodyElsesLicense(t *testing.T) {
	h, _, l := annAndLicense(t)
	h.AddUser(pagetest.Eve, pagetest.Password)
	e := h.NewBrowser().SignIn(pagetest.Eve, pagetest.Password)
	pages := []*pagetest.Page{e.Get(pagetest.RedeemPath(l)), e.Get(consentPage(l)), e.Post(pagetest.RedeemPath(l)), e.Post(consentPage(l), "decision", "allow")}
	for i, s := range pages {
		if s.Status != http.StatusForbidden {
			t.Errorf("page %d: %d", i, s.Status)
		}
		for _, told := range []string{"Tide", "Plan 1", pagetest.Ann, "nactive", l.Key} {
			if strings.Contains(s.Body, told) {
				t.Errorf("page %d tells %q", i, told)
			}
		}
	}
	for _, s := range []*pagetest.Page{
		e.Get("/licenses/" + l.RedemptionID), e.Post("/licenses/" + l.RedemptionID + "/release"),
		e.Get("/licensing/" + l.RedemptionID + "/change_plan"), e.Post("/licensing/"+l.RedemptionID+"/change_plan", "tier", "2"),
	} {
		if s.Status != http.StatusNotFound || strings.Contains(s.Body, "Tide") {
			t.Errorf("got %d: %s", s.Status, s.Text())
		}
	}
	e.Get("/licensing/00000000-0000-4000-8000-000000000000/redeem").Want(http.StatusNotFound, "Not found")
	e.Get("/licensing/nonsense/redeem").Want(http.StatusNotFound, "Not found")
	if now := stored(h, l); now != l {
		t.Errorf("the license is now %+v", now)
	}
}

// TestClaim: an unclaimed license belongs to the first person who redeems it.
func TestClaim(t *testing.T) {
	h := pagetest.New(t)
	first := h.AddUser(pagetest.Ann, pagetest.Password)
	h.AddUser(pagetest.Eve, pagetest.Password)
	l := h.Sell("", 1)
	h.AddSecret(l.RedemptionID) // it is enough to claim it
	b, e := h.NewBrowser().SignIn(pagetest.Ann, pagetest.Password), h.NewBrowser().SignIn(pagetest.Eve, pagetest.Password)
	e.Get(pagetest.RedeemPath(l)).Want(http.StatusOK, "Your license for Tide Planner is ready") // looking claims nothing
	page := e.Get(consentPage(l))
	b.Press(b.Get(consentPage(l)), "Allow and continue").WantCallback(h.RedirectURL)
	if s := e.Press(page, "Allow and continue"); s.Status != http.StatusForbidden {
		t.Errorf("the second got %d", s.Status)
	}
	if now := stored(h, l); now.OwnerID != first.ID {
		t.Errorf("the license belongs to %d", now.OwnerID)
	}
}

// TestNotConnected: an application without a redirect URL cannot receive buyers.
func TestNotConnected(t *testing.T) {
	h, b, l := annAndLicense(t)
	none := ""
	if _, _, _, err := h.Shop.OAuth.Profiles.Amend(t.Context(), pagetest.Tester, h.Partner.ID, nothing, profile.URLChange{Redirect: &none}, false); err != nil {
		t.Fatal(err)
	}
	b.Get(pagetest.RedeemPath(l)).Want(http.StatusOK, "Tide Planner is not ready yet")
	b.Post(pagetest.RedeemPath(l)).WantRedirect(pagetest.RedeemPath(l))
}

// TestInitiateLogin: an application that starts sign-ins itself gets the buyer without a code, and
// then the chosen license.
func TestInitiateLogin(t *testing.T) {
	h, b, _ := annAndLicense(t)
	l := h.Sell("", 3) // unclaimed, so it is in no chooser
	start := "https://tide.example/login"
	if _, _, err := h.Shop.OAuth.Profiles.Connect(t.Context(), pagetest.Tester, h.Partner.ID, profile.Connection{InitiateLoginURI: &start}); err != nil {
		t.Fatal(err)
	}
	page := b.Get(pagetest.RedeemPath(l))
	if !strings.Contains(page.Header.Get("Content-Security-Policy"), "form-action 'self' https:;") {
		t.Errorf("the form may not lead there: %s", page.Header.Get("Content-Security-Policy"))
	}
	brought := b.Press(page, "Activate").WantCallback(start)
	if brought.Get("iss") != h.URL || brought.Has("code") {
		t.Errorf("the application gets %v", brought)
	}
	for name, s := range map[string]*pagetest.Page{
		"consent page": b.Get(consentPage(l)),
		"consent":      b.Post(consentPage(l), "decision", "allow"),
	} {
		if brought := s.WantCallback(start); brought.Get("iss") != h.URL || brought.Has("code") {
			t.Errorf("%s: the application gets %v", name, brought)
		}
	}
	b.Post(consentPage(l), "decision", "cancel").WantRedirect("/licenses")
	if now := stored(h, l); now != l {
		t.Errorf("the license is now %+v", now)
	}
	consent := b.Get("/openid/authorize?" + h.AuthorizeRequest("state", "s1").Encode())
	consent.Want(http.StatusOK, "Connect Tide Planner?")
	if strings.Contains(consent.Text(), "Which license?") {
		t.Error("it asks which license though the buyer said so")
	}
	b.Press(consent, "Allow and continue").WantCallback(h.RedirectURL)
	if now := stored(h, l); now.Status != event.Active {
		t.Errorf("the license is %s", now.Status)
	}
}
