package oauth_test

import (
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/oauth2"

	"claviger/internal/profile"
)

// TestOpenIDLibrary: go-oidc finds everything by discovery and accepts the answers.
func TestOpenIDLibrary(t *testing.T) {
	h := newEndpoints(t)
	h.Issuer = h.url
	for _, alg := range []string{profile.RS256, profile.ES256} {
		t.Run(alg, func(t *testing.T) {
			h := h.in(t)
			_, _, err := h.Profiles.Connect(t.Context(), theOperator, h.ours.ID, profile.Connection{IDTokenAlg: &alg})
			h.Must(err)
			ctx := oidc.ClientContext(t.Context(), h.client)
			provider, err := oidc.NewProvider(ctx, h.Issuer)
			h.Must(err)
			config := oauth2.Config{
				ClientID: h.keys.ClientID, ClientSecret: h.keys.ClientSecret, Endpoint: provider.Endpoint(),
				RedirectURL: redirectURL, Scopes: []string{oidc.ScopeOpenID},
			}
			verifier := oauth2.GenerateVerifier()
			start, err := url.Parse(config.AuthCodeURL("state", oauth2.S256ChallengeOption(verifier), oidc.Nonce("n-1")))
			h.Must(err)
			l := h.buy(h.ours)
			held, err := config.Exchange(ctx, h.asked(l, start.Query()), oauth2.VerifierOption(verifier))
			h.Must(err)

			raw, _ := held.Extra("id_token").(string)
			id, err := provider.Verifier(&oidc.Config{ClientID: h.keys.ClientID, Now: h.clock.Now}).Verify(ctx, raw)
			h.Must(err)
			if id.Nonce != "n-1" {
				t.Errorf("the nonce is %q", id.Nonce)
			}
			h.Must(id.VerifyAccessToken(held.AccessToken))
			user, err := provider.UserInfo(ctx, oauth2.StaticTokenSource(held))
			h.Must(err)
			var said struct {
				LicenseKey string `json:"license_key"`
			}
			h.Must(user.Claims(&said))
			if user.Subject != id.Subject || said.LicenseKey != l.Key {
				t.Errorf("userinfo tells %s and %s, want %s and %s", user.Subject, said.LicenseKey, id.Subject, l.Key)
			}

			held.Expiry = time.Unix(1, 0)
			next, err := config.TokenSource(ctx, held).Token()
			h.Must(err)
			if next.AccessToken == held.AccessToken || next.RefreshToken == held.RefreshToken || !h.opens(next.AccessToken) {
				t.Error("the refresh gave nothing new that serves")
			}
		})
	}
}

// TestOAuthLibrary: x/oauth2 works at the specification's endpoint with its error member, with each
// authentication method.
func TestOAuthLibrary(t *testing.T) {
	h := newEndpoints(t)
	for name, style := range map[string]oauth2.AuthStyle{
		"in the body": oauth2.AuthStyleInParams, "by Basic": oauth2.AuthStyleInHeader, "by trying": oauth2.AuthStyleAutoDetect,
	} {
		t.Run(name, func(t *testing.T) {
			h := h.in(t)
			ctx := oidc.ClientContext(t.Context(), h.client)
			config := oauth2.Config{
				ClientID: h.keys.ClientID, ClientSecret: h.keys.ClientSecret, RedirectURL: redirectURL,
				Endpoint: oauth2.Endpoint{TokenURL: h.url + "/openid/token/", AuthStyle: style},
			}
			held, err := config.Exchange(ctx, h.code(h.buy(h.ours)))
			h.Must(err)
			if !h.opens(held.AccessToken) {
				t.Error("the access token does not serve")
			}
			_, err = config.Exchange(ctx, "no-such-code")
			if err == nil || !strings.Contains(err.Error(), "invalid_grant") {
				t.Errorf("a wrong code: %v", err)
			}
		})
	}
}
