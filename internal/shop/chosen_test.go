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
)

// pressed has the buyer press the button of a license whose application begins
// sign-ins itself.
func (b *browser) pressed(l license.License) {
	b.Helper()
	start := "https://tide.example/login"
	if _, _, err := b.shop.OAuth.Profiles.Connect(b.Context(), tester, b.partner.ID, profile.Connection{InitiateLoginURI: &start}); err != nil {
		b.Fatal(err)
	}
	b.post(redeemPage(l)).arrives(start)
}

// TestButtonOfSomebodyElse: whoever signs in next at a browser is not shown the
// license that was meant before.
func TestButtonOfSomebodyElse(t *testing.T) {
	h, b, _ := annAndLicense(t)
	h.user(eve, password)
	h.sell(eve, 2)
	b.pressed(h.sell(ann, 3))
	b.press(b.get("/sign-in?again=1"), "Sign in", "email", eve, "password", password).leads("/licenses")
	page := b.get(authorize(h.request())).want(http.StatusOK, "Connect Tide Planner?")
	b.press(page, "Allow and continue").arrives(h.redirect) // for her own
}

// TestButtonOfAnotherApplication: a license is meant for its own application only.
func TestButtonOfAnotherApplication(t *testing.T) {
	h, b, l := annAndLicense(t)
	there := "https://other.example/in"
	other, _, _, err := h.shop.OAuth.Profiles.Enrol(t.Context(), tester, partner.Draft{Name: "Other"}, profile.URLs{Redirect: there}, false, partner.Credentials{})
	if err != nil {
		t.Fatal(err)
	}
	b.pressed(l)
	q := b.get(authorize(h.request("client_id", other.ClientID, "redirect_uri", there))).arrives(there)
	if q.Get("error") != "access_denied" {
		t.Errorf("the other application gets %v", q)
	}
}

// asksWhich reports whether a request of the application asks which license.
func (b *browser) asksWhich(pairs ...string) bool {
	b.Helper()
	return strings.Contains(b.get(authorize(b.request(pairs...))).want(http.StatusOK, "Connect Tide Planner?").text(), "Which license?")
}

// TestButtonOfLongAgo: what was meant counts for a while.
func TestButtonOfLongAgo(t *testing.T) {
	h, b, l := annAndLicense(t)
	h.sell(ann, 3)
	b.pressed(l)
	h.advance(9 * time.Minute)
	if b.asksWhich() {
		t.Error("it asks which license though the buyer said so")
	}
	h.advance(2 * time.Minute)
	if !b.asksWhich() {
		t.Error("the button counts long after")
	}
}

// TestConsentPageLoadedAgain: the page stays about the license that was meant; the
// application's next request is another matter.
func TestConsentPageLoadedAgain(t *testing.T) {
	h, b, l := annAndLicense(t)
	h.sell(ann, 3)
	b.pressed(l)
	for range 3 {
		if b.asksWhich() {
			t.Error("it asks which license though the buyer said so")
		}
	}
	if !b.asksWhich("state", "next") {
		t.Error("the button counts for another request")
	}
	b.post("/sign-out")
	b.signIn(ann, password)
	if !b.asksWhich() {
		t.Error("the button outlives signing out")
	}
}

// TestButtonThatServed: once the license is connected its button counts no more,
// whether a page asked or not.
func TestButtonThatServed(t *testing.T) {
	h, b, l := annAndLicense(t)
	h.sell(ann, 3)
	b.pressed(l)
	b.press(b.get(authorize(h.request())), "Allow and continue").arrives(h.redirect)
	if !b.asksWhich("prompt", "consent", "state", "2") {
		t.Error("the button counts after a consent")
	}
	b.pressed(l)
	b.get(authorize(h.request())).arrives(h.redirect)
	if !b.asksWhich("prompt", "consent", "state", "3") {
		t.Error("the button counts after a mere redirect")
	}
}

// TestButtonAfterARefusal: an application that may first look whether it can do
// without a page still learns which license was meant.
func TestButtonAfterARefusal(t *testing.T) {
	h, b, l := annAndLicense(t)
	h.sell(ann, 3)
	b.pressed(l)
	b.get(authorize(h.request("prompt", "none"))).refused(h, "consent_required")
	if b.asksWhich() {
		t.Error("it asks which license though the buyer said so")
	}
}

// TestNobodyChooses: an application that forbids asking is told that the buyer has
// to choose, whether some of the licenses are known to it or none; the only one
// that is goes straight through.
func TestNobodyChooses(t *testing.T) {
	h, b, first := annAndLicense(t)
	second := h.sell(ann, 3)
	none := func() *sheet { return b.get(authorize(h.request("prompt", "none"))) }
	refused := func() {
		t.Helper()
		s := none()
		s.refused(h, "interaction_required")
		if text := s.arrives(h.redirect).Get("error_description"); !strings.Contains(text, "one of several licenses") {
			t.Errorf("the application reads %q", text)
		}
	}
	refused()
	b.press(b.get(consentPage(first)), "Allow and continue").arrives(h.redirect)
	if none().arrives(h.redirect).Get("code") == "" {
		t.Error("the one that is known does not go through")
	}
	b.press(b.get(consentPage(second)), "Allow and continue").arrives(h.redirect)
	refused()
}

// TestAnotherLicense: who has one connected chooses another when the application
// lets them, or at the button of that license.
func TestAnotherLicense(t *testing.T) {
	h, b, first := annAndLicense(t)
	second, third := h.sell(ann, 2), h.sell(ann, 3)
	b.press(b.get(consentPage(first)), "Allow and continue").arrives(h.redirect)
	b.get(authorize(h.request())).arrives(h.redirect) // straight through with the first

	h.advance(time.Second)
	page := b.asks("prompt", "select_account")
	b.press(page, "Allow and continue", "license", second.RedemptionID).arrives(h.redirect)
	b.press(b.follow(b.press(b.get(redeemPage(third)), "Activate")), "Allow and continue").arrives(h.redirect)
	for _, l := range []license.License{first, second, third} {
		if now := h.license(l); now.Status != event.Active {
			t.Errorf("license %d is %s", l.Tier, now.Status)
		}
	}
}
