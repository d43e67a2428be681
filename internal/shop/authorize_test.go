package shop_test

import (
	"encoding/json"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"claviger/internal/event"
	"claviger/internal/partner"
	"claviger/internal/sqldb"
	"claviger/internal/visitor/pagetest"
)

// nothing is an empty change of a partner.
var nothing partner.Change

// refused checks that the application gets an error, with its state and the issuer.
func refused(s *pagetest.Page, h *pagetest.Service, code string) {
	s.Helper()
	q := s.WantCallback(h.RedirectURL)
	if q.Get("error") != code || q.Get("state") != "a b&c" || q.Get("iss") != h.URL || q.Has("code") {
		s.Errorf("the application gets %v, want error %s", q, code)
	}
}

// TestAuthorize: the application starts; the buyer signs in, allows, and comes back with code,
// state and issuer. The second time it is a mere redirect.
func TestAuthorize(t *testing.T) {
	h := pagetest.New(t)
	h.AddUser(pagetest.Ann, pagetest.Password)
	l := h.Sell(pagetest.Ann, 1)
	b := h.NewBrowser()
	signIn := b.Follow(b.Get(pagetest.AuthorizeURL(h.AuthorizeRequest())))
	consent := b.Follow(b.Press(signIn, "Sign in", "email", pagetest.Ann, "password", pagetest.Password))
	consent.Want(http.StatusOK, "Connect Tide Planner?")
	q := b.Press(consent, "Allow and continue").WantCallback(h.RedirectURL)
	if q.Get("state") != "a b&c" || q.Get("iss") != h.URL || len(q.Get("code")) != 64 || len(q) != 3 {
		t.Errorf("the application gets %v", q)
	}
	if now := stored(h, l); now.Status != event.Active {
		t.Errorf("the license is %s", now.Status)
	}
	again := b.Get(pagetest.AuthorizeURL(h.AuthorizeRequest("state", "s2"))).WantCallback(h.RedirectURL)
	if again.Get("state") != "s2" || again.Get("code") == "" {
		t.Errorf("a buyer who returns brings %v", again)
	}
	// OpenID requires that a request may come as a form, from the application's site.
	form := b.Do(http.MethodPost, "/openid/authorize", h.AuthorizeRequest("state", "s3"), "cross-site")
	if q := b.Follow(form).WantCallback(h.RedirectURL); q.Get("state") != "s3" || q.Get("code") == "" {
		t.Errorf("a request by form brings %v", q)
	}
}

// TestAuthorizeByBody: a posted request is read as a form or as JSON, and repeated parameters are
// kept.
func TestAuthorizeByBody(t *testing.T) {
	h, b, _ := annAndLicense(t)
	b.Press(b.Get(pagetest.AuthorizeURL(h.AuthorizeRequest())), "Allow and continue").WantCallback(h.RedirectURL)
	q := h.AuthorizeRequest("max_age", "3600")
	object := map[string]any{}
	for name := range q {
		object[name] = q.Get(name)
	}
	object["max_age"] = 3600
	text, err := json.Marshal(object)
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct{ kind, body, want string }{
		"form":                {"application/x-www-form-urlencoded", q.Encode(), "code"},
		"JSON":                {"application/json; charset=utf-8", string(text), "code"},
		"JSON, called a form": {"application/x-www-form-urlencoded", string(text), "code"},
		"form, called JSON":   {"application/json", q.Encode(), "code"},
		"twice in a form":     {"application/x-www-form-urlencoded", q.Encode() + "&nonce=2", "error"},
		"twice in JSON":       {"application/json", strings.Replace(string(text), "{", `{"nonce":"2",`, 1), "error"},
	} {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, h.URL+"/openid/authorize", strings.NewReader(c.body))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Content-Type", c.kind)
		answer, err := b.Client.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		_ = answer.Body.Close()
		if got := b.Follow(b.ReadPage(answer, "")).WantCallback(h.RedirectURL); got.Get(c.want) == "" || got.Get("state") != "a b&c" {
			t.Errorf("%s brings %v, want %s", name, got, c.want)
		}
	}
}

