package shop_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

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

// TestButtonOfLongAgo: what was meant counts for a while and once.
func TestButtonOfLongAgo(t *testing.T) {
	h, b, l := annAndLicense(t)
	h.sell(ann, 3)
	asks := func() bool { return strings.Contains(b.get(authorize(h.request())).text(), "Which license?") }
	b.pressed(l)
	if asks() {
		t.Error("it asks which license though the buyer said so")
	}
	if !asks() {
		t.Error("the button counts twice")
	}
	b.pressed(l)
	h.advance(11 * time.Minute)
	if !asks() {
		t.Error("the button counts long after")
	}
}
