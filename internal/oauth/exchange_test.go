package oauth_test

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"claviger/internal/account"
	"claviger/internal/license"
	"claviger/internal/profile"
)

// asJSON returns a form as a JSON object with the same members.
func asJSON(t testing.TB, v url.Values) string {
	t.Helper()
	object := map[string]string{}
	for name := range v {
		object[name] = v.Get(name)
	}
	b, err := json.Marshal(object)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func TestExchange(t *testing.T) {
	h := newEndpoints(t)
	const jsonType = "Content-Type: application/json"
	for name, tt := range map[string]struct {
		path   string
		json   bool
		header []string
		member bool // the answer has the error member
	}{
		"a form":                         {"/openid/token/", false, nil, true},
		"without the slash":              {"/openid/token", false, nil, true},
		"JSON":                           {"/openid/token/", true, []string{jsonType}, true},
		"JSON that is said to be form":   {"/openid/token/", true, nil, true},
		"a form that is said to be JSON": {"/openid/token/", false, []string{jsonType}, true},
		"the twin":                       {"/openid/oauth2/token", false, nil, false},
		"the twin with a slash, JSON":    {"/openid/oauth2/token/", true, []string{jsonType}, false},
	} {
		t.Run(name, func(t *testing.T) {
			h := h.in(t)
			v := h.exchangeOf(h.code(h.buy(h.ours)))
			body := v.Encode()
			if tt.json {
				body = asJSON(t, v)
			}
			a := h.ask("POST", tt.path, body, tt.header...)
			got := h.tokens(a)
			opaque := regexp.MustCompile(`^[0-9a-f]{76}$`)
			if !opaque.MatchString(got.Access) || !opaque.MatchString(got.Refresh) || got.Access == got.Refresh ||
				got.Type != "bearer" || got.Expires != 3600 || strings.Count(got.ID, ".") != 2 {
				t.Errorf("answered %s", a.Body)
			}
			if (got.Error != nil) != tt.member || tt.member && *got.Error != "" {
				t.Errorf("the member error in %s; want it: %v", a.Body, tt.member)
			}
			if a.Header.Get("Cache-Control") != "no-store" || a.Header.Get("Pragma") != "no-cache" || a.Header.Get("Access-Control-Allow-Origin") != "" {
				t.Errorf("headers %v", a.Header)
			}
			if !h.opens(got.Access) {
				t.Error("the access token does not serve")
			}
		})
	}
	for id, want := range map[int64]bool{h.ours.ID: true, h.other.ID: false} {
		if at, err := h.Profiles.FirstSignIn(t.Context(), id); err != nil || at.IsZero() == want {
			t.Errorf("the first sign-in of partner %d: %v, %v", id, at, err)
		}
	}
	t.Run("a partner without the member", func(t *testing.T) {
		h := h.in(t)
		_, _, err := h.Profiles.Connect(t.Context(), theOperator, h.ours.ID, profile.Connection{NoErrorMember: new(true)})
		h.Must(err)
		if _, got := h.connect(); got.Error != nil {
			t.Error("the answer has the member error")
		}
	})
}

// TestExchangeRefused: errors are explained, and only mistakes of the right client use the code up.
func TestExchangeRefused(t *testing.T) {
	h := newEndpoints(t)
	for name, tt := range map[string]struct {
		change []string // see changed
		status int
		code   string
		words  string
		burns  bool
	}{
		"no grant_type":         {[]string{"grant_type", "-"}, 400, "invalid_request", "grant_type", false},
		"empty grant_type":      {[]string{"grant_type", ""}, 400, "invalid_request", "grant_type", false},
		"another grant_type":    {[]string{"grant_type", "password"}, 400, "unsupported_grant_type", "authorization_code", false},
		"no code":               {[]string{"code", "-"}, 400, "invalid_request", "code", false},
		"no redirect_uri":       {[]string{"redirect_uri", "-"}, 400, "invalid_request", "redirect_uri", false},
		"unknown code":          {[]string{"code", strings.Repeat("0", 64)}, 400, "invalid_grant", "not known", false},
		"wrong secret":          {[]string{"client_secret", "cs_wrong"}, 401, "invalid_client", "client_secret is not", false},
		"wrong client":          {[]string{"client_id", "nobody"}, 401, "invalid_client", "no application with this client_id", false},
		"client with NUL":       {[]string{"client_id", "a\x00b"}, 400, "invalid_request", "client_id", false},
		"no secret":             {[]string{"client_secret", "-"}, 401, "invalid_client", "client_secret", false},
		"no client":             {[]string{"client_id", "-"}, 401, "invalid_client", "client_id", false},
		"another client":        {[]string{"client_id", h.otherKeys.ClientID, "client_secret", h.otherKeys.ClientSecret}, 400, "invalid_grant", "another client_id", false},
		"slash at the end":      {[]string{"redirect_uri", redirectURL + "/"}, 400, "invalid_grant", "slash", true},
		"another scheme":        {[]string{"redirect_uri", strings.Replace(redirectURL, "https", "http", 1)}, 400, "invalid_grant", "scheme", true},
		"another host":          {[]string{"redirect_uri", strings.Replace(redirectURL, "partner.", "evil.", 1)}, 400, "invalid_grant", "host", true},
		"capital letters":       {[]string{"redirect_uri", strings.Replace(redirectURL, "callback", "Callback", 1)}, 400, "invalid_grant", "case", true},
		"escaped otherwise":     {[]string{"redirect_uri", strings.Replace(redirectURL, "callback", "%63allback", 1)}, 400, "invalid_grant", "percent", true},
		"without its query":     {[]string{"redirect_uri", "https://partner.example.com/callback"}, 400, "invalid_grant", "query", true},
		"verifier without PKCE": {[]string{"code_verifier", strings.Repeat("v", 43)}, 400, "invalid_grant", "without a code_challenge", true},
	} {
		t.Run(name, func(t *testing.T) {
			h := h.in(t)
			right := h.exchangeOf(h.code(h.buy(h.ours)))
			h.refused(h.post(changed(right, tt.change...)), tt.status, tt.code, tt.words)
			again := h.post(right)
			if tt.burns {
				h.refused(again, 400, "invalid_grant", "used up", tt.change[0])
			} else {
				h.tokens(again)
			}
		})
	}
	if n := h.audited("oauth.foreign"); n != 1 {
		t.Errorf("there are %d audit entries of a code presented by another client, want 1", n)
	}
}

func TestPKCE(t *testing.T) {
	h := newEndpoints(t)
	verifier := strings.Repeat("verifier-", 6)
	sum := sha256.Sum256([]byte(verifier))
	challenge := base64.RawURLEncoding.EncodeToString(sum[:])
	for name, tt := range map[string]struct {
		verifier string
		words    string // "" if it is right
		burns    bool
	}{
		"right":     {verifier, "", false},
		"wrong":     {verifier + "x", "does not match", true},
		"challenge": {challenge, "does not match", true}, // plain
		"missing":   {"-", "code_verifier is missing", false},
		"empty":     {"", "code_verifier is missing", false},
	} {
		t.Run(name, func(t *testing.T) {
			h := h.in(t)
			code := h.asked(h.buy(h.ours), url.Values{"code_challenge": {challenge}, "code_challenge_method": {"S256"}})
			right := changed(h.exchangeOf(code), "code_verifier", verifier)
			a := h.post(changed(right, "code_verifier", tt.verifier))
			if tt.words == "" {
				h.tokens(a)
				return
			}
			h.refused(a, 400, "invalid_grant", tt.words)
			again := h.post(right)
			if tt.burns {
				h.refused(again, 400, "invalid_grant", "used up", "code_verifier")
			} else {
				h.tokens(again)
			}
		})
	}
}

// events are possible changes of a license or its partner between two uses.
var events = map[string]struct {
	happen    func(h *endpoints, l license.License) error
	code      string // error for an open code; "": it works
	connected bool   // tokens still work
}{
	"released": {func(h *endpoints, l license.License) error {
		_, err := h.Licenses.Release(h.Context(), theOperator, l.Key)
		return err
	}, "released", false},
	"transferred": {func(h *endpoints, l license.License) error {
		_, err := h.Licenses.Transfer(h.Context(), theOperator, l.Key, account.Person{Email: "bob@example.com"})
		return err
	}, "transferred", false},
	"its owner erased": {func(h *endpoints, _ license.License) error {
		_, err := h.Licenses.EraseUser(h.Context(), theOperator, h.ann.ID)
		return err
	}, "owner", false},
	"held": {func(h *endpoints, l license.License) error {
		_, err := h.Licenses.Hold(h.Context(), theOperator, l.Key, license.HoldChargeback)
		return err
	}, "", true},
	"refunded": {func(h *endpoints, l license.License) error {
		_, err := h.Licenses.Refund(h.Context(), theOperator, license.RefundOrder{LicenseKey: l.Key})
		return err
	}, "", true},
	"redirect URL changed": {func(h *endpoints, _ license.License) error {
		h.move(h.ours, "https://partner.example.com/elsewhere")
		return nil
	}, "redirect URL", true},
	"redirect URL changed and back": {func(h *endpoints, _ license.License) error {
		h.move(h.ours, "https://partner.example.com/elsewhere")
		h.move(h.ours, redirectURL)
		return nil
	}, "redirect URL", true},
}

// TestWhatEndsAConnection: codes and tokens end with the connection, and only then.
func TestWhatEndsAConnection(t *testing.T) {
	shared := newEndpoints(t)
	for name, tt := range events {
		t.Run(name, func(t *testing.T) {
			h := shared.in(t)
			h.ann = h.user(strings.ReplaceAll(name, " ", "-"))
			h.move(h.ours, redirectURL)
			l, held := h.connect()
			code := h.code(l)
			h.Must(tt.happen(h, l))

			a := h.post(h.exchangeOf(code))
			if tt.code == "" {
				h.tokens(a)
			} else {
				h.refused(a, 400, "invalid_grant", tt.code)
			}
			if h.opens(held.Access) != tt.connected {
				t.Errorf("the access token serves: %v, want %v", !tt.connected, tt.connected)
			}
			a = h.post(h.refreshOf(held.Refresh))
			if tt.connected {
				h.tokens(a)
			} else {
				h.refused(a, 400, "invalid_grant", "no longer valid")
			}
		})
	}
}

func TestCodeExpires(t *testing.T) {
	h := newEndpoints(t)
	l := h.buy(h.ours)
	early, late := h.code(l), h.code(l)
	h.clock.Advance(10*time.Minute - time.Second)
	h.tokens(h.post(h.exchangeOf(early)))
	h.clock.Advance(time.Second)
	h.refused(h.post(h.exchangeOf(late)), 400, "invalid_grant", "expired")
}

// TestCodeUsedAgain: soon after its use a repeated code is a page loaded twice, later a stolen one.
func TestCodeUsedAgain(t *testing.T) {
	shared := newEndpoints(t)
	for name, tt := range map[string]struct {
		after   time.Duration
		revokes bool
	}{
		"at once":          {0, false},
		"ten seconds":      {10 * time.Second, false},
		"later":            {10*time.Second + time.Millisecond, true},
		"after its expiry": {time.Hour - time.Second, true},
	} {
		t.Run(name, func(t *testing.T) {
			h := shared.in(t)
			revoked := h.audited("oauth.revoke")
			right := h.exchangeOf(h.code(h.buy(h.ours)))
			held := h.tokens(h.post(right))
			h.clock.Advance(tt.after)
			h.refused(h.post(right), 400, "invalid_grant", "used already")
			if h.opens(held.Access) == tt.revokes {
				t.Errorf("revoked: %v, want %v", !tt.revokes, tt.revokes)
			}
			a := h.post(h.refreshOf(held.Refresh))
			if tt.revokes {
				h.refused(a, 400, "invalid_grant", "revoked")
			} else {
				h.tokens(a)
			}
			if n := h.audited("oauth.revoke") - revoked; n != map[bool]int{true: 1}[tt.revokes] {
				t.Errorf("there are %d audit entries of the revocation", n)
			}
			h.refused(h.post(changed(right, "redirect_uri", redirectURL+"x")), 400, "invalid_grant", "used already")
			if n := h.audited("oauth.revoke") - revoked; n != map[bool]int{true: 1}[tt.revokes] {
				t.Errorf("a second revocation was audited; there are %d entries", n)
			}
		})
	}
}

// TestForeignReplayRevokesNothing: another client cannot end a connection with a stolen code.
func TestForeignReplayRevokesNothing(t *testing.T) {
	h := newEndpoints(t)
	right := h.exchangeOf(h.code(h.buy(h.ours)))
	held := h.tokens(h.post(right))
	h.clock.Advance(time.Minute)
	h.refused(h.post(changed(right, "client_id", h.otherKeys.ClientID, "client_secret", h.otherKeys.ClientSecret)), 400, "invalid_grant", "another")
	if !h.opens(held.Access) {
		t.Error("the tokens of the right client were revoked")
	}
}

// TestTokenRequestForm: a malformed request is refused and uses nothing up.
func TestTokenRequestForm(t *testing.T) {
	h := newEndpoints(t)
	right := func(h *endpoints) url.Values { return h.exchangeOf(h.code(h.buy(h.ours))) }
	basic := "Authorization: Basic " + base64.StdEncoding.EncodeToString([]byte(h.keys.ClientID+":"+h.keys.ClientSecret))
	for name, tt := range map[string]struct {
		send   func(h *endpoints, v url.Values) answer
		status int
	}{
		"a repeated parameter": {func(h *endpoints, v url.Values) answer { return h.ask("POST", "/openid/token", v.Encode()+"&code=x") }, 400},
		"a repeated JSON key": {func(h *endpoints, v url.Values) answer {
			return h.ask("POST", "/openid/token", strings.Replace(asJSON(t, v), "{", `{"code":"x",`, 1), "Content-Type: application/json")
		}, 400},
		"a number": {func(h *endpoints, v url.Values) answer {
			return h.ask("POST", "/openid/token", strings.Replace(asJSON(t, changed(v, "code", "-")), "{", `{"code":5,`, 1), "Content-Type: application/json")
		}, 400},
		"no object": {func(h *endpoints, _ url.Values) answer {
			return h.ask("POST", "/openid/token", `[]`, "Content-Type: application/json")
		}, 400},
		"everything in the query": {func(h *endpoints, v url.Values) answer { return h.ask("POST", "/openid/token?"+v.Encode(), "") }, 400},
		"the secret in the query": {func(h *endpoints, v url.Values) answer {
			return h.ask("POST", "/openid/token?client_secret="+h.keys.ClientSecret, changed(v, "client_secret", "-").Encode())
		}, 400},
		"a broken query": {func(h *endpoints, v url.Values) answer { return h.ask("POST", "/openid/token?a=%zz", v.Encode()) }, 400},
		"body and Basic": {func(h *endpoints, v url.Values) answer { return h.ask("POST", "/openid/token", v.Encode(), basic) }, 400},
		"two client ids": {func(h *endpoints, v url.Values) answer {
			return h.ask("POST", "/openid/token", changed(v, "client_secret", "-", "client_id", "other").Encode(), basic)
		}, 400},
		"too large": {func(h *endpoints, v url.Values) answer {
			return h.ask("POST", "/openid/token", changed(v, "x", strings.Repeat("x", 16<<10)).Encode())
		}, 413},
		"another type": {func(h *endpoints, v url.Values) answer {
			return h.ask("POST", "/openid/token", v.Encode(), "Content-Type: text/plain")
		}, 415},
	} {
		t.Run(name, func(t *testing.T) {
			h := h.in(t)
			v := right(h)
			h.refused(tt.send(h, v), tt.status, "invalid_request")
			h.tokens(h.post(v))
		})
	}
	for _, method := range []string{"GET", "PUT", "DELETE"} {
		a := h.ask(method, "/openid/token/?"+right(h).Encode(), "")
		if a.Status != http.StatusMethodNotAllowed || a.Header.Get("Allow") != "POST" {
			t.Errorf("%s answered %d, Allow %q", method, a.Status, a.Header.Get("Allow"))
		}
		h.refused(a, 405, "invalid_request", "answers POST only")
	}
}

// TestScopeIsNamed: the answer names the scope only if it differs from the request. read_license,
// which is always granted, is listed only if it was requested or is the only one.
func TestScopeIsNamed(t *testing.T) {
	h := newEndpoints(t)
	for asked, want := range map[string]string{
		"":                          "",
		"openid":                    "",
		"read_license":              "",
		"read_license openid":       "",
		"openid openid":             "",
		"openid profile email":      "openid",
		"profile read_license":      "read_license",
		"a openid b read_license c": "openid read_license",
		"profile":                   "read_license",
	} {
		first := h.post(h.exchangeOf(h.asked(h.buy(h.ours), form("scope", asked))))
		h.scope(first, asked, want)
		held := h.tokens(first)
		h.scope(h.post(h.refreshOf(held.Refresh)), "a refresh after "+asked, "")
	}
}

// scope checks the scope named in a token answer; "" means none.
func (h *endpoints) scope(a answer, asked, want string) {
	h.Helper()
	h.tokens(a)
	var got struct {
		Scope *string `json:"scope"`
	}
	h.Must(json.Unmarshal([]byte(a.Body), &got))
	if (got.Scope == nil) != (want == "") || got.Scope != nil && *got.Scope != want {
		h.Errorf("%q: the answer is %s, want the scope %q", asked, a.Body, want)
	}
}
