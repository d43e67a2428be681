package devserver_test

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"claviger/internal/devserver"
	claviger "claviger/sdk/go"
)

// received is a webhook that an application received.
type received struct {
	Event  string `json:"event"`
	ID     string `json:"-"`
	Signed bool   `json:"-"`
}

// application is a partner's application that verifies webhooks and lists them.
type application struct {
	*httptest.Server

	mu     sync.Mutex
	secret string
	list   []received
	more   chan struct{}
}

func newApplication(t *testing.T) *application {
	t.Helper()
	a := &application{more: make(chan struct{}, 1)}
	a.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return
		}
		got := received{ID: r.Header.Get("Webhook-Id")}
		if err := json.Unmarshal(body, &got); err != nil {
			t.Error(err)
		}
		a.mu.Lock()
		defer a.mu.Unlock()
		if got.Signed = claviger.VerifyWebhook(a.secret, r.Header, body, time.Now()) == nil; !got.Signed {
			w.WriteHeader(http.StatusUnauthorized)
		}
		a.list = append(a.list, got)
		select {
		case a.more <- struct{}{}:
		default:
		}
	}))
	t.Cleanup(a.Close)
	return a
}

// knows gives the application the secret of the server's partner.
func (a *application) knows(w *harness) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.secret = w.Partner.WebhookSecret
}

// wait waits until n webhooks have arrived, and returns their events.
func (a *application) wait(t *testing.T, n int) []received {
	t.Helper()
	for end := time.After(time.Minute); ; { // only a failing test waits this long
		a.mu.Lock()
		list := append([]received{}, a.list...)
		a.mu.Unlock()
		if len(list) >= n {
			return list
		}
		select {
		case <-a.more:
		case <-end:
			t.Fatalf("%d webhooks arrived, want %d: %+v", len(list), n, list)
		}
	}
}

// runFaulty starts a server with active faults; its partner has the application.
func runFaulty(t *testing.T, lines *terminal, names ...string) (*harness, *application) {
	t.Helper()
	a := newApplication(t)
	w := run(t, lines.short, func(cfg *devserver.Config) {
		cfg.Webhook, cfg.App.Retry = a.URL, []time.Duration{time.Second, time.Second}
	})
	a.knows(w)
	w.submit(t, "/dev/faults", url.Values{"fault": names}).has(t, 200, "Faults are on", "Switch all off")
	return w, a
}

func events(list []received) []string {
	var all []string
	for _, r := range list {
		all = append(all, r.Event)
	}
	return all
}

