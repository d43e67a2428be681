package shop_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"claviger/internal/event"
	"claviger/internal/license"
	"claviger/internal/profile"
)

const eve = "eve@example.com"

// annAndLicense is a house with Ann signed in and a license of hers.
func annAndLicense(t *testing.T) (*house, *browser, license.License) {
	t.Helper()
	h := build(t)
	h.user(ann, password)
	return h, h.browser().signIn(ann, password), h.sell(ann, 1)
}

func redeemPage(l license.License) string { return "/licensing/" + l.RedemptionID + "/redeem/" }

func consentPage(l license.License) string { return "/licensing/" + l.RedemptionID + "/consent" }

// arrives checks that the answer sends the browser to the application, and
// returns what it brings along.
func (s *sheet) arrives(at string) url.Values {
	s.Helper()
	to, err := url.Parse(s.Header.Get("Location"))
	if err != nil || s.Status != http.StatusSeeOther || !strings.HasPrefix(to.String(), at+"?") {
		s.Fatalf("got %d to %q, want to be sent to %s; it says: %s", s.Status, to, at, s.Body)
	}
	return to.Query()
}

// TestRedeemInThreeClicks: sign in, activate, allow.
func TestRedeemInThreeClicks(t *testing.T) {
	h := build(t)
	h.user(ann, password)
	l := h.sell(ann, 2)
	b := h.browser()
	signIn := b.follow(b.get(redeemPage(l)))
	signIn.want(http.StatusOK, "Sign in")
	page := b.follow(b.press(signIn, "Sign in", "email", ann, "password", password)) // one
	page.want(http.StatusOK, "Your license for Tide Planner is ready")
	consent := b.follow(b.press(page, "Activate")) // two
	consent.want(http.StatusOK, "Connect Tide Planner?")
	for _, want := range []string{"tide.example", "your license key", "your email address or your name"} {
		if !strings.Contains(consent.text(), want) {
			t.Errorf("the consent does not say %q: %s", want, consent.text())
		}
	}
	brought := b.press(consent, "Allow and continue").arrives(h.redirect) // three
	if len(brought) != 2 || len(brought.Get("code")) != 64 || brought.Get("iss") != h.url {
		t.Errorf("the application gets %v, want a code and the issuer", brought)
	}
	h.secret(brought.Get("code"))
	if now := h.license(l); now.Status != event.Active {
		t.Errorf("the license is %s", now.Status)
	}

	// Whoever comes back passes straight through, with a new code.
	back := b.get(redeemPage(l))
	back.want(http.StatusOK, "Tide Planner is active")
	again := b.press(back, "Open Tide Planner").arrives(h.redirect)
	if again.Get("code") == brought.Get("code") || again.Get("code") == "" {
		t.Error("the second visit brought the same code, or none")
	}
	h.secret(again.Get("code"))
}

func (h *house) license(l license.License) license.License {
	h.Helper()
	now, err := h.shop.Licenses.ByKey(h.Context(), l.Key)
	if err != nil {
		h.Fatal(err)
	}
	return now
}

func TestCancelGoesToMyLicenses(t *testing.T) {
	h, b, l := annAndLicense(t)
	s := b.press(b.get(consentPage(l)), "Cancel")
	s.leads("/licenses")
	if !strings.Contains(b.get("/licenses").text(), "Nothing was connected") {
		t.Error("the page does not say that nothing was connected")
	}
	if now := h.license(l); now.Status != event.Inactive {
		t.Errorf("the license is %s", now.Status)
	}
}

// TestRedeemStages: each state has its own sentence, and its form works only where
// the license can be redeemed.
func TestRedeemStages(t *testing.T) {
	h := build(t)
	user := h.user(ann, password)
	b := h.browser().signIn(ann, password)
	redeem := func(l license.License) {
		if _, err := h.shop.Licenses.Redeem(t.Context(), tester, l.RedemptionID, user.ID); err != nil {
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
			if _, err := h.shop.Licenses.Release(t.Context(), tester, l.Key); err != nil {
				t.Fatal(err)
			}
		}, "Tide Planner is not connected", "Activate"},
		"refunded": {func(l license.License) {
			if _, err := h.shop.Licenses.Refund(t.Context(), tester, license.RefundOrder{LicenseKey: l.Key}, func(license.Refund) []byte { return nil }); err != nil {
				t.Fatal(err)
			}
		}, "This license was refunded", ""},
		"held": {func(l license.License) {
			if _, err := h.shop.Licenses.Hold(t.Context(), tester, l.Key, license.HoldChargeback); err != nil {
				t.Fatal(err)
			}
		}, "This license is on hold", ""},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			h.in(t)
			l := h.sell(ann, 1)
			tt.do(l)
			before := h.license(l)
			page := b.get(redeemPage(l))
			page.want(http.StatusOK, tt.title)
			if tt.button == "" {
				// Whoever posts all the same is shown why not.
				b.post(redeemPage(l)).leads(redeemPage(l))
				b.post(consentPage(l), "decision", "allow").leads(redeemPage(l))
				if h.license(l) != before {
					t.Error("it was redeemed")
				}
				return
			}
			b.follow(b.press(page, tt.button)).want(http.StatusOK, "Connect Tide Planner?")
		})
	}
}

