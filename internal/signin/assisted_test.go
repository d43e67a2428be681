package signin_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"claviger/internal/visitor/pagetest"
)

// TestAssistedSession checks that a session begun with a link made by others shows the person's
// licenses. It cannot change the ways to sign in or delete the account: the maker of the link could
// take over the account. After a sign-in it can.
func TestAssistedSession(t *testing.T) {
	h := pagetest.New(t)
	u := h.AddUser(pagetest.Ann, pagetest.Password)
	h.Sell(pagetest.Ann, 1)
	own := h.NewBrowser().SignIn(pagetest.Ann, pagetest.Password)
	own.Post("/account/email", "email", "new@example.com")
	change := newEmailLink(h, "new@example.com")
	link, _, err := h.SignIn.Accounts.Link(t.Context(), pagetest.Tester, u.ID, "")
	if err != nil {
		t.Fatal(err)
	}
	b := h.NewBrowser()
	b.Press(b.Get(strings.TrimPrefix(link, h.URL)), "Continue").WantRedirect("/licenses")
	if page := b.Get("/licenses").Want(http.StatusOK, "My licenses"); !strings.Contains(page.Text(), "Tide Planner") {
		t.Errorf("the licenses are not shown: %s", page.Text())
	}

	refused := func() {
		t.Helper()
		for path, then := range map[string]string{
			"/account/email": "", "/account/password": "", "/account/delete": "", change: "",
			"/account/security/codes": "", "/account/security/codes/remove": "", "/account/security/recovery": "",
		} {
			if then == "" {
				then = path
			}
			b.Get(path).WantRedirect("/sign-in?again=1&next=" + url.QueryEscape(then))
		}
		for path, then := range map[string]string{
			"/account/email": "/account/email", "/account/email/confirm": "/account", "/account/password": "/account/password",
			"/account/delete": "/account/delete", "/account/security/codes": "/account/security/codes",
			"/account/security/codes/remove": "/account/security/codes/remove", "/account/security/passkeys": "/account/security",
			"/account/security/recovery": "/account/security/recovery",
		} {
			b.Post(path, "email", "eve@example.com", "current_password", pagetest.Password, "password", "another horse battery", "confirm", pagetest.Ann,
				"token", strings.TrimPrefix(change, "/account/email/confirm?token=")).WantRedirect("/sign-in?again=1&next=" + url.QueryEscape(then))
		}
		if got := b.Post("/account/security/passkeys/options"); got.Status != http.StatusForbidden {
			t.Errorf("a challenge for a passkey: %d", got.Status)
		}
	}
	refused()
	// Neither of these changes the session.
	b.Press(b.Get("/account/confirm"), "Continue", "current_password", pagetest.Password)
	refused()
	b.Post("/account/sign-out-everywhere")
	b.WantSignedIn(pagetest.Ann)
	refused()

	b.Press(b.Get("/sign-in?again=1&next=%2Faccount%2Fpassword"), "Sign in", "email", pagetest.Ann, "password", pagetest.Password).WantRedirect("/account/password")
	b.Get("/account/password").Want(http.StatusOK, "Change your password")
	b.Get("/account/security/codes").Want(http.StatusOK, "Add one-time codes")
}

// TestAssistedSecondStep checks that a second factor completes such a sign-in, and that the session
// is still an assisted one.
func TestAssistedSecondStep(t *testing.T) {
	h, _, _, recovery := halfway(t, "")
	link, _, err := h.SignIn.Accounts.Link(t.Context(), pagetest.Tester, 1, "")
	if err != nil {
		t.Fatal(err)
	}
	b := h.NewBrowser()
	b.Press(b.Get(strings.TrimPrefix(link, h.URL)), "Continue").WantRedirect("/sign-in/second")
	b.Press(b.Get("/sign-in/second"), "Sign in", "code", recovery[0]).WantRedirect("/licenses")
	b.Get("/account/security/codes/remove").WantRedirect("/sign-in?again=1&next=" + url.QueryEscape("/account/security/codes/remove"))
}

// TestNewAddressEndsOtherSessions checks that only the browser that changed the address stays
// signed in.
func TestNewAddressEndsOtherSessions(t *testing.T) {
	h := pagetest.New(t)
	h.AddUser(pagetest.Ann, pagetest.Password)
	b, other := h.NewBrowser().SignIn(pagetest.Ann, pagetest.Password), h.NewBrowser().SignIn(pagetest.Ann, pagetest.Password)
	b.Post("/account/email", "email", "new@example.com")
	page := b.Follow(b.Press(b.Get(newEmailLink(h, "new@example.com")), "Use the new address"))
	if page.Want(http.StatusOK, "Your account"); !strings.Contains(page.Text(), "Other browsers are signed out.") {
		t.Errorf("the page says: %s", page.Text())
	}
	b.WantSignedIn("new@example.com")
	other.WantSignedIn("")
}