// TestFaultsOfWebhooks: each fault reaches the application as described, and ends when it is turned
// off.
func TestFaultsOfWebhooks(t *testing.T) {
	t.Run("none", func(t *testing.T) {
		a, lines := newApplication(t), newTerminal()
		w := run(t, lines.short, func(cfg *devserver.Config) { cfg.Webhook = a.URL })
		a.knows(w)
		w.sell(t)
		if got := a.wait(t, 1); !got[0].Signed {
			t.Errorf("%+v", got)
		}
	})
	t.Run("drop", func(t *testing.T) {
		lines := newTerminal()
		w, a := runFaulty(t, lines, "drop")
		w.sell(t)
		lines.waitFor(t, at+`WARN webhook purchase → no answer .*attempt 1 of 3.*`)
		lines.waitFor(t, at+`webhook purchase → 200 .*attempt 2`)
		if got := a.wait(t, 1); len(got) != 1 || !got[0].Signed {
			t.Errorf("%+v", got)
		}
	})
	t.Run("duplicate", func(t *testing.T) {
		w, a := runFaulty(t, newTerminal(), "duplicate")
		w.sell(t)
		if got := a.wait(t, 2); got[0] != got[1] || !got[0].Signed || got[0].ID == "" {
			t.Errorf("%+v", got)
		}
	})
	t.Run("reorder", func(t *testing.T) {
		lines := newTerminal()
		w, a := runFaulty(t, lines, "reorder")
		key := w.control(t, "buy", url.Values{"tier": {"1"}}).url.Query().Get("license")
		lines.waitFor(t, at+`webhook purchase → 200 .*`)
		w.control(t, "redeem", url.Values{"license": {key}})
		if diff := cmp.Diff([]string{"activate", "purchase"}, events(a.wait(t, 2))); diff != "" {
			t.Error(diff)
		}
		w.control(t, "hold", url.Values{"license": {key}})
		lines.waitFor(t, at+`webhook deactivate → 200 .*`)
		w.submit(t, "/dev/faults", url.Values{"fault": {"off"}}).has(t, 200)
		if diff := cmp.Diff([]string{"activate", "purchase", "deactivate"}, events(a.wait(t, 3))); diff != "" {
			t.Error(diff)
		}
	})
	t.Run("wrong signature", func(t *testing.T) {
		lines := newTerminal()
		w, a := runFaulty(t, lines, "wrong-signature")
		w.sell(t)
		lines.waitFor(t, at+`WARN webhook purchase → 401 .*attempt 1 of 3.*`)
		w.submit(t, "/dev/faults", url.Values{"fault": {"off"}})
		lines.waitFor(t, at+`webhook purchase → 200 .*attempt \d`)
		if got := a.wait(t, 2); got[0].Signed || !got[len(got)-1].Signed {
			t.Errorf("%+v", got)
		}
	})
}

// TestFaultsReachOpenConnections: faults also apply to connections opened before they were turned
// on.
func TestFaultsReachOpenConnections(t *testing.T) {
	a, lines := newApplication(t), newTerminal()
	w := run(t, lines.short, func(cfg *devserver.Config) { cfg.Webhook = a.URL })
	a.knows(w)
	key := w.control(t, "buy", url.Values{"tier": {"1"}}).url.Query().Get("license")
	lines.waitFor(t, at+`webhook purchase → 200 .*`) // otherwise a running request would be cut off and sent again
	w.submit(t, "/dev/faults", url.Values{"fault": {"duplicate"}})
	w.control(t, "redeem", url.Values{"license": {key}})
	if diff := cmp.Diff([]string{"purchase", "activate", "activate"}, events(a.wait(t, 3))); diff != "" {
		t.Error(diff)
	}
}

// TestFaultsOfTheAPI: calls are refused like by the service, in its words.
func TestFaultsOfTheAPI(t *testing.T) {
	w := run(t)
	key := http.Header{"Authorization": {"Bearer " + w.Partner.APIKey}}
	t.Run("requests a minute", func(t *testing.T) {
		w.submit(t, "/dev/faults", url.Values{"fault-rate-limit": {"on"}}).has(t, 200, "20 requests a minute")
		if left := w.header(t, "/v2/licenses", "RateLimit-Remaining"); left != "19" {
			t.Errorf("RateLimit-Remaining is %q", left)
		}
		for range 19 {
			w.send(t, "GET", "/v2/licenses", "", "", key).has(t, 200)
		}
		w.send(t, "GET", "/v2/licenses", "", "", key).has(t, http.StatusTooManyRequests, "rate_limited", "20 a minute are allowed")
		w.submit(t, "/dev/faults", url.Values{"fault": {"off"}})
		w.send(t, "GET", "/v2/licenses", "", "", key).has(t, 200)
	})
	t.Run("slow answers", func(t *testing.T) {
		w.submit(t, "/dev/faults", url.Values{"fault": {"slow"}})
		begun := time.Now()
		w.open(t, "/dev/").has(t, 200)
		page := time.Since(begun)
		w.send(t, "GET", "/v2/licenses", "", "", key).has(t, 200)
		if call := time.Since(begun) - page; call < 3*time.Second {
			t.Errorf("the call was answered after %s", call)
		}
		w.submit(t, "/dev/faults", url.Values{"fault": {"off"}})
	})
	t.Run("expired tokens", func(t *testing.T) {
		tokens := w.tokens(t)
		w.submit(t, "/dev/faults", url.Values{"fault": {"expired-tokens"}})
		w.open(t, "/openid/license_key/?access_token="+tokens.Access).has(t, 401, `"error":"invalid_token"`, "The access token has expired. Get a new one by a refresh.")
		w.open(t, "/openid/license_key/?access_token=none").has(t, 401, "is not known")
		var next tokenAnswer
		again := w.submit(t, "/openid/token/", url.Values{
			"grant_type": {"refresh_token"}, "refresh_token": {tokens.Refresh}, "client_id": {w.Partner.ClientID}, "client_secret": {w.Partner.ClientSecret},
		})
		if err := json.Unmarshal([]byte(again.text), &next); err != nil || next.Access == "" {
			t.Fatalf("%d %s: %v", again.status, again.text, err)
		}
		w.open(t, "/openid/license_key/?access_token="+next.Access).has(t, 200, "license_key")
		w.submit(t, "/dev/faults", url.Values{"fault": {"off"}})
	})
}

