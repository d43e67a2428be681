package oauth_test

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// serve sends a form to /openid/revoke with a client address and returns the status.
func serve(t testing.TB, handler http.Handler, address string, v url.Values) int {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), "POST", "/openid/revoke", strings.NewReader(v.Encode()))
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	r.RemoteAddr = address
	w := httptest.NewRecorder()
	handler.ServeHTTP(w, r)
	return w.Code
}

func TestLicenseKey(t *testing.T) {
	h := newEndpoints(t)
	l, held := h.connect()
	want := `{"license_key":"` + l.Key + `","status":"active","scopes":["read_license"],"tier":2}`
	for name, a := range map[string]answer{
		"by query":           h.ask("GET", "/openid/license_key/?access_token="+held.Access, ""),
		"without the slash":  h.ask("GET", "/openid/license_key?access_token="+held.Access, ""),
		"by header":          h.ask("GET", "/openid/license_key/", "", "Authorization: Bearer "+held.Access),
		"in small letters":   h.ask("GET", "/openid/license_key/", "", "Authorization: bearer "+held.Access),
		"empty in the query": h.ask("GET", "/openid/license_key/?access_token=", "", "Authorization: Bearer "+held.Access),
	} {
		if a.Status != 200 || a.Body != want || a.Header.Get("Cache-Control") != "no-store" {
			t.Errorf("%s: answered %d %s, want %s", name, a.Status, a.Body, want)
		}
	}
	h.Must(events["held"].happen(h, l))
	if a := h.ask("GET", "/openid/license_key/?access_token="+held.Access, ""); a.Status != 200 || !strings.Contains(a.Body, `"status":"deactivated"`) {
		t.Errorf("a held license answered %d %s", a.Status, a.Body)
	}
}

// TestAccessTokenRefused: license_key and userinfo refuse tokens in the same way.
func TestAccessTokenRefused(t *testing.T) {
	h := newEndpoints(t)
	_, held := h.connect()
	_, dead := h.connect()
	h.clock.Advance(time.Hour)
	_, live := h.connect()
	h.ask("POST", "/openid/revoke", form("token", dead.Refresh, "client_id", h.keys.ClientID, "client_secret", h.keys.ClientSecret).Encode())
	const plain, invalid = "Bearer", `Bearer error="invalid_token"`
	for name, tt := range map[string]struct {
		target    string
		header    string
		status    int
		code      string
		words     string
		challenge string
	}{
		"nothing":                  {"/openid/license_key/", "", 401, "invalid_token", "no access token", plain},
		"empty":                    {"/openid/license_key/?access_token=", "", 401, "invalid_token", "no access token", plain},
		"another scheme":           {"/openid/license_key/", "Authorization: Basic eA==", 401, "invalid_token", "another scheme than Bearer", plain},
		"no scheme":                {"/openid/license_key/", "Authorization: " + live.Access, 401, "invalid_token", "lacks the word Bearer", plain},
		"an API key":               {"/openid/license_key/", "Authorization: Bearer lk_c0ffee", 401, "invalid_token", "This is an API key; send the access_token", invalid},
		"a client secret":          {"/openid/license_key/?access_token=cs_c0ffee", "", 401, "invalid_token", "This is a client secret; send the access_token", invalid},
		"a header of another name": {"/openid/userinfo", "X-Token: lk_c0ffee", 401, "invalid_token", "The header X-Token has a secret and is not read for it.", plain},
		"expired":                  {"/openid/license_key/?access_token=" + held.Access, "", 401, "invalid_token", "expired", invalid},
		"expired, in header":       {"/openid/license_key/", "Authorization: Bearer " + held.Access, 401, "invalid_token", "expired", invalid},
		"revoked":                  {"/openid/license_key/?access_token=" + dead.Access, "", 401, "invalid_token", "revoked", invalid},
		"unknown":                  {"/openid/license_key/?access_token=x%00%ff", "", 400, "invalid_request", "", ""},
		"made up":                  {"/openid/license_key/?access_token=x", "", 401, "invalid_token", "not known", invalid},
		"a refresh token":          {"/openid/license_key/?access_token=" + live.Refresh, "", 401, "invalid_token", "not known", invalid},
		"twice in the query":       {"/openid/license_key/?access_token=" + live.Access + "&access_token=" + live.Access, "", 400, "invalid_request", "2 times", ""},
		"in query and header":      {"/openid/license_key/?access_token=" + live.Access, "Authorization: Bearer " + live.Access, 400, "invalid_request", "more than one place", `Bearer error="invalid_request"`},
		"userinfo, nothing":        {"/openid/userinfo", "", 401, "invalid_token", "no access token", plain},
		"userinfo, by query":       {"/openid/userinfo?access_token=" + live.Access, "", 401, "invalid_token", "no access token", plain},
		"userinfo, expired":        {"/openid/userinfo", "Authorization: Bearer " + held.Access, 401, "invalid_token", "expired", invalid},
		"userinfo, by refresh":     {"/openid/userinfo", "Authorization: Bearer " + live.Refresh, 401, "invalid_token", "not known", invalid},
	} {
		t.Run(name, func(t *testing.T) {
			h := h.in(t)
			var header []string
			if tt.header != "" {
				header = []string{tt.header}
			}
			a := h.ask("GET", tt.target, "", header...)
			h.refused(a, tt.status, tt.code, tt.words)
			if got := a.Header.Get("WWW-Authenticate"); got != tt.challenge {
				t.Errorf("WWW-Authenticate is %q, want %q", got, tt.challenge)
			}
			if a.Header.Get("Cache-Control") != "no-store" {
				t.Errorf("Cache-Control is %q", a.Header.Get("Cache-Control"))
			}
		})
	}
}

