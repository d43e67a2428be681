package shop_test

import (
	"net/url"
	"strings"
	"testing"
	"time"
)

// TestFormsThatEndAtTheApplication: a form that signs in on the way from an
// application may end there, and no other may.
func TestFormsThatEndAtTheApplication(t *testing.T) {
	h := build(t)
	h.user(ann, password)
	in := h.browser().signIn(ann, password)
	out := h.browser()
	mailed := func(next string) string {
		out.post("/sign-in/send", "email", ann, "next", next)
		return h.link(ann)
	}
	for name, open := range map[string]func(next string) *sheet{
		"sign in":            func(next string) *sheet { return out.get("/sign-in?next=" + url.QueryEscape(next)) },
		"sign in, once more": func(next string) *sheet { return out.post("/sign-in", "email", ann, "next", next) },
		"sign up":            func(next string) *sheet { return out.get("/sign-up?next=" + url.QueryEscape(next)) },
		"mailed link":        func(next string) *sheet { return out.get(mailed(next)) },
		"password":           func(next string) *sheet { return in.get("/account/password?next=" + url.QueryEscape(next)) },
		"password, again":    func(next string) *sheet { return in.post("/account/password", "next", next) },
	} {
		for i, next := range []string{
			authorize(h.request()), authorize(h.request("prompt", "login", "max_age", "0")),
			authorize(h.request("redirect_uri", "https://evil.example/")), authorize(h.request("client_id", "nobody")),
			authorize(h.request("response_type", "token")), authorize(h.request()) + "&%zz",
			"/licenses?" + h.request().Encode(), "https://evil.example" + authorize(h.request()), "//evil.example" + authorize(h.request()), "",
		} {
			may := i < 2
			h.advance(time.Hour) // or there were too many mails
			policy := open(next).Header.Get("Content-Security-Policy")
			if got := strings.Contains(policy, "form-action 'self' https:;"); got != may || !may && !strings.Contains(policy, "form-action 'self';") {
				t.Errorf("%s, then %q: %s", name, next, policy)
			}
		}
	}
}