// header returns a header of the answer to a partner's call.
func (w *harness) header(t *testing.T, path, name string) string {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, w.BaseURL+path, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+w.Partner.APIKey)
	resp, err := w.browser.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	_ = resp.Body.Close()
	return resp.Header.Get(name)
}

// TestFaultsForm: unknown faults are refused with a list of the known ones, forms of other sites
// always, and programs get JSON.
func TestFaultsForm(t *testing.T) {
	w := run(t)
	asJSON := http.Header{"Accept": {"application/json"}}
	w.send(t, "POST", "/dev/faults", "application/x-www-form-urlencoded", "fault=dup", asJSON).has(t, 400, "invalid_parameter", "there are slow, drop,")
	w.send(t, "POST", "/dev/faults", "application/x-www-form-urlencoded", "fault=drop&fault=slow", asJSON).has(t, 200, `{"on":["slow","drop"]}`)
	foreign := http.Header{"Sec-Fetch-Site": {"cross-site"}, "Origin": {"https://evil.example"}}
	w.send(t, "POST", "/dev/faults", "application/x-www-form-urlencoded", "fault=off", foreign).has(t, 403)
	page := w.open(t, "/dev/")
	page.has(t, 200, "Faults are on:", "Answer slowly, Drop webhooks")
	w.submit(t, "/dev/faults", url.Values{"fault": {"off"}})
	if page = w.open(t, "/dev/"); strings.Contains(page.text, "Faults are on") {
		t.Error("the banner is still there")
	}
	w.open(t, "/dev/faults").has(t, 200, `{"on":[]}`)
}

// TestFaultsBanner: the pages of dev show active faults, those of the marketplace do not.
func TestFaultsBanner(t *testing.T) {
	lines := newTerminal()
	w := run(t, lines.short)
	w.submit(t, "/sign-in/send", url.Values{"email": {w.Buyer.Email}}).has(t, 200)
	one := regexp.MustCompile(`/dev/mail/\d+`).FindString(lines.waitFor(t, at+`mail ".*   /dev/mail/\d+`))
	for _, fault := range []string{"off", "duplicate"} {
		w.submit(t, "/dev/faults", url.Values{"fault": {fault}}).has(t, 200)
		for path, dev := range map[string]bool{"/dev/": true, "/dev/partner/": true, "/dev/mail/": true, one: true, "/": false, "/sign-in": false} {
			page := w.open(t, path)
			page.has(t, 200)
			if says := strings.Contains(page.text, "Faults are on:"); says != (dev && fault != "off") {
				t.Errorf("%s, fault %s: the banner is there: %t", path, fault, says)
			}
		}
	}
	w.open(t, "/dev/partner/").has(t, 200, "Faults are on: Duplicate webhooks")
}
