package shop_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"claviger/internal/event"
	"claviger/internal/license"
	"claviger/internal/partner"
	"claviger/internal/profile"
	"claviger/internal/visitor/pagetest"
)

// pressed presses the button of a license of an application that starts sign-ins itself.
func pressed(b *pagetest.Browser, l license.License) {
	b.Helper()
	start := "https://tide.example/login"
	if _, _, err := b.Shop.OAuth.Profiles.Connect(b.Context(), pagetest.Tester, b.Partner.ID, profile.Connection{InitiateLoginURI: &start}); err != nil {
		b.Fatal(err)
	}
	b.Post(pagetest.RedeemPath(l)).WantCallback(start)
}

// TestChoiceOfAnotherUsersLicense: the next person at a browser does not see the license that was
// chosen before.
func TestChoiceOfAnotherUsersLicense(t *testing.T) {
	h, b, _ := annAndLicense(t)
	h.AddUser(pagetest.Eve, pagetest.Password)
	h.Sell(pagetest.Eve, 2)
	pressed(b, h.Sell(pagetest.Ann, 3))
	b.Press(b.Get("/sign-in?again=1"), "Sign in", "email", pagetest.Eve, "password", pagetest.Password).WantRedirect("/licenses")
	page := b.Get(pagetest.AuthorizeURL(h.AuthorizeRequest())).Want(http.StatusOK, "Connect Tide Planner?")
	b.Press(page, "Allow and continue").WantCallback(h.RedirectURL) // for her own
}

// TestChoiceForAnotherApplication: a choice only applies to the license's own application.
func TestChoiceForAnotherApplication(t *testing.T) {
	h, b, l := annAndLicense(t)
	there := "https://other.example/in"
	other, _, _, err := h.Shop.OAuth.Profiles.Enrol(t.Context(), pagetest.Tester, partner.Draft{Name: "Other"}, profile.URLs{Redirect: there}, false, partner.Credentials{})
	if err != nil {
		t.Fatal(err)
	}
	pressed(b, l)
	q := b.Get(pagetest.AuthorizeURL(h.AuthorizeRequest("client_id", other.ClientID, "redirect_uri", there))).WantCallback(there)
	if q.Get("error") != "access_denied" {
		t.Errorf("the other application gets %v", q)
	}
}

// asksWhich reports whether a request of the application asks which license.
func asksWhich(b *pagetest.Browser, pairs ...string) bool {
	b.Helper()
	return strings.Contains(b.Get(pagetest.AuthorizeURL(b.AuthorizeRequest(pairs...))).Want(http.StatusOK, "Connect Tide Planner?").Text(), "Which license?")
}

// TestChoiceExpires: a choice is valid for a limited time.
func TestChoiceExpires(t *testing.T) {
	h, b, l := annAndLicense(t)
	h.Sell(pagetest.Ann, 3)
	pressed(b, l)
	h.Advance(9 * time.Minute)
	if asksWhich(b) {
		t.Error("it asks which license though the buyer said so")
	}
	h.Advance(2 * time.Minute)
	if !asksWhich(b) {
		t.Error("the button counts long after")
	}
}

// TestConsentPageLoadedAgain: the reloaded page keeps the chosen license; the application's next
// request does not.
func TestConsentPageLoadedAgain(t *testing.T) {
	h, b, l := annAndLicense(t)
	h.Sell(pagetest.Ann, 3)
	pressed(b, l)
	for range 3 {
		if asksWhich(b) {
			t.Error("it asks which license though the buyer said so")
		}
	}
	if !asksWhich(b, "state", "next") {
		t.Error("the button counts for another request")
	}
	b.Post("/sign-out")
	b.SignIn(pagetest.Ann, pagetest.Password)
	if !asksWhich(b) {
		t.Error("the button outlives signing out")
	}
}

// TestChoiceIsRemovedAfterConnecting: once the license is connected, the choice no longer applies,
// with or without a consent page.
func TestChoiceIsRemovedAfterConnecting(t *testing.T) {
	h, b, l := annAndLicense(t)
	h.Sell(pagetest.Ann, 3)
	pressed(b, l)
	b.Press(b.Get(pagetest.AuthorizeURL(h.AuthorizeRequest())), "Allow and continue").WantCallback(h.RedirectURL)
	if !asksWhich(b, "prompt", "consent", "state", "2") {
		t.Error("the button counts after a consent")
	}
	pressed(b, l)
	b.Get(pagetest.AuthorizeURL(h.AuthorizeRequest())).WantCallback(h.RedirectURL)
	if !asksWhich(b, "prompt", "consent", "state", "3") {
		t.Error("the button counts after a mere redirect")
	}
}

// TestChoiceAfterARefusal: an application that first tries without a page still gets the chosen
// license.
func TestChoiceAfterARefusal(t *testing.T) {
	h, b, l := annAndLicense(t)
	h.Sell(pagetest.Ann, 3)
	pressed(b, l)
	refused(b.Get(pagetest.AuthorizeURL(h.AuthorizeRequest("prompt", "none"))), h, "consent_required")
	if asksWhich(b) {
		t.Error("it asks which license though the buyer said so")
	}
}

// TestNobodyChooses: an application that forbids asking is told that the buyer has to choose,
// whether it knows some of the licenses or none; a single known one goes straight through.
func TestNobodyChooses(t *testing.T) {
	h, b, first := annAndLicense(t)
	second := h.Sell(pagetest.Ann, 3)
	none := func() *pagetest.Page { return b.Get(pagetest.AuthorizeURL(h.AuthorizeRequest("prompt", "none"))) }
	refused := func() {
		t.Helper()
		s := none()
		refused(s, h, "interaction_required")
		if text := s.WantCallback(h.RedirectURL).Get("error_description"); !strings.Contains(text, "one of several licenses") {
			t.Errorf("the application reads %q", text)
		}
	}
	refused()
	b.Press(b.Get(consentPage(first)), "Allow and continue").WantCallback(h.RedirectURL)
	if none().WantCallback(h.RedirectURL).Get("code") == "" {
		t.Error("the one that is known does not go through")
	}
	b.Press(b.Get(consentPage(second)), "Allow and continue").WantCallback(h.RedirectURL)
	refused()
}

// TestAnotherLicense: a buyer with a connected license chooses another if the application lets
// them, or with the button of that license.
func TestAnotherLicense(t *testing.T) {
	h, b, first := annAndLicense(t)
	second, third := h.Sell(pagetest.Ann, 2), h.Sell(pagetest.Ann, 3)
	b.Press(b.Get(consentPage(first)), "Allow and continue").WantCallback(h.RedirectURL)
	b.Get(pagetest.AuthorizeURL(h.AuthorizeRequest())).WantCallback(h.RedirectURL) // straight through with the first

	h.Advance(time.Second)
	page := asks(b, "prompt", "select_account")
	b.Press(page, "Allow and continue", "license", second.RedemptionID).WantCallback(h.RedirectURL)
	b.Press(b.Follow(b.Press(b.Get(pagetest.RedeemPath(third)), "Activate")), "Allow and continue").WantCallback(h.RedirectURL)
	for _, l := range []license.License{first, second, third} {
		if now := stored(h, l); now.Status != event.Active {
			t.Errorf("license %d is %s", l.Tier, now.Status)
		}
	}
}
