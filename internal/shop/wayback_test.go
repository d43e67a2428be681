package shop_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
)

// oddState is as long as a state may be, and grows the most on its way.
var oddState = (strings.Repeat(`"é&%+/\ <`, 410) + strings.Repeat("x", 4096))[:4096]

// TestSignInLosesNothing: what an application sent is whole when its buyer comes
// back, by whichever way they signed in.
func TestSignInLosesNothing(t *testing.T) {
	for name, signIn := range map[string]func(h *house, b *browser, page *sheet) *sheet{
		"password": func(h *house, b *browser, page *sheet) *sheet {
			h.user(ann, password)
			again := b.press(page, "Sign in", "email", ann, "password", "wrong password").want(http.StatusUnauthorized, "Sign in")
			return b.press(again, "Sign in", "email", ann, "password", password)
		},
		"mailed link": func(h *house, b *browser, page *sheet) *sheet {
			h.user(ann, "")
			b.follow(b.press(page, "Send me a sign-in link", "email", ann)).want(http.StatusOK, "Check your mail")
			return b.press(b.get(h.link(ann)), "Continue as")
		},
		"sign-up": func(h *house, b *browser, page *sheet) *sheet {
			form := b.get(page.link("/sign-up")).want(http.StatusOK, "Create an account")
			b.follow(b.press(form, "Create account", "email", ann, "name", "Ann", "password", password)).want(http.StatusOK, "Check your mail")
			return b.press(b.get(h.link(ann)), "Continue as")
		},
		"sign-up in another browser": func(h *house, b *browser, page *sheet) *sheet {
			other := h.browser()
			form := other.get(page.link("/sign-up"))
			other.follow(other.press(form, "Create account", "email", ann, "name", "Ann", "password", password))
			return b.press(b.follow(b.press(b.get(h.link(ann)), "Continue as")), "Save the password", "password", password)
		},
		"reset": func(h *house, b *browser, page *sheet) *sheet {
			h.user(ann, password)
			form := b.get(page.link("/reset")).want(http.StatusOK, "Reset your password")
			b.follow(b.press(form, "Send me a link", "email", ann)).want(http.StatusOK, "Check your mail")
			return b.press(b.follow(b.press(b.get(h.link(ann)), "Continue as")), "Save the password", "password", "brand new words")
		},
	} {
		t.Run(name, func(t *testing.T) {
			h := build(t)
			request := h.request("state", oddState, "nonce", oddState[:498], "scope", "openid profile")
			b := h.browser()
			page := b.follow(b.get(authorize(request))).want(http.StatusOK, "Sign in")
			s := signIn(h, b, page)
			s.leads(authorize(request))
			q := b.follow(s).arrives(h.redirect) // without a license
			if q.Get("error") != "access_denied" || q.Get("state") != oddState || q.Get("iss") != h.url {
				t.Errorf("the application gets %.300q", q)
			}
		})
	}
}

// TestLongRequests: what would not survive the sign-in is refused at once, with its
// state; a state of 4 KiB comes back also from the consent.
func TestLongRequests(t *testing.T) {
	h := build(t)
	h.user(ann, password)
	h.sell(ann, 1)
	b := h.browser()
	q := b.get(authorize(h.request("state", oddState, "scope", strings.Repeat("openid ", 4000)))).arrives(h.redirect)
	if q.Get("error") != "invalid_request" || q.Get("state") != oddState || !strings.Contains(q.Get("error_description"), "too long") {
		t.Errorf("too long: the application gets %.300q", q)
	}
	b.signIn(ann, password)
	for _, decision := range []string{"Cancel", "Allow and continue"} {
		q := b.press(b.get(authorize(h.request("state", oddState))), decision).arrives(h.redirect)
		if q.Get("state") != oddState || q.Get("iss") != h.url || q.Has("code") == q.Has("error") {
			t.Errorf("%s: the application gets %.300q", decision, q)
		}
	}
}

// link is the address of the page's one link that begins like this.
func (s *sheet) link(start string) string {
	s.Helper()
	for to := range s.links(start) {
		if u, err := url.Parse(to); err == nil && u.Path == start {
			return to
		}
	}
	s.Fatalf("there is no link to %s", start)
	return ""
}
