package signin_test

import (
	"encoding/json"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"claviger/internal/account/accounttest"
	"claviger/internal/visitor/pagetest"
)

const passkeys = "/account/security/passkeys"

// challenge requests a challenge as a page's script does.
func challenge(b *pagetest.Browser, path string) json.RawMessage {
	b.Helper()
	page := b.Post(path + "/options")
	if page.Status != http.StatusOK {
		b.Fatalf("%s/options: %d\n%s", path, page.Status, page.Body)
	}
	return json.RawMessage(page.Body)
}

// withPasskey returns a service with Ann, a browser in which she added a passkey, and the passkey.
func withPasskey(t *testing.T) (*pagetest.Service, *pagetest.Browser, *accounttest.Passkey) {
	t.Helper()
	h := pagetest.New(t)
	h.AddUser(pagetest.Ann, pagetest.Password)
	b := h.NewBrowser().SignIn(pagetest.Ann, pagetest.Password)
	key := &accounttest.Passkey{Origin: strings.Replace(h.URL, "127.0.0.1", "localhost", 1)}
	answer := key.Register(t, challenge(b, passkeys))
	b.Post(passkeys, "answer", string(answer), "name", "Phone").Want(http.StatusOK, "Your recovery codes")
	return h, b, key
}

// TestPasskeySignIn checks that only the session that received a challenge can answer it, once.
func TestPasskeySignIn(t *testing.T) {
	h, _, key := withPasskey(t)
	b := h.NewBrowser()
	answer := string(key.Answer(t, challenge(b, "/sign-in/passkey")))
	h.NewBrowser().Post("/sign-in/passkey", "answer", answer).Want(http.StatusUnauthorized, "Sign in")
	b.Post("/sign-in/passkey", "answer", answer).WantRedirect("/licenses")
	b.WantSignedIn(pagetest.Ann)
	b.Post("/sign-in/passkey", "answer", answer).Want(http.StatusUnauthorized, "Sign in")
	second := h.NewBrowser()
	second.Post("/sign-in/passkey", "answer", answer).Want(http.StatusUnauthorized, "Sign in")
	second.WantSignedIn("")
	late := string(key.Answer(t, challenge(second, "/sign-in/passkey")))
	h.Advance(5*time.Minute + time.Second)
	second.Post("/sign-in/passkey", "answer", late).Want(http.StatusUnauthorized, "Sign in")
	second.WantSignedIn("")
}

// TestPasskeysAskWhoItIs checks that adding, renaming and removing a passkey ask for the second
// factor again.
func TestPasskeysAskWhoItIs(t *testing.T) {
	h, b, key := withPasskey(t)
	h.Advance(15 * time.Minute)
	ask := func(next string) string { return "/account/confirm?next=" + url.QueryEscape(next) }
	b.Post(passkeys+"/1/name", "name", "Hers").WantRedirect(ask("/account/security"))
	b.Get(passkeys + "/1/remove").WantRedirect(ask(passkeys + "/1/remove"))
	b.Post(passkeys + "/1/remove").WantRedirect(ask(passkeys + "/1/remove"))
	b.Post(passkeys, "answer", "{}", "name", "Another").WantRedirect(ask("/account/security"))
	if page := b.Post(passkeys + "/options"); page.Status != http.StatusForbidden {
		t.Errorf("a challenge for another passkey: %d", page.Status)
	}
	if page := b.Get("/account/security"); !strings.Contains(page.Text(), "Phone") {
		t.Errorf("it was changed: %s", page.Text())
	}
	page := b.Get("/account/confirm?next=%2Faccount%2Fsecurity").Want(http.StatusOK, "Confirm that it is you")
	if page.Input("current_password") != nil {
		t.Error("the password is enough for somebody with a passkey")
	}
	answer := string(key.Answer(t, challenge(b, "/account/confirm/passkey")))
	b.Post("/account/confirm/passkey", "answer", answer, "next", "/account/security").WantRedirect("/account/security")

	bob := h.AddUser("bob@example.com", pagetest.Password)
	other := h.NewBrowser().SignIn(bob.Email, pagetest.Password)
	other.Post(passkeys+"/1/name", "name", "Bob's").Want(http.StatusNotFound, "Security")
	other.Post(passkeys+"/1/remove").Want(http.StatusNotFound, "Security")
	b.Post(passkeys+"/1/name", "name", "Old phone").WantRedirect("/account/security")
	b.Get(passkeys+"/1/remove").Want(http.StatusOK, "Remove “Old phone”")
	b.Post(passkeys + "/1/remove").WantRedirect("/account/security")
	b.WantSignedIn(pagetest.Ann)
	removed := h.NewBrowser()
	removed.Post("/sign-in/passkey", "answer", string(key.Answer(t, challenge(removed, "/sign-in/passkey")))).Want(http.StatusUnauthorized, "Sign in")
}
