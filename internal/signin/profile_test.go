package signin_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"claviger/internal/visitor/pagetest"
)

func TestChangeName(t *testing.T) {
	h := pagetest.New(t)
	h.AddUser(pagetest.Ann, pagetest.Password)
	b := h.NewBrowser().SignIn(pagetest.Ann, pagetest.Password)
	page := b.Get("/account/name").Want(http.StatusOK, "Change your name")
	b.Press(page, "Save", "name", strings.Repeat("x", 101)).Want(http.StatusUnprocessableEntity, "Change your name")
	for _, name := range []string{"Ann Li", ""} {
		text := b.Follow(b.Press(page, "Save", "name", name)).Want(http.StatusOK, "Your account").Text()
		if !strings.Contains(text, "Your name is changed.") || !strings.Contains(text, name) {
			t.Errorf("after the name %q: %s", name, text)
		}
	}
}

// newEmailLink returns the path of the newest link to a new address.
func newEmailLink(h *pagetest.Service, to string) string {
	h.Helper()
	for _, m := range h.Emails(to) {
		if _, rest, ok := strings.Cut(m.Text, h.URL+"/account/email/confirm?token="); ok {
			token := strings.Fields(rest)[0]
			h.AddSecret(token)
			return "/account/email/confirm?token=" + token
		}
	}
	h.Fatalf("no link was mailed to %s: %+v", to, h.Emails(to))
	return ""
}

// TestChangeEmail checks that the new address counts after the requesting user used its link, and
// that the old one is notified.
func TestChangeEmail(t *testing.T) {
	const fresh = "ann.li@example.com"
	h := pagetest.New(t)
	u := h.AddUser(pagetest.Ann, pagetest.Password)
	h.AddUser(pagetest.Eve, pagetest.Password)
	l := h.Sell(pagetest.Ann, 1)
	b, eve := h.NewBrowser().SignIn(pagetest.Ann, pagetest.Password), h.NewBrowser().SignIn(pagetest.Eve, pagetest.Password)
	page := b.Get("/account/email").Want(http.StatusOK, "Change your email address")
	for _, typed := range []string{"", "ann", strings.ToUpper(pagetest.Ann)} {
		b.Press(page, "Send the link", "email", typed).Want(http.StatusUnprocessableEntity, "Change your email address")
	}
	b.Follow(b.Press(page, "Send the link", "email", fresh)).Want(http.StatusOK, "Check your email")
	link := newEmailLink(h, fresh)
	signIn := strings.Replace(link, "/account/email/confirm", "/sign-in/link", 1)
	h.NewBrowser().Get(signIn).Want(http.StatusNotFound, "This link is not valid") // it signs no one in
	_, token, _ := strings.Cut(link, "token=")
	h.NewBrowser().Post("/sign-in/link", "token", token).Want(http.StatusNotFound, "This link is not valid")
	eve.Get(link).WantRedirect("/account")
	eve.Post("/account/email/confirm", "token", token).WantRedirect("/account")
	b.WantSignedIn(pagetest.Ann)

	asked := b.Get(link).Want(http.StatusOK, "Confirm your new email address")
	b.WantSignedIn(pagetest.Ann) // opening it changes nothing
	text := b.Follow(b.Press(asked, "Use the new address")).Want(http.StatusOK, "Your account").Text()
	if !strings.Contains(text, "Your email address is now "+fresh) {
		t.Errorf("the page says %s", text)
	}
	b.WantSignedIn(fresh)
	mails := h.Emails(pagetest.Ann)
	if len(mails) != 1 || mails[0].Subject != "The email address of your account at Claviger was changed" || strings.Contains(mails[0].Text, fresh) {
		t.Errorf("the old address has %+v", mails)
	}
	h.NewBrowser().Post("/sign-in", "email", pagetest.Ann, "password", pagetest.Password).Want(http.StatusUnauthorized, "Sign in")
	h.NewBrowser().SignIn(fresh, pagetest.Password).Get("/licenses/"+l.RedemptionID).Want(http.StatusOK, "Tide Planner")
	if now, err := h.SignIn.Accounts.Get(t.Context(), u.ID); err != nil || now.Email != fresh || now.ProvenAt.IsZero() {
		t.Errorf("the user is %+v, %v", now, err)
	}
	b.Press(asked, "Use the new address").WantRedirect("/account") // once
}

// TestChangeEmailToAnothers checks that the page does not reveal whether an address has an account;
// the email to its owner does.
func TestChangeEmailToAnothers(t *testing.T) {
	h := pagetest.New(t)
	h.AddUser(pagetest.Ann, pagetest.Password)
	h.AddUser(pagetest.Eve, pagetest.Password)
	b := h.NewBrowser().SignIn(pagetest.Ann, pagetest.Password)
	page := b.Get("/account/email")
	var texts []string
	for _, email := range []string{pagetest.Eve, "new@example.com"} {
		sent := b.Follow(b.Press(page, "Send the link", "email", email)).Want(http.StatusOK, "Check your email")
		texts = append(texts, strings.ReplaceAll(sent.Text(), email, "X"))
	}
	if texts[0] != texts[1] {
		t.Errorf("the pages differ:\n%s\n%s", texts[0], texts[1])
	}
	mail := h.Emails(pagetest.Eve)[0]
	if mail.Subject != "This email address has an account at Claviger already" || strings.Contains(mail.Text, "token") || strings.Contains(mail.Text, "ann") {
		t.Errorf("mailed %q:\n%s", mail.Subject, mail.Text)
	}
	// Another user gets the address before the link is used.
	link := newEmailLink(h, "new@example.com")
	h.AddUser("new@example.com", "")
	if s := b.Press(b.Get(link), "Use the new address"); s.Status != http.StatusConflict {
		t.Errorf("a taken address: %d %s", s.Status, s.Text())
	}
	b.WantSignedIn(pagetest.Ann)
	h.Advance(16 * time.Minute)
	b.Get("/account/email").WantRedirect("/account/confirm?next=%2Faccount%2Femail")
	b.Get(link).WantRedirect("/account") // expired
}
