package oauth_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"regexp"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/google/go-cmp/cmp"

	"claviger/internal/oauth"
	"claviger/internal/wire"
)

// get requests a path of the server and decodes its JSON.
func (w *harness) get(path string, into any) http.Header {
	w.Helper()
	answer := httptest.NewRecorder()
	wire.NewMux(w.Routes()...).ServeHTTP(answer, httptest.NewRequestWithContext(w.Context(), http.MethodGet, path, nil))
	if err := json.Unmarshal(answer.Body.Bytes(), into); err != nil || answer.Code != http.StatusOK {
		w.Fatalf("%s answers %d %s, %v", path, answer.Code, answer.Body, err)
	}
	return answer.Header()
}

// verified returns the body of a token, verified with the published keys.
func (w *harness) verified(token string, alg oauth.Alg) map[string]any {
	w.Helper()
	var set jose.JSONWebKeySet
	w.get("/openid/jwks", &set)
	parsed, err := jose.ParseSigned(token, []jose.SignatureAlgorithm{jose.SignatureAlgorithm(alg)})
	if err != nil {
		w.Fatal(err)
	}
	header := parsed.Signatures[0].Protected
	keys := set.Key(header.KeyID)
	if len(keys) != 1 || keys[0].Algorithm != string(alg) || header.ExtraHeaders[jose.HeaderType] != "JWT" {
		w.Fatalf("keys %+v for a token with the header %+v", keys, header)
	}
	body, err := parsed.Verify(keys[0])
	if err != nil {
		w.Fatal(err)
	}
	var claims map[string]any
	if err := json.Unmarshal(body, &claims); err != nil {
		w.Fatal(err)
	}
	return claims
}

func TestIDToken(t *testing.T) {
	w := newHarness(t)
	p, user := w.enrol(home), w.user("ann")
	_, l := w.accepted(w.market(p), user.ID, w.buy(p))
	for _, alg := range []oauth.Alg{oauth.RS256, oauth.ES256} {
		// The access token and its hash come from an example in OpenID Connect Core.
		token, err := w.IDToken(t.Context(), oauth.Claims{
			Partner: p, Alg: alg, UserID: user.ID, License: l, Nonce: "n1", AuthTime: noon.Add(-time.Minute), Now: noon,
			AccessToken: "jHkWEdUXMU1BwAsC4vtUsZwnNvTIxEl0z9K3vx5KF0Y",
		})
		if err != nil {
			t.Fatal(err)
		}
		got := w.verified(token, alg)
		sub, _ := got["sub"].(string)
		if !regexp.MustCompile(`^[0-9a-f]{64}$`).MatchString(sub) {
			t.Errorf("sub is %q", sub)
		}
		want := map[string]any{
			"iss": "https://licenses.example", "sub": sub, "aud": p.ClientID,
			"iat": float64(noon.Unix()), "exp": float64(noon.Unix() + 3600), "auth_time": float64(noon.Unix() - 60), "nonce": "n1",
			"at_hash": "77QmUPtjPfzWtF2AnpK9RQ", "license_key": l.Key, "tier": 1.0, "license_status": "active",
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("claims by %s (-want +got):\n%s", alg, diff)
		}
	}
	token, err := w.IDToken(t.Context(), oauth.Claims{Partner: p, Alg: oauth.ES256, UserID: user.ID, License: l, Now: noon, AccessToken: "x"})
	if err != nil {
		t.Fatal(err)
	}
	got := w.verified(token, oauth.ES256)
	for _, name := range []string{"nonce", "auth_time"} {
		if v, ok := got[name]; ok {
			t.Errorf("%s is %v, though there was none", name, v)
		}
	}
}

