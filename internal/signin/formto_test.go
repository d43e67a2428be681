package signin_test

import (
	"net/url"
	"strings"
	"testing"
	"time"

	"claviger/internal/visitor/pagetest"
)

// TestFormsThatEndAtTheApplication checks that only a sign-in form on the way from an application
// may end there.
func TestFormsThatEndAtTheApplication(t *testing.T) {
	h := pagetest.New(t)
	h.AddUser(pagetest.Ann, pagetest.Password)
	in := h.NewBrowser().SignIn(pagetest.Ann, pagetest.Password)
	out := h.NewBrowser()
	mailed := func(next string) string {
		out.Post("/sign-in/send", "email", pagetest.Ann, "next", next)
		return h.MailedLink(pagetest.Ann)
	}
	for name, open := range map[string]func(next string) *pagetest.Page{
		"sign in":            func(next string) *pagetest.Page { return out.Get("/sign-in?next=" + url.QueryEscape(next)) },
		"sign in, once more": func(next string) *pagetest.Page { return out.Post("/sign-in", "email", pagetest.Ann, "next", next) },
		"sign up":            func(next string) *pagetest.Page { return out.Get("/sign-up?next=" + url.QueryEscape(next)) },
		"mailed link":        func(next string) *pagetest.Page { return out.Get(mailed(next)) },
		"password":           func(next string) *pagetest.Page { return in.Get("/account/password?next=" + url.QueryEscape(next)) },
		"password, again":    func(next string) *pagetest.Page { return in.Post("/account/password", "next", next) },
	} {
		for i, next := range []string{
			pagetest.AuthorizeURL(h.AuthorizeRequest()), pagetest.AuthorizeURL(h.AuthorizeRequest("prompt", "login", "max_age", "0")),
			pagetest.AuthorizeURL(h.AuthorizeRequest("redirect_uri", "https://evil.example/")), pagetest.AuthorizeURL(h.AuthorizeRequest("client_id", "nobody")),
			pagetest.AuthorizeURL(h.AuthorizeRequest("response_type", "token")), pagetest.AuthorizeURL(h.AuthorizeRequest()) + "&%zz",
			"/licenses?" + h.AuthorizeRequest().Encode(), "https://evil.example" + pagetest.AuthorizeURL(h.AuthorizeRequest()), "//evil.example" + pagetest.AuthorizeURL(h.AuthorizeRequest()), "",
		} {
			may := i < 2
			h.Advance(time.Hour) // avoids the limit of emails
			policy := open(next).Header.Get("Content-Security-Policy")
			if got := strings.Contains(policy, "form-action 'self' https:;"); got != may || !may && !strings.Contains(policy, "form-action 'self';") {
				t.Errorf("%s, then %q: %s", name, next, policy)
			}
		}
	}
}