// TestAuthorizeIsOnlyLookedAt: a HEAD changes nothing, neither for visitors who would go straight
// through nor for those who would be asked.
func TestAuthorizeIsOnlyLookedAt(t *testing.T) {
	h, b, _ := annAndLicense(t)
	b.Press(b.Get(pagetest.AuthorizeURL(h.AuthorizeRequest())), "Allow and continue").WantCallback(h.RedirectURL)
	look := func(pairs ...string) *pagetest.Page {
		return b.Do(http.MethodHead, pagetest.AuthorizeURL(h.AuthorizeRequest(pairs...)), nil, "none")
	}
	count := func() int64 {
		n, err := sqldb.One(t.Context(), h.DB, sqldb.Value[int64], `SELECT count(*) FROM oauth_grants`)
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	before := count()
	if s := look(); s.Status != http.StatusOK || s.Header.Get("Location") != "" || count() != before {
		t.Errorf("got %d to %q, and %d codes after %d", s.Status, s.Header.Get("Location"), count(), before)
	}
	refused(look("response_type", "token"), h, "unsupported_response_type")

	h.Advance(time.Second)
	signIn := b.Follow(b.Get(pagetest.AuthorizeURL(h.AuthorizeRequest("prompt", "login"))))
	s := b.Press(signIn, "Sign in", "email", pagetest.Ann, "password", pagetest.Password)
	look("prompt", "login")
	b.Follow(s).WantCallback(h.RedirectURL) // the sign-in still counts
}

// TestAuthorizeRefuses: errors of the request go back to the application, but never to another URL
// than the saved one.
func TestAuthorizeRefuses(t *testing.T) {
	h, b, _ := annAndLicense(t)
	for name, pairs := range map[string][]string{
		"unknown client":   {"client_id", "nobody"},
		"no client":        {"client_id", ""},
		"other redirect":   {"redirect_uri", "https://evil.example/in"},
		"trailing slash":   {"redirect_uri", h.RedirectURL + "/"},
		"encoded redirect": {"redirect_uri", "https://tide.example/%69n"},
		"other case":       {"redirect_uri", "https://TIDE.example/in"},
	} {
		t.Run(name, func(t *testing.T) {
			h.In(t)
			for _, s := range []*pagetest.Page{
				b.Get(pagetest.AuthorizeURL(h.AuthorizeRequest(pairs...))),
				b.Do(http.MethodPost, "/openid/authorize/decide", h.AuthorizeRequest(append(pairs, "decision", "allow")...), "same-origin"),
				b.Do(http.MethodPost, "/openid/authorize/decide", h.AuthorizeRequest(append(pairs, "decision", "cancel")...), "same-origin"),
			} {
				if s.Status < 400 || s.Header.Get("Location") != "" {
					t.Errorf("got %d to %q", s.Status, s.Header.Get("Location"))
				}
			}
		})
	}
	refused(b.Get(pagetest.AuthorizeURL(h.AuthorizeRequest("response_type", "token"))), h, "unsupported_response_type")
	refused(b.Get(pagetest.AuthorizeURL(h.AuthorizeRequest("code_challenge", strings.Repeat("a", 43), "code_challenge_method", "plain"))), h, "invalid_request")
	refused(b.Get(pagetest.AuthorizeURL(h.AuthorizeRequest("request", "x"))), h, "request_not_supported")
}

// TestAuthorizeThatCannotBeRead: unreadable parameters do not count as missing, because PKCE, the
// state or the redirect URI could be lost.
func TestAuthorizeThatCannotBeRead(t *testing.T) {
	h, b, _ := annAndLicense(t)
	b.Press(b.Get(pagetest.AuthorizeURL(h.AuthorizeRequest())), "Allow and continue").WantCallback(h.RedirectURL)
	for _, name := range []string{"code_challenge", "state", "nonce", "redirect_uri", "prompt"} {
		q := h.AuthorizeRequest(name, "")
		if s := b.Get(pagetest.AuthorizeURL(q) + "&" + name + "=%zz"); s.Status != http.StatusBadRequest || s.Header.Get("Location") != "" {
			t.Errorf("%s: %d to %q", name, s.Status, s.Header.Get("Location"))
		}
	}
}

// TestCancelTellsTheApplication: the requesting application gets the refusal.
func TestCancelTellsTheApplication(t *testing.T) {
	h, b, l := annAndLicense(t)
	refused(b.Press(b.Get(pagetest.AuthorizeURL(h.AuthorizeRequest())), "Cancel"), h, "access_denied")
	if now := stored(h, l); now.Status != event.Inactive {
		t.Errorf("the license is %s", now.Status)
	}
}

// TestNoLicense: a visitor without a license is sent back.
func TestNoLicense(t *testing.T) {
	h, _, _ := annAndLicense(t)
	h.AddUser(pagetest.Eve, pagetest.Password)
	refused(h.NewBrowser().SignIn(pagetest.Eve, pagetest.Password).Get(pagetest.AuthorizeURL(h.AuthorizeRequest())), h, "access_denied")
}

// TestChooser: the buyer chooses one of several licenses, and cannot choose another person's.
func TestChooser(t *testing.T) {
	h, b, first := annAndLicense(t)
	second := h.Sell(pagetest.Ann, 3)
	h.AddUser(pagetest.Eve, pagetest.Password)
	foreign := h.Sell(pagetest.Eve, 2)
	page := b.Get(pagetest.AuthorizeURL(h.AuthorizeRequest()))
	if text := page.Text(); !strings.Contains(text, "Which license?") || !strings.Contains(text, "Plan 1") || !strings.Contains(text, "Plan 3") || strings.Contains(text, "Plan 2") {
		t.Fatalf("the chooser says %s", text)
	}
	refused(b.Press(page, "Allow and continue", "license", foreign.RedemptionID), h, "access_denied")
	b.Press(page, "Allow and continue", "license", first.RedemptionID).WantCallback(h.RedirectURL)
	if stored(h, first).Status != event.Active || stored(h, second).Status != event.Inactive {
		t.Errorf("they are %s and %s", stored(h, first).Status, stored(h, second).Status)
	}
	b.Get(pagetest.AuthorizeURL(h.AuthorizeRequest())).WantCallback(h.RedirectURL) // the one already connected
	if text := b.Get(pagetest.AuthorizeURL(h.AuthorizeRequest("prompt", "consent"))).Text(); !strings.Contains(text, "Which license?") {
		t.Errorf("prompt=consent does not ask: %s", text)
	}
}

// TestPrompts: the prompt parameter of the application is respected.
func TestPrompts(t *testing.T) {
	h, b, _ := annAndLicense(t)
	refused(h.NewBrowser().Get(pagetest.AuthorizeURL(h.AuthorizeRequest("prompt", "none"))), h, "login_required")
	refused(b.Get(pagetest.AuthorizeURL(h.AuthorizeRequest("prompt", "none"))), h, "consent_required")
	b.Press(b.Get(pagetest.AuthorizeURL(h.AuthorizeRequest())), "Allow and continue").WantCallback(h.RedirectURL)
	b.Get(pagetest.AuthorizeURL(h.AuthorizeRequest("prompt", "none"))).WantCallback(h.RedirectURL)

	for name, pairs := range map[string][]string{
		"login":   {"prompt", "login"},
		"max_age": {"max_age", "60"},
	} {
		t.Run(name, func(t *testing.T) {
			h.In(t)
			h.Advance(2 * time.Minute)
			signIn := b.Follow(b.Get(pagetest.AuthorizeURL(h.AuthorizeRequest(pairs...))))
			signIn.Want(http.StatusOK, "Sign in")
			h.Advance(time.Second)
			s := b.Follow(b.Press(signIn, "Sign in", "email", pagetest.Ann, "password", pagetest.Password))
			if q := s.WantCallback(h.RedirectURL); q.Get("code") == "" {
				t.Errorf("after signing in again: %v", q)
			}
		})
	}
	b.Get(pagetest.AuthorizeURL(h.AuthorizeRequest("max_age", "3600"))).WantCallback(h.RedirectURL)
}

// TestSlowReturnFromSignIn: if the application requires the newest possible sign-in, the visitor
// has a short time to come back, and no more.
func TestSlowReturnFromSignIn(t *testing.T) {
	h, b, _ := annAndLicense(t)
	b.Press(b.Get(pagetest.AuthorizeURL(h.AuthorizeRequest())), "Allow and continue").WantCallback(h.RedirectURL)
	again := func() *pagetest.Page {
		h.Advance(2 * time.Second)
		signIn := b.Follow(b.Get(pagetest.AuthorizeURL(h.AuthorizeRequest("max_age", "0"))))
		return b.Press(signIn.Want(http.StatusOK, "Sign in"), "Sign in", "email", pagetest.Ann, "password", pagetest.Password)
	}
	s := again()
	h.Advance(10 * time.Second)
	b.Follow(s).WantCallback(h.RedirectURL)
	s = again()
	h.Advance(time.Minute)
	b.Follow(b.Follow(s)).Want(http.StatusOK, "Sign in")
}

// TestDecideWithoutSigningIn: after the session has ended, the visitor must sign in again, and
// nothing is connected.
func TestDecideWithoutSigningIn(t *testing.T) {
	h, b, l := annAndLicense(t)
	page := b.Get(pagetest.AuthorizeURL(h.AuthorizeRequest()))
	b.Post("/sign-out")
	s := b.Press(page, "Allow and continue")
	if to := s.Header.Get("Location"); s.Status != http.StatusSeeOther || !strings.HasPrefix(to, "/sign-in?again=1&next=%2Fopenid%2Fauthorize") {
		t.Errorf("got %d to %q", s.Status, to)
	}
	if now := stored(h, l); now.Status != event.Inactive {
		t.Errorf("the license is %s", now.Status)
	}
}

// TestCrossSiteDecision: no other site can consent for a buyer.
func TestCrossSiteDecision(t *testing.T) {
	h, b, l := annAndLicense(t)
	for path, form := range map[string]url.Values{
		"/openid/authorize/decide": h.AuthorizeRequest("decision", "allow", "license", l.RedemptionID),
		consentPage(l):             {"decision": {"allow"}},
		pagetest.RedeemPath(l):     {},
	} {
		if s := b.Do(http.MethodPost, path, form, "cross-site"); s.Status != http.StatusForbidden {
			t.Errorf("%s: %d", path, s.Status)
		}
	}
	if now := stored(h, l); now.Status != event.Inactive {
		t.Errorf("the license is %s", now.Status)
	}
}