// TestSubject: a user's subject is constant for a partner and differs between partners.
func TestSubject(t *testing.T) {
	w := newHarness(t)
	p, other := w.enrol(home), w.enrol(home)
	seen := map[any]string{}
	for _, c := range []struct {
		name    string
		user    int64
		partner int64
	}{{"user 1 to Acme", 1, p.ID}, {"user 2 to Acme", 2, p.ID}, {"user 1 to the other", 1, other.ID}, {"user 21 to Acme", 21, p.ID}} {
		from := p
		if c.partner == other.ID {
			from = other
		}
		var subs []any
		for range 2 {
			token, err := w.IDToken(t.Context(), oauth.Claims{Partner: from, Alg: oauth.ES256, UserID: c.user, License: w.buy(p), Now: noon, AccessToken: "x"})
			if err != nil {
				t.Fatal(err)
			}
			subs = append(subs, w.verified(token, oauth.ES256)["sub"])
		}
		if subs[0] != subs[1] {
			t.Errorf("%s is %v and %v", c.name, subs[0], subs[1])
		}
		if same := seen[subs[0]]; same != "" {
			t.Errorf("%s is the same as %s", c.name, same)
		}
		seen[subs[0]] = c.name
	}
}

func TestDiscovery(t *testing.T) {
	w := newHarness(t)
	var first map[string]any
	for _, path := range []string{
		"/.well-known/openid-configuration", "/openid/.well-known/openid-configuration", "/.well-known/oauth-authorization-server",
	} {
		var got map[string]any
		shared(t, w.get(path, &got))
		if first == nil {
			first = got
		}
		if diff := cmp.Diff(first, got); diff != "" {
			t.Errorf("%s differs:\n%s", path, diff)
		}
	}
	var some []any
	for _, name := range []string{
		"issuer", "authorization_endpoint", "token_endpoint", "jwks_uri", "request_uri_parameter_supported",
		"authorization_response_iss_parameter_supported",
	} {
		some = append(some, first[name])
	}
	want := []any{
		"https://licenses.example", "https://licenses.example/openid/authorize", "https://licenses.example/openid/oauth2/token",
		"https://licenses.example/openid/jwks", false, true,
	}
	if diff := cmp.Diff(want, some); diff != "" {
		t.Errorf("metadata (-want +got):\n%s", diff)
	}
	// Discovery lists exactly the claims of a token.
	token, err := w.IDToken(t.Context(), oauth.Claims{
		Partner: w.enrol(home), Alg: oauth.ES256, UserID: 1, License: w.buy(w.enrol(home)), Nonce: "n", AuthTime: noon, Now: noon, AccessToken: "x",
	})
	if err != nil {
		t.Fatal(err)
	}
	claims := w.verified(token, oauth.ES256)
	told, _ := first["claims_supported"].([]any)
	for _, name := range told {
		if _, ok := claims[name.(string)]; !ok {
			t.Errorf("%s is told and not in a token", name)
		}
	}
	if len(told) != len(claims) {
		t.Errorf("%d claims are told, a token has %d", len(told), len(claims))
	}
}

// shared checks that an answer may be read by every site and cached.
func shared(t *testing.T, h http.Header) {
	t.Helper()
	if h.Get("Cache-Control") != "public, max-age=3600" || h.Get("Access-Control-Allow-Origin") != "*" || h.Get("Access-Control-Allow-Credentials") != "" {
		t.Errorf("headers %v", h)
	}
}

// TestJWKS: the published keys are public ones.
func TestJWKS(t *testing.T) {
	w := newHarness(t)
	var set struct{ Keys []map[string]any }
	shared(t, w.get("/openid/jwks", &set))
	var got []map[string]any
	for _, key := range set.Keys {
		about := map[string]any{"members": len(key)}
		for _, name := range []string{"kty", "alg", "use", "crv", "e"} {
			about[name] = key[name]
		}
		got = append(got, about)
	}
	rs := map[string]any{"members": 6, "kty": "RSA", "alg": "RS256", "use": "sig", "crv": nil, "e": "AQAB"}
	es := map[string]any{"members": 7, "kty": "EC", "alg": "ES256", "use": "sig", "crv": "P-256", "e": nil}
	if diff := cmp.Diff([]map[string]any{rs, es, rs, es}, got); diff != "" {
		t.Errorf("published (-want +got):\n%s", diff)
	}
}
