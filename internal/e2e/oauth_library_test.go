package e2e_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"github.com/google/go-cmp/cmp"
	"golang.org/x/oauth2"

	"claviger/internal/devserver"
)

// signsWith sets the signing algorithm of the partner's identity tokens, as its developers do.
func (a *application) signsWith(alg string) {
	a.Helper()
	caller{base: a.card.BaseURL, token: a.card.Partner.APIKey}.must(a, 200, "PATCH", "/v2/profile", object{"id_token_alg": alg})
}

// TestOpenIDLibraries runs the whole flow with go-oidc and x/oauth2, which find everything by
// discovery.
func TestOpenIDLibraries(t *testing.T) {
	t.Parallel()
	whole := newApplication(t, devNode(t, nil))
	key := whole.sells("order-1")
	for _, tt := range []struct {
		name, alg string
		style     oauth2.AuthStyle
	}{
		{"RS256, secret in the body", "RS256", oauth2.AuthStyleInParams},
		{"RS256, secret by Basic", "RS256", oauth2.AuthStyleInHeader},
		{"ES256, secret in the body", "ES256", oauth2.AuthStyleInParams},
		{"ES256, secret by Basic", "ES256", oauth2.AuthStyleInHeader},
		{"ES256, the library tries", "ES256", oauth2.AuthStyleAutoDetect},
	} {
		t.Run(tt.name, func(t *testing.T) {
			a := whole.in(t)
			a.signsWith(tt.alg)
			ctx := oidc.ClientContext(t.Context(), a.client)
			provider, err := oidc.NewProvider(ctx, a.card.AuthURL)
			if err != nil {
				t.Fatal(err)
			}
			config := oauth2.Config{
				ClientID: a.card.Partner.ClientID, ClientSecret: a.card.Partner.ClientSecret, Endpoint: provider.Endpoint(),
				RedirectURL: a.redirect, Scopes: []string{oidc.ScopeOpenID},
			}
			config.Endpoint.AuthStyle = tt.style
			pkce := oauth2.GenerateVerifier()
			start := config.AuthCodeURL("the state", oauth2.S256ChallengeOption(pkce), oidc.Nonce("n-1"))
			back := a.visitor().connects(start, a.redirect)
			held, err := config.Exchange(ctx, a.code(back), oauth2.VerifierOption(pkce))
			if err != nil {
				t.Fatal(err)
			}
			raw, _ := held.Extra("id_token").(string)
			id, err := provider.Verifier(&oidc.Config{ClientID: config.ClientID, SupportedSigningAlgs: []string{tt.alg}}).Verify(ctx, raw)
			if err != nil {
				t.Fatal(err)
			}
			if err := id.VerifyAccessToken(held.AccessToken); err != nil || id.Nonce != "n-1" {
				t.Errorf("the identity token has the nonce %q; of the access token: %v", id.Nonce, err)
			}
			user, err := provider.UserInfo(ctx, oauth2.StaticTokenSource(held))
			if err != nil || user.Subject != id.Subject {
				t.Fatalf("userinfo tells %+v, %v", user, err)
			}
			held.Expiry = time.Unix(1, 0)
			next, err := config.TokenSource(ctx, held).Token()
			if err != nil || next.RefreshToken == held.RefreshToken {
				t.Fatalf("the refresh: %v", err)
			}
			if got, status := a.opens(next.AccessToken); got != key {
				t.Errorf("the refreshed token opens %q (%d)", got, status)
			}
		})
	}
}

// TestJSONClient connects like partners' own programs: JSON, at the addresses of the specification,
// without state and library, with a query in the redirect URL. The buyer starts at the marketplace.
func TestJSONClient(t *testing.T) {
	t.Parallel()
	const saved = "http://127.0.0.1:9/back?partner=x"
	a := newApplication(t, devNode(t, func(c *devserver.Config) { c.Redirect = saved }))
	key := a.sells("order-1")
	v := a.visitor()
	line := read[licenseLine](t, caller{base: a.card.BaseURL, token: a.card.Partner.APIKey}.must(t, 200, "GET", "/v2/licenses/"+key, nil))
	back := v.connects(line.RedeemURL, saved)
	code := back.Query().Get("code")
	if want := saved + "&code=" + code + "&iss=" + url.QueryEscape(a.card.AuthURL); code == "" || back.String() != want {
		t.Fatalf("the buyer comes to %s, want %s", back, want)
	}
	exchange := asObject(a.exchangeOf(code))
	got := a.ask("POST", "/openid/token/", exchange)
	if held := a.given(got); held.Error == nil || *held.Error != "" {
		t.Errorf("the answer has no empty error member: %s", got.body)
	} else if opened, status := a.opens(held.Access); opened != key {
		t.Errorf("the token opens %q (%d)", opened, status)
	} else {
		next := a.given(a.ask("POST", "/openid/token/", asObject(a.refreshOf(held.Refresh))))
		again := a.given(a.ask("POST", "/openid/token/", asObject(a.refreshOf(held.Refresh))))
		if next != again {
			t.Errorf("a refresh whose answer was lost is answered otherwise the second time")
		}
	}
	a.denied(a.ask("POST", "/openid/token/", exchange), 400, "invalid_grant")

	// One vendor's sample sends a form labelled as JSON.
	back = v.connects(line.RedeemURL, saved)
	mislabelled := a.exchangeOf(back.Query().Get("code"))
	a.given(a.ask("POST", "/openid/token/", mislabelled, "Content-Type", "application/json"))
}

