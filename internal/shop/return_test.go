package shop_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"claviger/internal/visitor/pagetest"
)

// oddState is as long as a state may be, and grows the most by encoding.
var oddState = (strings.Repeat(`"é&%+/\ <`, 410) + strings.Repeat("x", 4096))[:4096]

// TestSignInPreservesTheRequest: the request of an application is complete when its buyer comes
// back, for every way to sign in.
func TestSignInPreservesTheRequest(t *testing.T) {
	for name, signIn := range map[string]func(h *pagetest.Service, b *pagetest.Browser, page *pagetest.Page) *pagetest.Page{
		"password": func(h *pagetest.Service, b *pagetest.Browser, page *pagetest.Page) *pagetest.Page {
			h.AddUser(pagetest.Ann, pagetest.Password)
			again := b.Press(page, "Sign in", "email", pagetest.Ann, "password", "wrong password").Want(http.StatusUnauthorized, "Sign in")
			return b.Press(again, "Sign in", "email", pagetest.Ann, "password", pagetest.Password)
		},
		"mailed link": func(h *pagetest.Service, b *pagetest.Browser, page *pagetest.Page) *pagetest.Page {
			h.AddUser(pagetest.Ann, "")
			b.Follow(b.Press(page, "Send me a sign-in link", "email", pagetest.Ann)).Want(http.StatusOK, "Check your email")
			return b.Press(b.Get(h.MailedLink(pagetest.Ann)), "Continue as")
		},
		"sign-up": func(h *pagetest.Service, b *pagetest.Browser, page *pagetest.Page) *pagetest.Page {
			form := b.Get(link(page, "/sign-up")).Want(http.StatusOK, "Create an account")
			b.Follow(b.Press(form, "Create account", "email", pagetest.Ann, "name", "Ann", "password", pagetest.Password)).Want(http.StatusOK, "Check your email")
			return b.Press(b.Get(h.MailedLink(pagetest.Ann)), "Continue as")
		},
		"sign-up in another browser": func(h *pagetest.Service, b *pagetest.Browser, page *pagetest.Page) *pagetest.Page {
			other := h.NewBrowser()
			form := other.Get(link(page, "/sign-up"))
			other.Follow(other.Press(form, "Create account", "email", pagetest.Ann, "name", "Ann", "password", pagetest.Password))
			return b.Press(b.Follow(b.Press(b.Get(h.MailedLink(pagetest.Ann)), "Continue as")), "Save the password", "password", pagetest.Password)
		},
		"reset": func(h *pagetest.Service, b *pagetest.Browser, page *pagetest.Page) *pagetest.Page {
			h.AddUser(pagetest.Ann, pagetest.Password)
			form := b.Get(link(page, "/reset")).Want(http.StatusOK, "Reset your password")
			b.Follow(b.Press(form, "Send me a link", "email", pagetest.Ann)).Want(http.StatusOK, "Check your email")
			return b.Press(b.Follow(b.Press(b.Get(h.MailedLink(pagetest.Ann)), "Continue as")), "Save the password", "password", "brand new words")
		},
	} {
		t.Run(name, func(t *testing.T) {
			h := pagetest.New(t)
			request := h.AuthorizeRequest("state", oddState, "nonce", oddState[:498], "scope", "openid profile")
			b := h.NewBrowser()
			page := b.Follow(b.Get(pagetest.AuthorizeURL(request))).Want(http.StatusOK, "Sign in")
			s := signIn(h, b, page)
			s.WantRedirect(pagetest.AuthorizeURL(request))
			q := b.Follow(s).WantCallback(h.RedirectURL) // without a license
			if q.Get("error") != "access_denied" || q.Get("state") != oddState || q.Get("iss") != h.URL {
				t.Errorf("the application gets %.300q", q)
			}
		})
	}
}

// TestLongRequests: a request too long for the sign-in is refused immediately, with its state; a
// state of 4 KiB also survives the consent.
func TestLongRequests(t *testing.T) {
	h := pagetest.New(t)
	h.AddUser(pagetest.Ann, pagetest.Password)
	h.Sell(pagetest.Ann, 1)
	b := h.NewBrowser()
	q := b.Get(pagetest.AuthorizeURL(h.AuthorizeRequest("state", oddState, "scope", strings.Repeat("openid ", 4000)))).WantCallback(h.RedirectURL)
	if q.Get("error") != "invalid_request" || q.Get("state") != oddState || !strings.Contains(q.Get("error_description"), "too long") {
		t.Errorf("too long: the application gets %.300q", q)
	}
	b.SignIn(pagetest.Ann, pagetest.Password)
	for _, decision := range []string{"Cancel", "Allow and continue"} {
		q := b.Press(b.Get(pagetest.AuthorizeURL(h.AuthorizeRequest("state", oddState))), decision).WantCallback(h.RedirectURL)
		if q.Get("state") != oddState || q.Get("iss") != h.URL || q.Has("code") == q.Has("error") {
			t.Errorf("%s: the application gets %.300q", decision, q)
		}
	}
}

// link returns the page's only link with this path.
func link(s *pagetest.Page, start string) string {
	s.Helper()
	for to := range s.Links(start) {
		if u, err := url.Parse(to); err == nil && u.Path == start {
			return to
		}
	}
	s.Fatalf("there is no link to %s", start)
	return ""
}
