package shop_test

import (
	"strings"
	"testing"
	"time"

	"claviger/internal/license"
	"claviger/internal/profile"
	"claviger/internal/sqldb"
)

// TestDecisionThatCannotBe: when the license cannot be connected any more, the
// application that waits for an answer learns why.
func TestDecisionThatCannotBe(t *testing.T) {
	refund := func(h *house, l license.License) {
		if _, err := h.shop.Licenses.Refund(h.Context(), tester, license.RefundOrder{LicenseKey: l.Key}, func(license.Refund) []byte { return nil }); err != nil {
			h.Fatal(err)
		}
	}
	hold := func(h *house, l license.License) {
		if _, err := h.shop.Licenses.Hold(h.Context(), tester, l.Key, license.HoldChargeback); err != nil {
			h.Fatal(err)
		}
	}
	for name, c := range map[string]struct {
		meanwhile func(h *house, b *browser, l license.License)
		fields    []string // altered in the form
		want      string
	}{
		"held":     {func(h *house, _ *browser, l license.License) { hold(h, l) }, nil, "The license is on hold."},
		"refunded": {func(h *house, _ *browser, l license.License) { refund(h, l) }, nil, "The license was refunded."},
		"another account": {func(h *house, b *browser, _ license.License) {
			h.user(eve, password)
			b.press(b.get("/sign-in?again=1"), "Sign in", "email", eve, "password", password)
		}, nil, "The license belongs to another account than the one that is signed in."},
		"missing":  {nil, []string{"license", "00000000-0000-4000-8000-000000000000"}, "There is no such license of this application, or none was chosen."},
		"none":     {nil, []string{"license", ""}, "There is no such license of this application, or none was chosen."},
		"nonsense": {nil, []string{"license", "\xff"}, "There is no such license of this application, or none was chosen."},
	} {
		t.Run(name, func(t *testing.T) {
			h, b, l := annAndLicense(t)
			page := b.get(authorize(h.request()))
			if c.meanwhile != nil {
				c.meanwhile(h, b, l)
			}
			before := h.license(l)
			s := b.press(page, "Allow and continue", c.fields...)
			s.refused(h, "access_denied")
			if got := s.arrives(h.redirect).Get("error_description"); got != c.want {
				t.Errorf("the application reads %q, want %q", got, c.want)
			}
			if now := h.license(l); now != before {
				t.Errorf("the license is now %+v", now)
			}
		})
	}
}

// TestKnownLicenseThatCannotBe: so does one that would have gone straight through.
func TestKnownLicenseThatCannotBe(t *testing.T) {
	h, b, l := annAndLicense(t)
	b.press(b.get(authorize(h.request())), "Allow and continue").arrives(h.redirect)
	b.pressed(l)
	if _, err := h.shop.Licenses.Hold(t.Context(), tester, l.Key, license.HoldChargeback); err != nil {
		t.Fatal(err)
	}
	b.get(authorize(h.request("prompt", "none"))).refused(h, "access_denied")
}

// TestDecisionAfterTheRedirectChanged is shown here: where the application is now,
// the request does not know.
func TestDecisionAfterTheRedirectChanged(t *testing.T) {
	h, b, _ := annAndLicense(t)
	page := b.get(authorize(h.request()))
	there := "https://tide.example/elsewhere"
	if _, _, _, err := h.shop.OAuth.Profiles.Amend(t.Context(), tester, h.partner.ID, nothing, profile.URLChange{Redirect: &there}, false); err != nil {
		t.Fatal(err)
	}
	if s := b.press(page, "Allow and continue"); s.Status < 400 || s.Header.Get("Location") != "" {
		t.Errorf("got %d to %q", s.Status, s.Header.Get("Location"))
	}
}

// TestDecisionWhileTheDatabaseIsAway is an error of ours and no answer to the
// application.
func TestDecisionWhileTheDatabaseIsAway(t *testing.T) {
	h, b, _ := annAndLicense(t)
	page := b.get(authorize(h.request()))
	if err := h.db.Write(t.Context(), func(tx *sqldb.Tx) error {
		_, err := tx.Exec(t.Context(), `DROP TABLE oauth_grants`)
		return err
	}); err != nil {
		t.Fatal(err)
	}
	if s := b.press(page, "Allow and continue"); s.Status < 500 || s.Header.Get("Location") != "" {
		t.Errorf("got %d to %q", s.Status, s.Header.Get("Location"))
	}
}

// TestCancelNeedsNobody: who has signed out meanwhile can still say no.
func TestCancelNeedsNobody(t *testing.T) {
	h, b, _ := annAndLicense(t)
	page := b.get(authorize(h.request()))
	b.post("/sign-out")
	h.advance(time.Hour)
	s := b.press(page, "Cancel")
	s.refused(h, "access_denied")
	if got := s.arrives(h.redirect).Get("error_description"); !strings.Contains(got, "did not consent") {
		t.Errorf("the application reads %q", got)
	}
}
