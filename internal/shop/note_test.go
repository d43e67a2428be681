package shop_test

import (
	"encoding/base64"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"claviger/internal/sqldb"
)

// TestFormsThatMailLeadToAPage, which can be loaded again and gone back to. No
// address and no log tells whom the mail is for.
func TestFormsThatMailLeadToAPage(t *testing.T) {
	tests := []struct{ form, says, startAgain string }{
		{"/sign-in/send", "If " + ann + " has an account here", "/sign-in"},
		{"/reset", "If " + ann + " has an account here", "/sign-in"},
		{"/sign-up", "We sent a mail to " + ann, "/sign-up"},
	}
	for _, tt := range tests {
		t.Run(tt.form, func(t *testing.T) {
			h := build(t)
			h.secret(ann)
			h.secret(url.QueryEscape(ann))
			b := h.browser()
			b.post(tt.form, "email", ann, "password", password, "next", "/licenses?x=1").leads("/check-mail?next=%2Flicenses%3Fx%3D1")
			for range 2 {
				page := b.get("/check-mail?next=%2Flicenses%3Fx%3D1").want(http.StatusOK, "Check your mail")
				if !strings.Contains(page.text(), tt.says) || !strings.Contains(page.Body, `href="`+tt.startAgain+`?next=%2flicenses%3fx%3d1">start again`) {
					t.Errorf("the page says: %s", page.text())
				}
			}
			if tt.form == "/sign-up" {
				return // which ties the browser to its mail
			}
			if n := h.sessions(); n != 0 {
				t.Errorf("asking for a mail made %d sessions", n)
			}
			b.press(b.get("/check-mail"), "Send it again").leads("/check-mail")
		})
	}
}

// sessions is how many there are.
func (h *house) sessions() int64 {
	h.Helper()
	n, err := sqldb.One(h.Context(), h.db, sqldb.Value[int64], `SELECT count(*) FROM sessions`)
	if err != nil {
		h.Fatal(err)
	}
	return n
}

// TestPagesAfterAFormByHand: they tell nothing that did not happen.
func TestPagesAfterAFormByHand(t *testing.T) {
	h := build(t)
	b := h.browser()
	b.get("/check-mail?next=%2Faccount").leads("/sign-in?next=%2Faccount")
	b.get("/goodbye").leads("/")
	for _, note := range []string{"", "x", "/sign-up", "/sign-up nobody", "/elsewhere " + ann, "/reset a\x00b@example.com", "/reset <b>@example.com", "\xff"} {
		b.take(&http.Cookie{Name: "claviger-note", Value: base64.RawURLEncoding.EncodeToString([]byte(note)), Path: "/"})
		b.get("/check-mail").leads("/sign-in?next=")
	}
	b.take(&http.Cookie{Name: "claviger-note", Value: "%", Path: "/"})
	b.get("/check-mail").leads("/sign-in?next=")
}

// TestGoodbyeIsAPage that can be loaded again, until somebody signs in.
func TestGoodbyeIsAPage(t *testing.T) {
	h := build(t)
	h.user(ann, password)
	h.user(eve, password)
	b := h.browser().signIn(ann, password)
	b.press(b.get("/account/delete"), "Delete my account", "confirm", ann).leads("/goodbye")
	for range 2 {
		b.get("/goodbye").want(http.StatusOK, "Goodbye")
	}
	b.signIn(eve, password).get("/goodbye").leads("/")
}
