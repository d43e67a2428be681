package oauth_test

import (
	"strings"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"
)

func TestRefresh(t *testing.T) {
	h := newEndpoints(t)
	l := h.buy(h.ours)
	first := h.tokens(h.post(h.exchangeOf(h.asked(l, form("nonce", "n-1", "scope", "openid")))))
	old := claimsOf(t, first.ID)
	h.clock.Advance(2 * time.Hour)
	if h.opens(first.Access) {
		t.Fatal("the access token serves after two hours")
	}
	for _, path := range []string{"/openid/token/", "/openid/token", "/openid/oauth2/token"} {
		a := h.ask("POST", path, h.refreshOf(first.Refresh).Encode())
		second := h.tokens(a)
		if second.Access == first.Access || second.Refresh == first.Refresh || second.Type != "bearer" || second.Expires != 3600 {
			t.Errorf("%s answered %s", path, a.Body)
		}
		if second.Error != nil {
			t.Errorf("%s: a refresh has the member error", path)
		}
		if a.Header.Get("Cache-Control") != "no-store" || a.Header.Get("Pragma") != "no-cache" {
			t.Errorf("%s: headers %v", path, a.Header)
		}
		if !h.opens(second.Access) {
			t.Errorf("%s: the new access token does not serve", path)
		}
		renewed := claimsOf(t, second.ID)
		if old["nonce"] != "n-1" || renewed["nonce"] != nil {
			t.Errorf("nonces %v and %v; only the first answer has one", old["nonce"], renewed["nonce"])
		}
		for _, name := range []string{"iss", "sub", "aud", "auth_time", "license_key"} {
			if old[name] == nil || old[name] != renewed[name] {
				t.Errorf("%s was %v and is %v", name, old[name], renewed[name])
			}
		}
		if old["iat"] == renewed["iat"] || old["at_hash"] == renewed["at_hash"] {
			t.Error("the identity token of a refresh is the old one")
		}
		first = second
	}
}

// claimsOf reads an identity token without verifying it.
func claimsOf(t testing.TB, id string) map[string]any {
	t.Helper()
	token, err := jwt.ParseSigned(id, []jose.SignatureAlgorithm{jose.ES256, jose.RS256})
	if err != nil {
		t.Fatal(err)
	}
	claims := map[string]any{}
	if err := token.UnsafeClaimsWithoutVerification(&claims); err != nil {
		t.Fatal(err)
	}
	return claims
}

// TestRefreshRepeated: a used refresh token repeats its answer for a while, because that may have
// been lost. Later it revokes the grant. Another client can do neither.
func TestRefreshRepeated(t *testing.T) {
	shared := newEndpoints(t)
	for name, tt := range map[string]struct {
		after   time.Duration
		repeats bool
	}{
		"at once":       {0, true},
		"in 29 seconds": {29 * time.Second, true},
		"in 30 seconds": {30 * time.Second, false},
		"in a week":     {7 * 24 * time.Hour, false},
	} {
		t.Run(name, func(t *testing.T) {
			h := shared.in(t)
			_, held := h.connect()
			first := h.post(h.refreshOf(held.Refresh))
			got := h.tokens(first)
			h.clock.Advance(tt.after)
			h.refused(h.post(changed(h.refreshOf(held.Refresh), "client_id", h.otherKeys.ClientID, "client_secret", h.otherKeys.ClientSecret)),
				400, "invalid_grant", "another client_id")
			again := h.post(h.refreshOf(held.Refresh))
			if !tt.repeats {
				h.refused(again, 400, "invalid_grant", "revoked")
				h.refused(h.post(h.refreshOf(got.Refresh)), 400, "invalid_grant", "revoked")
				if h.opens(got.Access) {
					t.Error("an access token of the family serves on")
				}
				return
			}
			if again.Body != first.Body {
				t.Errorf("repeated as %s, was %s", again.Body, first.Body)
			}
			if !h.opens(got.Access) {
				t.Error("the access token does not serve")
			}
			h.tokens(h.post(h.refreshOf(got.Refresh)))
		})
	}
}

// TestRefreshKeepsTheOldAccessToken: requests in progress keep working.
func TestRefreshKeepsTheOldAccessToken(t *testing.T) {
	h := newEndpoints(t)
	_, held := h.connect()
	h.tokens(h.post(h.refreshOf(held.Refresh)))
	if !h.opens(held.Access) {
		t.Error("a refresh ended the access token before its time")
	}
}

func TestRefreshRefused(t *testing.T) {
	h := newEndpoints(t)
	_, held := h.connect()
	for name, tt := range map[string]struct {
		change []string
		status int
		code   string
		words  string
	}{
		"no token":        {[]string{"refresh_token", "-"}, 400, "invalid_request", "refresh_token"},
		"unknown":         {[]string{"refresh_token", strings.Repeat("0", len(held.Refresh))}, 400, "invalid_grant", "not known"},
		"no token at all": {[]string{"refresh_token", "x\u00e9"}, 400, "invalid_grant", "not known"},
		"an access token": {[]string{"refresh_token", held.Access}, 400, "invalid_grant", "not known"},
		"capital letters": {[]string{"refresh_token", strings.ToUpper(held.Refresh)}, 400, "invalid_grant", "not known"},
		"wrong secret":    {[]string{"client_secret", "cs_wrong"}, 401, "invalid_client", "client_secret is not"},
		"another client":  {[]string{"client_id", h.otherKeys.ClientID, "client_secret", h.otherKeys.ClientSecret}, 400, "invalid_grant", "another"},
	} {
		t.Run(name, func(t *testing.T) {
			h.in(t).refused(h.in(t).post(changed(h.refreshOf(held.Refresh), tt.change...)), tt.status, tt.code, tt.words)
		})
	}
	if n := h.audited("oauth.foreign"); n != 1 {
		t.Errorf("there are %d audit entries of a token presented by another client, want 1", n)
	}
	held = h.tokens(h.post(h.refreshOf(held.Refresh)))
	h.clock.Advance(30 * 24 * time.Hour)
	h.refused(h.post(h.refreshOf(held.Refresh)), 400, "invalid_grant", "expired")
}

// TestNothingIsKeptInTheClear: the database has no plain codes, tokens or answers.
func TestNothingIsKeptInTheClear(t *testing.T) {
	h := newEndpoints(t)
	code := h.code(h.buy(h.ours))
	held := h.tokens(h.post(h.exchangeOf(code)))
	next := h.tokens(h.post(h.refreshOf(held.Refresh)))
	if n := h.Count(`SELECT count(*) FROM oauth_answers`); n != 1 {
		t.Fatalf("%d answers are kept, want 1", n)
	}
	if n := h.Count(`SELECT count(*) FROM oauth_tokens WHERE kind NOT IN (1, 2)`); n != 0 {
		t.Errorf("%d tokens have a kind that no other node knows", n)
	}
	for _, value := range []string{code, held.Access, held.Refresh, next.Access, next.Refresh, next.ID} {
		if n := h.Count(`SELECT count(*) FROM oauth_grants WHERE code_hash = $1`, value) +
			h.Count(`SELECT count(*) FROM oauth_tokens WHERE hash = $1`, value) +
			h.Count(`SELECT count(*) FROM oauth_answers WHERE hash = $1 OR answer LIKE $2`, value, "%"+value+"%"); n > 0 {
			t.Errorf("%q is in the database", value)
		}
	}
}
