package requestlog_test

import (
	"crypto/sha256"
	"encoding/base64"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"claviger/internal/apptest"
	"claviger/internal/license"
	"claviger/internal/partner"
	"claviger/internal/profile"
	"claviger/internal/requestlog"
)

// given contains the tokens of a connection.
type given struct {
	Access  string `json:"access_token"`
	Refresh string `json:"refresh_token"`
}

// tokens connects a new license of our partner and exchanges its code.
func (h *service) tokens() (license.License, given) {
	h.Helper()
	l, code := h.code(h.ours)
	var g given
	h.token("code", code).Into(h, &g)
	return l, g
}

// tried sends a call that is refused, and checks its log entry.
func (h *service) tried(cause, license string, send func() apptest.Answer) (requestlog.Entry, apptest.Answer) {
	h.Helper()
	answer := send()
	got := h.newest()
	if got.Cause != cause || got.License != license || got.Status != answer.Status || got.Code != answer.Code() || got.RequestID != answer.Header.Get("X-Request-Id") {
		h.Errorf("%s of %q: stored %+v of the answer %d %s", cause, license, got, answer.Status, answer.Body)
	}
	return got, answer
}

// TestCausesOfTokens: the log names the error in a verifier, a refresh token or an access token,
// and the license.
func TestCausesOfTokens(t *testing.T) {
	h := startService(t)
	verifier := strings.Repeat("v", 43)
	sum := sha256.Sum256([]byte(verifier))
	challenged, withChallenge := h.code(h.ours, base64.RawURLEncoding.EncodeToString(sum[:]))
	plain, withoutChallenge := h.code(h.ours)
	revoked, revokedTokens := h.tokens()
	form := url.Values{"token": {revokedTokens.Refresh}, "client_id": {h.keys.ClientID}, "client_secret": {h.keys.ClientSecret}}
	if a := h.call("POST", "/openid/revoke", form.Encode(), "Content-Type: application/x-www-form-urlencoded"); a.Status != http.StatusOK {
		t.Fatalf("revoke: %d %s", a.Status, a.Body)
	}
	ended, endedTokens := h.tokens()
	_, err := h.Licenses.Release(t.Context(), apptest.Tester, ended.Key)
	h.Must(err)
	used, usedTokens := h.tokens()
	h.token("grant_type", "refresh_token", "refresh_token", usedTokens.Refresh)
	expiring, expiringTokens := h.tokens()
	moved, old := h.code(h.ours)
	after := func(d time.Duration, send func() apptest.Answer) func() apptest.Answer {
		return func() apptest.Answer { h.clock.Advance(d); return send() }
	}
	exchange := func(code string, pairs ...string) func() apptest.Answer {
		return func() apptest.Answer { return h.token(append([]string{"code", code}, pairs...)...) }
	}
	refresh := func(token string) func() apptest.Answer {
		return func() apptest.Answer { return h.token("grant_type", "refresh_token", "refresh_token", token) }
	}
	read := func(token string) func() apptest.Answer {
		return func() apptest.Answer { return h.call("GET", "/openid/license_key?access_token="+token, "") }
	}
	for _, c := range []struct {
		cause, license string
		send           func() apptest.Answer
	}{
		{"code_verifier_missing", challenged.Key, exchange(withChallenge)},
		{"code_verifier_mismatch", challenged.Key, exchange(withChallenge, "code_verifier", strings.Repeat("w", 43))},
		{"code_verifier_unexpected", plain.Key, exchange(withoutChallenge, "code_verifier", verifier)},
		{"redirect_url_changed", moved.Key, func() apptest.Answer {
			_, _, _, err := h.Profiles.Amend(t.Context(), apptest.Tester, h.ours.ID, partner.Change{}, profile.URLChange{Redirect: new(string)}, false)
			h.Must(err)
			return exchange(old)()
		}},
		{"refresh_token_revoked", revoked.Key, refresh(revokedTokens.Refresh)},
		{"access_token_revoked", revoked.Key, read(revokedTokens.Access)},
		{"connection_ended", ended.Key, refresh(endedTokens.Refresh)},
		{"connection_ended", ended.Key, read(endedTokens.Access)},
		{"refresh_token_used", used.Key, after(time.Minute, refresh(usedTokens.Refresh))},
		{"access_token_expired", expiring.Key, after(h.OAuth.Life.Access, read(expiringTokens.Access))},
		{"refresh_token_expired", expiring.Key, after(h.OAuth.Life.Refresh, refresh(expiringTokens.Refresh))},
	} {
		h.tried(c.cause, c.license, c.send)
	}
	// Another partner's token is stored for the sender, without the license.
	h.ours, h.keys = h.other, h.theirs
	h.tried("refresh_token_of_another_client", "", refresh(expiringTokens.Refresh))
}
