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
)

// nothing changes nothing of a partner.
var nothing partner.Change

// request is a request of the application, with what a test adds or changes;
// "" takes a member away.
func (h *house) request(pairs ...string) url.Values {
	q := fields([]string{
		"response_type", "code", "client_id", h.partner.ClientID, "redirect_uri", h.redirect, "scope", "openid read_license",
		"state", "a b&c", "nonce", "n-1",
	})
	for name, value := range fields(pairs) {
		q[name] = value
		if value[0] == "" {
			q.Del(name)
		}
	}
	return q
}

func authorize(q url.Values) string { return "/openid/authorize?" + q.Encode() }

// refused checks that the application is told no, with its state and who says so.
func (s *sheet) refused(h *house, code string) {
	s.Helper()
	q := s.arrives(h.redirect)
	if q.Get("error") != code || q.Get("state") != "a b&c" || q.Get("iss") != h.url || q.Has("code") {
		s.Errorf("the application gets %v, want error %s", q, code)
	}
}

// TestAuthorize: the application begins; the buyer signs in, allows, and comes
// back with code, state and issuer. The second time it is a mere redirect.
func TestAuthorize(t *testing.T) {
	h := build(t)
	h.user(ann, password)
	l := h.sell(ann, 1)
	b := h.browser()
	signIn := b.follow(b.get(authorize(h.request())))
	consent := b.follow(b.press(signIn, "Sign in", "email", ann, "password", password))
	consent.want(http.StatusOK, "Connect Tide Planner?")
	q := b.press(consent, "Allow and continue").arrives(h.redirect)
	if q.Get("state") != "a b&c" || q.Get("iss") != h.url || len(q.Get("code")) != 64 || len(q) != 3 {
		t.Errorf("the application gets %v", q)
	}
	if now := h.license(l); now.Status != event.Active {
		t.Errorf("the license is %s", now.Status)
	}
	again := b.get(authorize(h.request("state", "s2"))).arrives(h.redirect)
	if again.Get("state") != "s2" || again.Get("code") == "" {
		t.Errorf("a buyer who returns brings %v", again)
	}
	// OpenID wants that a request may come as a form, from the application's site.
	form := b.do(http.MethodPost, "/openid/authorize", h.request("state", "s3"), "cross-site")
	if q := b.follow(form).arrives(h.redirect); q.Get("state") != "s3" || q.Get("code") == "" {
		t.Errorf("a request by form brings %v", q)
	}
}

// TestAuthorizeByBody: a request that is posted is read as a form or as JSON, and
// what is there twice is not lost.
func TestAuthorizeByBody(t *testing.T) {
	h, b, _ := annAndLicense(t)
	b.press(b.get(authorize(h.request())), "Allow and continue").arrives(h.redirect)
	q := h.request("max_age", "3600")
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
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, h.url+"/openid/authorize", strings.NewReader(c.body))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Content-Type", c.kind)
		answer, err := b.client.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		_ = answer.Body.Close()
		if got := b.follow(b.sheet(answer, "")).arrives(h.redirect); got.Get(c.want) == "" || got.Get("state") != "a b&c" {
			t.Errorf("%s brings %v, want %s", name, got, c.want)
		}
	}
}