func TestUserinfo(t *testing.T) {
	h := newEndpoints(t)
	l, held := h.connect()
	sub, _ := claimsOf(t, held.ID)["sub"].(string)
	want := `{"sub":"` + sub + `","license_key":"` + l.Key + `","tier":2,"license_status":"active"}`
	bearer := "Authorization: Bearer " + held.Access
	got := map[string]string{}
	for name, a := range map[string]answer{
		"GET":          h.ask("GET", "/openid/userinfo/", "", bearer),
		"POST, header": h.ask("POST", "/openid/userinfo", "", bearer),
		"POST, form":   h.ask("POST", "/openid/userinfo", "access_token="+held.Access),
		"POST, JSON":   h.ask("POST", "/openid/userinfo", `{"access_token":"`+held.Access+`"}`, "Content-Type: application/json"),
	} {
		got[name] = a.Body
	}
	if d := cmp.Diff(map[string]string{"GET": want, "POST, header": want, "POST, form": want, "POST, JSON": want}, got); d != "" {
		t.Errorf("answers (-want +got):\n%s", d)
	}
	h.refused(h.ask("POST", "/openid/userinfo", "access_token="+held.Access, bearer), 400, "invalid_request", "more than one place")
	h.refused(h.ask("POST", "/openid/userinfo?access_token="+held.Access, ""), 400, "invalid_request", "query")
}

func TestRevoke(t *testing.T) {
	h := newEndpoints(t)
	ask := func(path, token, id, word string) answer {
		return h.ask("POST", path, form("token", token, "client_id", id, "client_secret", word).Encode())
	}
	revoke := func(token string) {
		t.Helper()
		if a := ask("/openid/revoke", token, h.keys.ClientID, h.keys.ClientSecret); a.Status != 200 || a.Body != "{}" {
			t.Errorf("answered %d %s", a.Status, a.Body)
		}
	}
	_, held := h.connect()
	if a := ask("/openid/revoke/", held.Refresh, h.otherKeys.ClientID, h.otherKeys.ClientSecret); a.Status != 200 {
		t.Errorf("another's token was answered %d %s", a.Status, a.Body)
	}
	if !h.opens(held.Access) {
		t.Error("another client revoked a token")
	}
	revoke("unknown")
	revoke(held.Access)
	if h.opens(held.Access) {
		t.Error("a revoked access token serves")
	}
	next := h.tokens(h.post(h.refreshOf(held.Refresh)))
	revoke(held.Refresh) // used already, but of the same grant
	if h.opens(next.Access) {
		t.Error("an access token outlives its family")
	}
	h.refused(h.post(h.refreshOf(next.Refresh)), 400, "invalid_grant", "revoked")
	h.refused(ask("/openid/revoke", "", h.keys.ClientID, h.keys.ClientSecret), 400, "invalid_request", "token")
	h.refused(ask("/openid/revoke", next.Access, h.keys.ClientID, "x"), 401, "invalid_client")
}

func TestIntrospect(t *testing.T) {
	h := newEndpoints(t)
	l, held := h.connect()
	ask := func(token, id, word string) string {
		t.Helper()
		return h.ask("POST", "/openid/introspect/", form("token", token, "client_id", id, "client_secret", word).Encode()).Body
	}
	own := func(token string) string { return ask(token, h.keys.ClientID, h.keys.ClientSecret) }
	const inactive = `{"active":false}`
	sub, _ := claimsOf(t, held.ID)["sub"].(string)
	of := func(kind, exp string) string {
		return `{"active":true,"scope":"read_license","client_id":"` + h.ours.ClientID + `",` + kind + `"exp":` + exp + `,"iat":1772366400,"sub":"` + sub +
			`","aud":"` + h.ours.ClientID + `","iss":"` + h.Issuer + `"}`
	}
	if d := cmp.Diff(of(`"token_type":"bearer",`, "1772370000"), own(held.Access)); d != "" {
		t.Errorf("an access token (-want +got):\n%s", d)
	}
	if d := cmp.Diff(of("", "1774958400"), own(held.Refresh)); d != "" {
		t.Errorf("a refresh token (-want +got):\n%s", d)
	}
	for name, got := range map[string]string{
		"another's": ask(held.Access, h.otherKeys.ClientID, h.otherKeys.ClientSecret),
		"unknown":   own("x"),
	} {
		if got != inactive {
			t.Errorf("%s: answered %s", name, got)
		}
	}
	next := h.tokens(h.post(h.refreshOf(held.Refresh)))
	if got := own(held.Refresh); got != inactive {
		t.Errorf("a used refresh token: answered %s", got)
	}
	h.clock.Advance(time.Hour)
	if got := own(next.Access); got != inactive {
		t.Errorf("an expired one: answered %s", got)
	}
	h.Must(events["released"].happen(h, l))
	if got := own(next.Refresh); got != inactive {
		t.Errorf("one of a released license: answered %s", got)
	}
	h.refused(h.ask("POST", "/openid/introspect", form("client_id", h.keys.ClientID, "client_secret", h.keys.ClientSecret).Encode()), 400, "invalid_request", "token")
	h.refused(h.ask("POST", "/openid/introspect", "token=x"), 401, "invalid_client")
}