// TestNoRedirects: no address of the connection redirects, with or without a trailing slash; some
// clients treat a redirect as an error.
func TestNoRedirects(t *testing.T) {
	t.Parallel()
	a := newApplication(t, devNode(t, nil))
	a.sells("order-1")
	held := a.gets(a.exchangeOf(a.code(a.visitor().connects(a.start(), a.redirect))))
	own := func(pairs ...string) url.Values {
		return altered(a.refreshOf(held.Refresh, "grant_type", "", "refresh_token", ""), pairs)
	}
	for _, tt := range []struct {
		method, path string
		body         any
		headers      []string
	}{
		{"POST", "/openid/token", a.refreshOf(held.Refresh), nil},
		{"POST", "/openid/oauth2/token", a.refreshOf(held.Refresh), nil},
		{"GET", "/openid/license_key", nil, bearer(held.Access)},
		{"GET", "/openid/userinfo", nil, bearer(held.Access)},
		{"POST", "/openid/userinfo", nil, bearer(held.Access)},
		{"POST", "/openid/introspect", own("token", held.Access), nil},
		{"POST", "/openid/revoke", own("token", "unknown"), nil},
		{"GET", "/openid/jwks", nil, nil},
		{"GET", "/openid/.well-known/openid-configuration", nil, nil},
		{"GET", "/.well-known/openid-configuration", nil, nil},
		{"GET", "/.well-known/oauth-authorization-server", nil, nil},
		{"GET", "/openid/openapi.json", nil, nil},
	} {
		t.Run(tt.method+" "+tt.path, func(t *testing.T) {
			a := a.in(t)
			bare, slash := a.ask(tt.method, tt.path, tt.body, tt.headers...), a.ask(tt.method, tt.path+"/", tt.body, tt.headers...)
			if bare.status != http.StatusOK || slash.status != http.StatusOK || string(bare.body) != string(slash.body) {
				t.Errorf("answered %d %s\nand with a slash %d %s", bare.status, bare.body, slash.status, slash.body)
			}
		})
	}
	for _, path := range []string{"/openid/authorize", "/openid/authorize/"} {
		s := a.visitor().open(a.card.BaseURL + path + "?" + a.request().Encode())
		if s.status != http.StatusSeeOther || !strings.HasPrefix(s.to, a.card.BaseURL+"/sign-in?") {
			t.Errorf("%s answered %d, to %q; want the way to the sign-in at once", path, s.status, s.to)
		}
	}
}

// TestDiscovery: every discovered address exists, and all discovery documents are equal.
func TestDiscovery(t *testing.T) {
	t.Parallel()
	a := newApplication(t, devNode(t, nil))
	first := a.ask("GET", "/.well-known/openid-configuration", nil)
	for _, path := range []string{"/openid/.well-known/openid-configuration", "/.well-known/oauth-authorization-server"} {
		if diff := cmp.Diff(string(first.body), string(a.ask("GET", path, nil).body)); diff != "" {
			t.Errorf("%s tells something else (-want +got):\n%s", path, diff)
		}
	}
	said := read[map[string]any](t, first)
	if said["issuer"] != a.card.AuthURL {
		t.Errorf("the issuer is %v, want %s", said["issuer"], a.card.AuthURL)
	}
	a.client = http.DefaultClient // the authorization endpoint is an undescribed page
	for name, value := range said {
		if !strings.HasSuffix(name, "_endpoint") && name != "jwks_uri" {
			continue
		}
		path, ours := strings.CutPrefix(value.(string), a.card.AuthURL)
		if status := a.ask("OPTIONS", path, nil).status; !ours || status != http.StatusMethodNotAllowed {
			t.Errorf("%s is %s, which answers %d", name, value, status)
		}
	}
}

// TestStateComesBack: an application's state comes back byte for byte, also through sign-in and
// consent, however long and strange it is.
func TestStateComesBack(t *testing.T) {
	t.Parallel()
	a := newApplication(t, devNode(t, nil))
	a.sells("order-1")
	for name, state := range map[string]string{
		"JSON in base64": `eyJyZXR1cm4iOiIvIn0=`, "a query": "a=b&c=d+e%20f#g", "no ASCII": "日本語 ñ 🎈", "markup": `"><script>alert(1)</script>`,
		"as long as can be": strings.Repeat("s", 2000), "all of it escaped": strings.Repeat("ü", 1000),
	} {
		t.Run(name, func(t *testing.T) {
			a := a.in(t)
			v := a.visitor()
			back := v.connects(a.start("state", state, "prompt", "consent"), a.redirect)
			if got := back.Query().Get("state"); got != state || back.Query().Get("code") == "" {
				t.Errorf("the answer is %s", back)
			}
			if diff := cmp.Diff([]string{signsIn, consents}, v.steps); diff != "" {
				t.Errorf("the buyer was asked (-want +got):\n%s", diff)
			}
		})
	}
}