// TestAuthorizeIsOnlyLookedAt: a HEAD changes nothing, neither for who would go
// straight through nor for who would be asked.
func TestAuthorizeIsOnlyLookedAt(t *testing.T) {
	h, b, _ := annAndLicense(t)
	b.press(b.get(authorize(h.request())), "Allow and continue").arrives(h.redirect)
	look := func(pairs ...string) *sheet {
		return b.do(http.MethodHead, authorize(h.request(pairs...)), nil, "none")
	}
	count := func() int64 {
		n, err := sqldb.One(t.Context(), h.db, sqldb.Value[int64], `SELECT count(*) FROM oauth_grants`)
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	before := count()
	if s := look(); s.Status != http.StatusOK || s.Header.Get("Location") != "" || count() != before {
		t.Errorf("got %d to %q, and %d codes after %d", s.Status, s.Header.Get("Location"), count(), before)
	}
	look("response_type", "token").refused(h, "unsupported_response_type")

	h.advance(time.Second)
	signIn := b.follow(b.get(authorize(h.request("prompt", "login"))))
	s := b.press(signIn, "Sign in", "email", ann, "password", password)
	look("prompt", "login")
	b.follow(s).arrives(h.redirect) // the sign-in still counts
}

// TestAuthorizeRefuses: what is wrong with the request goes back to the
// application, but never to an address that is not the saved one.
func TestAuthorizeRefuses(t *testing.T) {
	h, b, _ := annAndLicense(t)
	for name, pairs := range map[string][]string{
		"unknown client":   {"client_id", "nobody"},
		"no client":        {"client_id", ""},
		"other redirect":   {"redirect_uri", "https://evil.example/in"},
		"trailing slash":   {"redirect_uri", h.redirect + "/"},
		"encoded redirect": {"redirect_uri", "https://tide.example/%69n"},
		"other case":       {"redirect_uri", "https://TIDE.example/in"},
	} {
		t.Run(name, func(t *testing.T) {
			h.in(t)
			for _, s := range []*sheet{
				b.get(authorize(h.request(pairs...))),
				b.do(http.MethodPost, "/openid/authorize/decide", h.request(append(pairs, "decision", "allow")...), "same-origin"),
				b.do(http.MethodPost, "/openid/authorize/decide", h.request(append(pairs, "decision", "cancel")...), "same-origin"),
			} {
				if s.Status < 400 || s.Header.Get("Location") != "" {
					t.Errorf("got %d to %q", s.Status, s.Header.Get("Location"))
				}
			}
		})
	}
	b.get(authorize(h.request("response_type", "token"))).refused(h, "unsupported_response_type")
	b.get(authorize(h.request("code_challenge", strings.Repeat("a", 43), "code_challenge_method", "plain"))).refused(h, "invalid_request")
	b.get(authorize(h.request("request", "x"))).refused(h, "request_not_supported")
}

// TestAuthorizeThatCannotBeRead: what is lost of a request is not taken for not
// sent, or PKCE, the state or the redirect URI could be lost.
func TestAuthorizeThatCannotBeRead(t *testing.T) {
	h, b, _ := annAndLicense(t)
	b.press(b.get(authorize(h.request())), "Allow and continue").arrives(h.redirect)
	for _, name := range []string{"code_challenge", "state", "nonce", "redirect_uri", "prompt"} {
		q := h.request(name, "")
		if s := b.get(authorize(q) + "&" + name + "=%zz"); s.Status != http.StatusBadRequest || s.Header.Get("Location") != "" {
			t.Errorf("%s: %d to %q", name, s.Status, s.Header.Get("Location"))
		}
	}
}

// TestCancelTellsTheApplication, which asked.
func TestCancelTellsTheApplication(t *testing.T) {
	h, b, l := annAndLicense(t)
	b.press(b.get(authorize(h.request())), "Cancel").refused(h, "access_denied")
	if now := h.license(l); now.Status != event.Inactive {
		t.Errorf("the license is %s", now.Status)
	}
}

// TestNoLicense: somebody without one is sent back.
func TestNoLicense(t *testing.T) {
	h, _, _ := annAndLicense(t)
	h.user(eve, password)
	h.browser().signIn(eve, password).get(authorize(h.request())).refused(h, "access_denied")
}

// TestChooser: of several licenses the buyer takes one, and cannot take another
// person's.
func TestChooser(t *testing.T) {
	h, b, first := annAndLicense(t)
	second := h.sell(ann, 3)
	h.user(eve, password)
	foreign := h.sell(eve, 2)
	page := b.get(authorize(h.request()))
	if text := page.text(); !strings.Contains(text, "Which license?") || !strings.Contains(text, "Plan 1") || !strings.Contains(text, "Plan 3") || strings.Contains(text, "Plan 2") {
		t.Fatalf("the chooser says %s", text)
	}
	b.press(page, "Allow and continue", "license", foreign.RedemptionID).refused(h, "access_denied")
	b.press(page, "Allow and continue", "license", first.RedemptionID).arrives(h.redirect)
	if h.license(first).Status != event.Active || h.license(second).Status != event.Inactive {
		t.Errorf("they are %s and %s", h.license(first).Status, h.license(second).Status)
	}
	b.get(authorize(h.request())).arrives(h.redirect) // the one that is known
	if text := b.get(authorize(h.request("prompt", "consent"))).text(); !strings.Contains(text, "Which license?") {
		t.Errorf("prompt=consent does not ask: %s", text)
	}
}

// TestPrompts: what the application says about asking is heeded.
func TestPrompts(t *testing.T) {
	h, b, _ := annAndLicense(t)
	h.browser().get(authorize(h.request("prompt", "none"))).refused(h, "login_required")
	b.get(authorize(h.request("prompt", "none"))).refused(h, "consent_required")
	b.press(b.get(authorize(h.request())), "Allow and continue").arrives(h.redirect)
	b.get(authorize(h.request("prompt", "none"))).arrives(h.redirect)

	for name, pairs := range map[string][]string{
		"login":   {"prompt", "login"},
		"max_age": {"max_age", "60"},
	} {
		t.Run(name, func(t *testing.T) {
			h.in(t)
			h.advance(2 * time.Minute)
			signIn := b.follow(b.get(authorize(h.request(pairs...))))
			signIn.want(http.StatusOK, "Sign in")
			h.advance(time.Second)
			s := b.follow(b.press(signIn, "Sign in", "email", ann, "password", password))
			if q := s.arrives(h.redirect); q.Get("code") == "" {
				t.Errorf("after signing in again: %v", q)
			}
		})
	}
	b.get(authorize(h.request("max_age", "3600"))).arrives(h.redirect)
}

// TestSlowWayBack: who signs in for an application that wants the newest sign-in
// there is has a moment to come back, and not more.
func TestSlowWayBack(t *testing.T) {
	h, b, _ := annAndLicense(t)
	b.press(b.get(authorize(h.request())), "Allow and continue").arrives(h.redirect)
	again := func() *sheet {
		h.advance(2 * time.Second)
		signIn := b.follow(b.get(authorize(h.request("max_age", "0"))))
		return b.press(signIn.want(http.StatusOK, "Sign in"), "Sign in", "email", ann, "password", password)
	}
	s := again()
	h.advance(10 * time.Second)
	b.follow(s).arrives(h.redirect)
	s = again()
	h.advance(time.Minute)
	b.follow(b.follow(s)).want(http.StatusOK, "Sign in")
}

// TestDecideWithoutSigningIn: a session that ended meanwhile is asked for again,
// and nothing is connected.
func TestDecideWithoutSigningIn(t *testing.T) {
	h, b, l := annAndLicense(t)
	page := b.get(authorize(h.request()))
	b.post("/sign-out")
	s := b.press(page, "Allow and continue")
	if to := s.Header.Get("Location"); s.Status != http.StatusSeeOther || !strings.HasPrefix(to, "/sign-in?again=1&next=%2Fopenid%2Fauthorize") {
		t.Errorf("got %d to %q", s.Status, to)
	}
	if now := h.license(l); now.Status != event.Inactive {
		t.Errorf("the license is %s", now.Status)
	}
}

// TestCrossSiteDecision: no other site can consent for a buyer.
func TestCrossSiteDecision(t *testing.T) {
	h, b, l := annAndLicense(t)
	for path, form := range map[string]url.Values{
		"/openid/authorize/decide": h.request("decision", "allow", "license", l.RedemptionID),
		consentPage(l):             {"decision": {"allow"}},
		redeemPage(l):              {},
	} {
		if s := b.do(http.MethodPost, path, form, "cross-site"); s.Status != http.StatusForbidden {
			t.Errorf("%s: %d", path, s.Status)
		}
	}
	if now := h.license(l); now.Status != event.Inactive {
		t.Errorf("the license is %s", now.Status)
	}
}
