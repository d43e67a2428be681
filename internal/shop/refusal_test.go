package shop_test

import (
	"strings"
	"testing"
	"time"

	"claviger/internal/license"
	"claviger/internal/profile"
	"claviger/internal/sqldb"
	"claviger/internal/visitor/pagetest"
)

// TestDecisionThatCannotBe: if the license can no longer be connected, the waiting application gets
// the reason.
func TestDecisionThatCannotBe(t *testing.T) {
	refund := func(h *pagetest.Service, l license.License) {
		if _, err := h.Shop.Licenses.Refund(h.Context(), pagetest.Tester, license.RefundOrder{LicenseKey: l.Key}); err != nil {
			h.Fatal(err)
		}
	}
	hold := func(h *pagetest.Service, l license.License) {
		if _, err := h.Shop.Licenses.Hold(h.Context(), pagetest.Tester, l.Key, license.HoldChargeback); err != nil {
			h.Fatal(err)
		}
	}
	for name, c := range map[string]struct {
		meanwhile func(h *pagetest.Service, b *pagetest.Browser, l license.License)
		fields    []string // altered in the form
		want      string
	}{
		"held":     {func(h *pagetest.Service, _ *pagetest.Browser, l license.License) { hold(h, l) }, nil, "The license is on hold."},
		"refunded": {func(h *pagetest.Service, _ *pagetest.Browser, l license.License) { refund(h, l) }, nil, "The license was refunded."},
		"another account": {func(h *pagetest.Service, b *pagetest.Browser, _ license.License) {
			h.AddUser(pagetest.Eve, pagetest.Password)
			b.Press(b.Get("/sign-in?again=1"), "Sign in", "email", pagetest.Eve, "password", pagetest.Password)
		}, nil, "The license belongs to another account than the one that is signed in."},
		"missing":  {nil, []string{"license", "00000000-0000-4000-8000-000000000000"}, "There is no such license of this application, or none was chosen."},
		"none":     {nil, []string{"license", ""}, "There is no such license of this application, or none was chosen."},
		"nonsense": {nil, []string{"license", "\xff"}, "There is no such license of this application, or none was chosen."},
	} {
		t.Run(name, func(t *testing.T) {
			h, b, l := annAndLicense(t)
			page := b.Get(pagetest.AuthorizeURL(h.AuthorizeRequest()))
			if c.meanwhile != nil {
				c.meanwhile(h, b, l)
			}
			before := stored(h, l)
			s := b.Press(page, "Allow and continue", c.fields...)
			refused(s, h, "access_denied")
			if got := s.WantCallback(h.RedirectURL).Get("error_description"); got != c.want {
				t.Errorf("the application reads %q, want %q", got, c.want)
			}
			if now := stored(h, l); now != before {
				t.Errorf("the license is now %+v", now)
			}
		})
	}
}

// TestKnownLicenseThatCannotBe tests the same for a license that would have gone straight through.
func TestKnownLicenseThatCannotBe(t *testing.T) {
	h, b, l := annAndLicense(t)
	b.Press(b.Get(pagetest.AuthorizeURL(h.AuthorizeRequest())), "Allow and continue").WantCallback(h.RedirectURL)
	pressed(b, l)
	if _, err := h.Shop.Licenses.Hold(t.Context(), pagetest.Tester, l.Key, license.HoldChargeback); err != nil {
		t.Fatal(err)
	}
	refused(b.Get(pagetest.AuthorizeURL(h.AuthorizeRequest("prompt", "none"))), h, "access_denied")
}

// TestDecisionAfterTheRedirectChanged: the error is shown here, because the request does not know
// the application's new URL.
func TestDecisionAfterTheRedirectChanged(t *testing.T) {
	h, b, _ := annAndLicense(t)
	page := b.Get(pagetest.AuthorizeURL(h.AuthorizeRequest()))
	there := "https://tide.example/elsewhere"
	if _, _, _, err := h.Shop.OAuth.Profiles.Amend(t.Context(), pagetest.Tester, h.Partner.ID, nothing, profile.URLChange{Redirect: &there}, false); err != nil {
		t.Fatal(err)
	}
	if s := b.Press(page, "Allow and continue"); s.Status < 400 || s.Header.Get("Location") != "" {
		t.Errorf("got %d to %q", s.Status, s.Header.Get("Location"))
	}
}

// TestDecisionWhileTheDatabaseIsUnavailable: the error is ours, and not sent to the application.
func TestDecisionWhileTheDatabaseIsUnavailable(t *testing.T) {
	h, b, _ := annAndLicense(t)
	page := b.Get(pagetest.AuthorizeURL(h.AuthorizeRequest()))
	if err := h.DB.Write(t.Context(), func(tx *sqldb.Tx) error {
		_, err := tx.Exec(t.Context(), `DROP TABLE oauth_grants`)
		return err
	}); err != nil {
		t.Fatal(err)
	}
	if s := b.Press(page, "Allow and continue"); s.Status < 500 || s.Header.Get("Location") != "" {
		t.Errorf("got %d to %q", s.Status, s.Header.Get("Location"))
	}
}

// TestCancelNeedsNobody: a visitor who has signed out can still cancel.
func TestCancelNeedsNobody(t *testing.T) {
	h, b, _ := annAndLicense(t)
	page := b.Get(pagetest.AuthorizeURL(h.AuthorizeRequest()))
	b.Post("/sign-out")
	h.Advance(time.Hour)
	s := b.Press(page, "Cancel")
	refused(s, h, "access_denied")
	if got := s.WantCallback(h.RedirectURL).Get("error_description"); !strings.Contains(got, "did not consent") {
		t.Errorf("the application reads %q", got)
	}
}
