package devserver_test

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"claviger/internal/devserver"
	claviger "claviger/sdk/go"
)

// ahead returns the offset of a server's clock.
func (w *harness) ahead(t *testing.T) string {
	t.Helper()
	var at struct {
		Now   time.Time
		Ahead string
	}
	if err := json.Unmarshal([]byte(w.open(t, "/dev/time").text), &at); err != nil {
		t.Fatal(err)
	}
	return at.Ahead
}

// TestTimeMovesForward: the clock moves forward, never back, also at the next start on the same
// database.
func TestTimeMovesForward(t *testing.T) {
	w := run(t)
	w.submit(t, "/dev/time", url.Values{"by": {"+1h"}}).has(t, 200, "Time has moved", "1h0m0s ahead of this machine")
	for _, by := range []string{"-1h", "0s", "soon", "", "99999999h", "1000000d"} {
		if a := w.submit(t, "/dev/time", url.Values{"by": {by}}); a.status < 400 || a.status > 499 {
			t.Errorf("%q is answered %d", by, a.status)
		}
	}
	json := http.Header{"Accept": {"application/json"}}
	w.send(t, "POST", "/dev/time", "application/x-www-form-urlencoded", "by=-1h", json).has(t, 422, `"error":"time_moves_forward"`)
	w.send(t, "POST", "/dev/time", "application/x-www-form-urlencoded", "by=2d", json).has(t, 200, `"ahead":"49h0m0s"`)
	foreign := http.Header{"Sec-Fetch-Site": {"cross-site"}, "Origin": {"https://evil.example"}}
	w.send(t, "POST", "/dev/time", "application/x-www-form-urlencoded", "by=1h", foreign).has(t, http.StatusForbidden)
	if got := w.ahead(t); got != "49h0m0s" {
		t.Errorf("the clock is %s ahead", got)
	}
	w.sell(t)
	w.stop()
	if got := run(t, func(cfg *devserver.Config) { cfg.App.DB = w.db }).ahead(t); got != "49h0m0s" {
		t.Errorf("after a restart the clock is %s ahead", got)
	}
}

// TestTimeReaches: tokens expire and failed webhooks are retried as time advances, and webhooks are
// signed with a time that applications accept.
func TestTimeReaches(t *testing.T) {
	var refused, accepted atomic.Int64
	var secret atomic.Value
	application := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil || claviger.VerifyWebhook(secret.Load().(string), r.Header, body, time.Now()) != nil {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		if refused.Add(1) == 1 {
			w.WriteHeader(http.StatusInternalServerError)
			return
		}
		accepted.Add(1)
	}))
	t.Cleanup(application.Close)
	lines := newTerminal()
	w := run(t, lines.short, func(cfg *devserver.Config) {
		cfg.Webhook, cfg.App.Retry = application.URL, []time.Duration{30 * time.Minute}
	})
	secret.Store(w.Partner.WebhookSecret)
	l := w.sell(t)
	lines.waitFor(t, at+`WARN webhook purchase → 500 .*`)

	w.submit(t, l.Redeem, nil).has(t, 200, "Connect Sample App?")
	a := w.submit(t, strings.Replace(l.Redeem, "/redeem/", "/consent", 1), url.Values{"decision": {"allow"}})
	a.has(t, 200, "Welcome to Sample App")
	w.submit(t, "/dev/time", url.Values{"by": {"1h"}}).has(t, 200)
	lines.waitFor(t, at+`webhook purchase → 200 .*attempt 2`)
	if accepted.Load() == 0 {
		t.Error("no webhook was accepted")
	}
}

// TestTimeExpiresTokens: an access token is valid for an hour of the service's time.
func TestTimeExpiresTokens(t *testing.T) {
	w := run(t)
	token := w.tokens(t).Access
	w.open(t, "/openid/license_key/?access_token="+token).has(t, 200, "license_key")
	w.submit(t, "/dev/time", url.Values{"by": {"61m"}}).has(t, 200)
	w.open(t, "/openid/license_key/?access_token="+token).has(t, http.StatusUnauthorized, "invalid_token")
}

// tokenAnswer is the answer to an exchanged code.
type tokenAnswer struct {
	Access  string `json:"access_token"`
	Refresh string `json:"refresh_token"`
}

// tokens connects the buyer's license and returns tokens for it.
func (w *harness) tokens(t *testing.T) tokenAnswer {
	t.Helper()
	l := w.sell(t)
	w.submit(t, l.Redeem, nil).has(t, 200, "Connect Sample App?")
	browser := *w.browser
	browser.CheckRedirect = func(r *http.Request, _ []*http.Request) error {
		if r.URL.Query().Has("code") {
			return http.ErrUseLastResponse // the sample would exchange it
		}
		return nil
	}
	resp, err := browser.PostForm(strings.Replace(l.Redeem, "/redeem/", "/consent", 1), url.Values{"decision": {"allow"}}) //nolint:noctx // of a test
	if err != nil {
		t.Fatal(err)
	}
	page, err := io.ReadAll(resp.Body)
	if err != nil || resp.Body.Close() != nil {
		t.Fatal(err)
	}
	// If the webhook is slow, a page replaces the redirect.
	code := regexp.MustCompile(`[?&;]code=([^&"]+)`).FindStringSubmatch(resp.Header.Get("Location") + string(page))
	if code == nil {
		t.Fatalf("consent leads nowhere: %d %s", resp.StatusCode, page)
	}
	var tokens tokenAnswer
	exchanged := w.submit(t, "/openid/token/", url.Values{
		"grant_type": {"authorization_code"}, "code": {code[1]}, "redirect_uri": {w.BaseURL + "/dev/partner/callback"},
		"client_id": {w.Partner.ClientID}, "client_secret": {w.Partner.ClientSecret},
	})
	if err := json.Unmarshal([]byte(exchanged.text), &tokens); err != nil || tokens.Access == "" {
		t.Fatalf("%d %s: %v", exchanged.status, exchanged.text, err)
	}
	return tokens
}
