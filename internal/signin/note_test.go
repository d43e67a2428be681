package signin_test

import (
	"encoding/base64"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"claviger/internal/visitor/pagetest"
)

// TestFormsThatMailLeadToAPage checks that the page can be reloaded and revisited. No URL and no
// log contains the address.
func TestFormsThatMailLeadToAPage(t *testing.T) {
	tests := []struct{ form, says, startAgain string }{
		{"/sign-in/send", "If " + pagetest.Ann + " has an account here", "/sign-in"},
		{"/reset", "If " + pagetest.Ann + " has an account here", "/sign-in"},
		{"/sign-up", "We sent an email to " + pagetest.Ann, "/sign-up"},
	}
	for _, tt := range tests {
		t.Run(tt.form, func(t *testing.T) {
			h := pagetest.New(t)
			h.AddSecret(pagetest.Ann)
			h.AddSecret(url.QueryEscape(pagetest.Ann))
			b := h.NewBrowser()
			b.Post(tt.form, "email", pagetest.Ann, "password", pagetest.Password, "next", "/licenses?x=1").WantRedirect("/check-mail?next=%2Flicenses%3Fx%3D1")
			for range 2 {
				page := b.Get("/check-mail?next=%2Flicenses%3Fx%3D1").Want(http.StatusOK, "Check your email")
				if !strings.Contains(page.Text(), tt.says) || !strings.Contains(page.Body, `href="`+tt.startAgain+`?next=%2flicenses%3fx%3d1">start again`) {
					t.Errorf("the page says: %s", page.Text())
				}
			}
			if tt.form == "/sign-up" {
				return // ties the browser to its email
			}
			if n := h.CountSessions(); n != 0 {
				t.Errorf("asking for a mail made %d sessions", n)
			}
			b.Press(b.Get("/check-mail"), "Send it again").WantRedirect("/check-mail")
		})
	}
}

// TestPagesAfterAFormByHand checks that they claim nothing that did not happen.
func TestPagesAfterAFormByHand(t *testing.T) {
	h := pagetest.New(t)
	b := h.NewBrowser()
	b.Get("/check-mail?next=%2Faccount").WantRedirect("/sign-in?next=%2Faccount")
	b.Get("/goodbye").WantRedirect("/")
	for _, note := range []string{"", "x", "/sign-up", "/sign-up nobody", "/elsewhere " + pagetest.Ann, "/reset a\x00b@example.com", "/reset <b>@example.com", "\xff"} {
		b.SetCookie(&http.Cookie{Name: "claviger-note", Value: base64.RawURLEncoding.EncodeToString([]byte(note)), Path: "/"})
		b.Get("/check-mail").WantRedirect("/sign-in?next=")
	}
	b.SetCookie(&http.Cookie{Name: "claviger-note", Value: "%", Path: "/"})
	b.Get("/check-mail").WantRedirect("/sign-in?next=")
}

// TestDeletedPageCanBeReloaded checks that the page can be reloaded until a user signs in.
func TestDeletedPageCanBeReloaded(t *testing.T) {
	h := pagetest.New(t)
	h.AddUser(pagetest.Ann, pagetest.Password)
	h.AddUser(pagetest.Eve, pagetest.Password)
	b := h.NewBrowser().SignIn(pagetest.Ann, pagetest.Password)
	b.Press(b.Get("/account/delete"), "Delete my account", "confirm", pagetest.Ann).WantRedirect("/goodbye")
	for range 2 {
		b.Get("/goodbye").Want(http.StatusOK, "Your account is deleted")
	}
	b.SignIn(pagetest.Eve, pagetest.Password).Get("/goodbye").WantRedirect("/")
}
