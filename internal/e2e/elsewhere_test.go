package e2e_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"claviger/internal/devserver"
)

// elsewhere is an application at another origin than the marketplace's, like all real ones. Only
// then do browsers restrict the targets of a form.
func elsewhere(t *testing.T) string {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		_, _ = io.WriteString(w, `<!doctype html><html lang="en"><head><title>Elsewhere</title><link rel="icon" href="data:,"></head><body><h1>Elsewhere</h1></body></html>`)
	}))
	t.Cleanup(server.Close)
	return server.URL + "/callback"
}

// comes sends the buyer from the application to the marketplace.
func (b *buyer) comes(redirect string, pairs ...string) {
	b.t.Helper()
	q := url.Values{"response_type": {"code"}, "client_id": {b.card.Partner.ClientID}, "redirect_uri": {redirect}, "state": {"s"}}
	b.visit("/openid/authorize?" + altered(q, pairs).Encode())
}

// isBack checks that the buyer is at the application again, with this parameter.
func (b *buyer) isBack(redirect, name string) {
	b.t.Helper()
	b.Await("h1")
	b.on("Elsewhere")
	at, err := url.Parse(b.Location())
	if err != nil || !strings.HasPrefix(at.String(), redirect+"?") || at.Query().Get(name) == "" || at.Query().Get("state") != "s" {
		b.t.Errorf("the buyer is at %s, want %s with %s", at, redirect, name)
	}
}

// signsIn fills in the sign-in form.
func (b *buyer) signsIn() {
	b.t.Helper()
	b.on("Sign in")
	b.Type("#password", b.card.Buyer.Password)
	b.Press("main form button")
}

// TestJourneyFromElsewhere: a buyer from an application at another origin returns to it after any
// kind of sign-in.
func TestJourneyFromElsewhere(t *testing.T) {
	t.Parallel()
	redirect := elsewhere(t)
	b := newBuyer(t, func(c *devserver.Config) { c.Redirect = redirect })
	b.sold(b.card.Buyer.Email, "o-1")

	b.comes(redirect)
	b.Type("#email", b.card.Buyer.Email)
	b.signsIn()
	b.on("Connect Sample App?")
	b.Press("button[value=allow]")
	b.isBack(redirect, "code")

	b.comes(redirect, "prompt", "login")
	b.signsIn()
	b.isBack(redirect, "code")

	b.leavesFor(redirect)
	b.Type("#email", b.card.Buyer.Email)
	b.signsIn()
	b.isBack(redirect, "code")

	b.leavesFor(redirect)
	b.Type("#email", b.card.Buyer.Email)
	b.Press("button[formaction='/sign-in/send']")
	b.Open(b.newestLink())
	b.Press("main form button")
	b.isBack(redirect, "code")

	b.leavesFor(redirect)
	b.Press("main a[href^='/reset']")
	b.Type("#email", b.card.Buyer.Email)
	b.Press("main form button")
	b.Open(b.newestLink())
	b.Press("main form button")
	b.on("Choose a password")
	b.Type("#password", "another horse battery")
	b.Press("main form button")
	b.isBack(redirect, "code")

	b.leavesFor(redirect)
	b.Press("main a[href^='/sign-up']")
	b.Type("#email", "somebody@example.com")
	b.Type("#password", "correct horse battery")
	b.Press("main form button")
	b.Open(b.newestLink())
	b.on("Confirm your email address")
	b.Press("main form button")
	b.isBack(redirect, "error") // nothing to connect
}

// leavesFor signs out and returns from the application.
func (b *buyer) leavesFor(redirect string) {
	b.t.Helper()
	b.visit("/account")
	b.Press("form[action='/sign-out'] button")
	b.comes(redirect)
}
