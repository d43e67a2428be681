package devserver_test

import (
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"claviger/internal/devserver"
)

// control presses a button of the control page.
func (w *harness) control(t *testing.T, act string, form url.Values) answer {
	t.Helper()
	values := url.Values{"act": {act}}
	for name, value := range form {
		values[name] = value
	}
	return w.submit(t, "/dev/act", values)
}

// TestControlPage: each button changes a license as labelled, and the page shows its webhook.
func TestControlPage(t *testing.T) {
	lines := newTerminal()
	w := run(t, lines.short)
	w.open(t, "/dev/").has(t, 200, "Control page", "There is no license yet", "/portal/", "/console/", "/dev/mail/", "/dev/stripe/", "/dev/partner/", "/dev/gallery", "/docs/")
	page := w.control(t, "buy", url.Values{"tier": {"2"}})
	page.has(t, 200, "A license is sold.", "tier 2, inactive")
	key := page.url.Query().Get("license")
	of := func() (l struct {
		Status string
		Tier   int
	},
	) {
		w.ask(t, w.Partner.APIKey, "GET", "/v2/licenses/"+key, "", &l)
		return l
	}
	for _, c := range []struct{ act, status, event, says string }{
		{"redeem-other", "active", "activate", "active, of Sam Second"},
		{"hold", "deactivated", "deactivate", "on hold"},
		{"reinstate", "active", "activate", "reinstated"},
		{"release", "deactivated", "deactivate", "released"},
		{"redeem-other", "active", "activate", "redeemed"},
		{"plan", "active", "activate", "tier 3, active"},
		{"refund", "deactivated", "deactivate", "refunded"},
	} {
		before := strings.Count(lines.String(), "webhook "+c.event)
		w.control(t, c.act, url.Values{"license": {key}, "tier": {"3"}}).has(t, 200, c.says)
		if l := of(); l.Status != c.status {
			t.Fatalf("after %s the license is %+v, want %s", c.act, l, c.status)
		}
		lines.waitFor(t, fmt.Sprintf(`(?s:.*(webhook %s → 200.*){%d})`, c.event, before+1))
	}
	sent := strings.Count(lines.String(), "webhook deactivate")
	w.control(t, "redeliver", url.Values{"license": {key}}).has(t, 200, "sent again")
	lines.waitFor(t, fmt.Sprintf(`(?s:.*(webhook deactivate → 200.*){%d})`, sent+1))
	w.open(t, "/dev/").has(t, 200, "webhook deactivate → 200", "license …"+key[len(key)-4:])
}

// TestControlRefuses: the page shows refusals, and nothing changes.
func TestControlRefuses(t *testing.T) {
	w := run(t)
	key := w.control(t, "buy", url.Values{"tier": {"1"}}).url.Query().Get("license")
	w.control(t, "redeem", url.Values{"license": {key}}).has(t, 200, "of Bea Buyer")
	w.control(t, "redeem-other", url.Values{"license": {key}}).has(t, http.StatusForbidden, "This license belongs to another account", `<option value="`+key+`" selected>`)
	w.control(t, "buy", url.Values{"tier": {"9"}}).has(t, http.StatusNotFound, "Control page")
	w.control(t, "buy", url.Values{"tier": {"x"}}).has(t, http.StatusBadRequest, "tier must be a number")
	w.control(t, "burn", url.Values{"license": {key}}).has(t, http.StatusBadRequest, "There is no such act")
	w.control(t, "hold", url.Values{"license": {"none"}}).has(t, http.StatusNotFound, "There is no such license")
	foreign := http.Header{"Sec-Fetch-Site": {"cross-site"}, "Origin": {"https://evil.example"}}
	if a := w.send(t, "POST", "/dev/act", "application/x-www-form-urlencoded", "act=buy&tier=1", foreign); a.status != http.StatusForbidden {
		t.Errorf("another site's form is answered %d", a.status)
	}
	if n := len(regexp.MustCompile(`<option value="[0-9a-f-]{36}"`).FindAllString(w.open(t, "/dev/").text, -1)); n != 1 {
		t.Errorf("there are %d licenses, want 1", n)
	}
}

// TestControlWithoutStandIn: with a Stripe account there is no link to the page of payments.
func TestControlWithoutStandIn(t *testing.T) {
	w := run(t, func(cfg *devserver.Config) {
		cfg.App.Stripe.Key, cfg.App.Stripe.WebhookSecrets = "sk_test_1", []string{"whsec_1"}
	})
	if a := w.open(t, "/dev/"); a.status != 200 || strings.Contains(a.text, "/dev/stripe/") {
		t.Errorf("%d:\n%s", a.status, a.text)
	}
}