// TestSomebodyElsesLicense: nothing of it is told, and nothing can be done to it.
func TestSomebodyElsesLicense(t *testing.T) {
	h, _, l := annAndLicense(t)
	h.user(eve, password)
	e := h.browser().signIn(eve, password)
	pages := []*sheet{e.get(redeemPage(l)), e.get(consentPage(l)), e.post(redeemPage(l)), e.post(consentPage(l), "decision", "allow")}
	for i, s := range pages {
		if s.Status != http.StatusForbidden {
			t.Errorf("page %d: %d", i, s.Status)
		}
		for _, told := range []string{"Tide", "Plan 1", ann, "nactive", l.Key} {
			if strings.Contains(s.Body, told) {
				t.Errorf("page %d tells %q", i, told)
			}
		}
	}
	for _, s := range []*sheet{
		e.get("/licenses/" + l.RedemptionID), e.post("/licenses/" + l.RedemptionID + "/release"),
		e.get("/licensing/" + l.RedemptionID + "/change_plan"), e.post("/licensing/"+l.RedemptionID+"/change_plan", "tier", "2"),
	} {
		if s.Status != http.StatusNotFound || strings.Contains(s.Body, "Tide") {
			t.Errorf("got %d: %s", s.Status, s.text())
		}
	}
	e.get("/licensing/00000000-0000-4000-8000-000000000000/redeem").want(http.StatusNotFound, "We could not find that")
	e.get("/licensing/nonsense/redeem").want(http.StatusNotFound, "We could not find that")
	if now := h.license(l); now != l {
		t.Errorf("the license is now %+v", now)
	}
}

// TestClaim: an unclaimed license belongs to the first who redeems it.
func TestClaim(t *testing.T) {
	h := build(t)
	first := h.user(ann, password)
	h.user(eve, password)
	l := h.sell("", 1)
	h.secret(l.RedemptionID) // it is enough to claim it
	b, e := h.browser().signIn(ann, password), h.browser().signIn(eve, password)
	e.get(redeemPage(l)).want(http.StatusOK, "Your license for Tide Planner is ready") // looking claims nothing
	page := e.get(consentPage(l))
	b.press(b.get(consentPage(l)), "Allow and continue").arrives(h.redirect)
	if s := e.press(page, "Allow and continue"); s.Status != http.StatusForbidden {
		t.Errorf("the second got %d", s.Status)
	}
	if now := h.license(l); now.OwnerID != first.ID {
		t.Errorf("the license belongs to %d", now.OwnerID)
	}
}

// TestNotConnected: an application without a redirect URL cannot receive anybody.
func TestNotConnected(t *testing.T) {
	h, b, l := annAndLicense(t)
	none := ""
	if _, _, _, err := h.shop.OAuth.Profiles.Amend(t.Context(), tester, h.partner.ID, nothing, profile.URLChange{Redirect: &none}, false); err != nil {
		t.Fatal(err)
	}
	b.get(redeemPage(l)).want(http.StatusOK, "Tide Planner is not quite ready")
	b.post(redeemPage(l)).leads(redeemPage(l))
}

// TestInitiateLogin: an application that begins itself gets the buyer without a
// code, and then the license whose button was pressed.
func TestInitiateLogin(t *testing.T) {
	h, b, _ := annAndLicense(t)
	l := h.sell("", 3) // unclaimed, so it is in no chooser
	start := "https://tide.example/login"
	if _, _, err := h.shop.OAuth.Profiles.Connect(t.Context(), tester, h.partner.ID, profile.Connection{InitiateLoginURI: &start}); err != nil {
		t.Fatal(err)
	}
	page := b.get(redeemPage(l))
	if !strings.Contains(page.Header.Get("Content-Security-Policy"), "form-action 'self' https:;") {
		t.Errorf("the form may not lead there: %s", page.Header.Get("Content-Security-Policy"))
	}
	brought := b.press(page, "Activate").arrives(start)
	if brought.Get("iss") != h.url || brought.Has("code") {
		t.Errorf("the application gets %v", brought)
	}
	for name, s := range map[string]*sheet{
		"consent page": b.get(consentPage(l)),
		"consent":      b.post(consentPage(l), "decision", "allow"),
	} {
		if brought := s.arrives(start); brought.Get("iss") != h.url || brought.Has("code") {
			t.Errorf("%s: the application gets %v", name, brought)
		}
	}
	b.post(consentPage(l), "decision", "cancel").leads("/licenses")
	if now := h.license(l); now != l {
		t.Errorf("the license is now %+v", now)
	}
	consent := b.get("/openid/authorize?" + h.request("state", "s1").Encode())
	consent.want(http.StatusOK, "Connect Tide Planner?")
	if strings.Contains(consent.text(), "Which license?") {
		t.Error("it asks which license though the buyer said so")
	}
	b.press(consent, "Allow and continue").arrives(h.redirect)
	if now := h.license(l); now.Status != event.Active {
		t.Errorf("the license is %s", now.Status)
	}
}
