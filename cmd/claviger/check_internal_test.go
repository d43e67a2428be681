package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"claviger/internal/app"
	"claviger/internal/apptest"
	"claviger/internal/courier"
	"claviger/internal/devserver"
	"claviger/internal/diagnose"
	"claviger/internal/scenario"
	claviger "claviger/sdk/go"
	"claviger/sdk/go/operator"
)

const sampleSecret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSwZ2tJ4cD1xY8="

// sampleApp is a partner's application. Its fields are mistakes; the zero value makes none.
type sampleApp struct {
	acceptsAnything bool
	bodyOnly        bool // also accepts a signature over the body alone
	redirects       bool // sends posts and visitors to another path
	failsOnKnown    bool // answers 500 to a repeated event
	failsOnUnknown  bool // answers 500 to an unknown license
	failsOnCode     bool // answers 500 to a code that the token endpoint refuses

	secret   string          // "": sampleSecret
	down     atomic.Bool     // it answers 503 to everything
	service  *devserver.Card // where it exchanges codes; nil: it refuses all
	lock     sync.Mutex
	licenses map[string]int64
}

func (a *sampleApp) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if a.down.Load() {
		w.WriteHeader(http.StatusServiceUnavailable)
		return
	}
	if a.redirects && !strings.HasSuffix(r.URL.Path, "/") {
		http.Redirect(w, r, r.URL.Path+"/", http.StatusMovedPermanently)
		return
	}
	if r.Method == http.MethodGet {
		w.WriteHeader(a.callback(r))
		return
	}
	body, _ := io.ReadAll(r.Body)
	status := a.webhook(r.Header, body)
	w.WriteHeader(status)
	_, _ = io.WriteString(w, `{"success":`+strconv.FormatBool(status == http.StatusOK)+`}`)
}

func (a *sampleApp) webhook(h http.Header, body []byte) int {
	var e claviger.WebhookBody
	_ = json.Unmarshal(body, &e)
	if !a.acceptsAnything && claviger.VerifyWebhook(cmp.Or(a.secret, sampleSecret), h, body, time.Now()) != nil && (!a.bodyOnly || !a.signedBody(h, body)) {
		return http.StatusUnauthorized
	}
	a.lock.Lock()
	defer a.lock.Unlock()
	last, known := a.licenses[e.LicenseKey]
	switch {
	case a.failsOnKnown && known && e.EventID <= last, a.failsOnUnknown && !known && e.Event != "purchase":
		return http.StatusInternalServerError
	}
	if a.licenses == nil {
		a.licenses = map[string]int64{}
	}
	a.licenses[e.LicenseKey] = max(last, e.EventID)
	return http.StatusOK
}

func (a *sampleApp) signedBody(h http.Header, body []byte) bool {
	f := diagnose.NewForgery(0, time.Now(), courier.NewSecrets(sampleSecret), body)
	f.BrandText, f.Text = f.Body, f.Body
	brand, _ := f.Signatures()
	return h.Get("X-Licensing-Signature") == brand
}

// callback exchanges a code if the application has a service.
func (a *sampleApp) callback(r *http.Request) int {
	code := r.URL.Query().Get("code")
	if code == "" {
		return http.StatusOK
	}
	if a.service != nil {
		answer, err := http.PostForm(a.service.AuthURL+"/openid/token/", url.Values{ //nolint:noctx // of a test
			"grant_type": {"authorization_code"}, "code": {code}, "redirect_uri": {"http://" + r.Host + r.URL.Path},
			"client_id": {a.service.Partner.ClientID}, "client_secret": {a.service.Partner.ClientSecret},
		})
		if err == nil && answer.Body.Close() == nil && answer.StatusCode == http.StatusOK {
			return http.StatusOK
		}
	}
	if a.failsOnCode {
		return http.StatusInternalServerError
	}
	return http.StatusBadRequest
}

// startDev runs a claviger dev with the partner's application at these URLs.
func startDev(t *testing.T, webhook, redirect string) devserver.Card {
	t.Helper()
	cfg := app.Defaults(app.Dev)
	cfg.Addr, cfg.DB, cfg.Log = "127.0.0.1:0", filepath.Join(t.TempDir(), "dev.db"), slog.New(slog.DiscardHandler)
	d, err := devserver.New(t.Context(), devserver.Config{
		App: cfg, Webhook: webhook, Redirect: redirect, Prepare: func(s *app.Services) { apptest.Cheapen(s, cfg.DB, 2048) },
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.WithoutCancel(t.Context()))
	ended := make(chan error, 1)
	go func() { ended <- d.Run(ctx) }()
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	return d.Card()
}

// addPartner adds a partner with a plan to a claviger dev, and returns its OAuth client.
func addPartner(t *testing.T, card devserver.Card, redirect string) (id, secret string) {
	t.Helper()
	c, err := operator.NewClient(operator.Config{URL: card.BaseURL, Secret: card.OperatorToken})
	if err != nil {
		t.Fatal(err)
	}
	p, err := c.CreatePartner(t.Context(), operator.NewPartner{Name: "Another", RedirectURL: &redirect})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.PutPlan(t.Context(), p.ID, 1, operator.NewPlan{Name: "Small"}); err != nil {
		t.Fatal(err)
	}
	return p.ClientID, p.ClientSecret
}

// TestCheckScripts runs claviger check on a good application and on bad ones.
func TestCheckScripts(t *testing.T) {
	onlySQLite(t)
	apps := map[string]*sampleApp{
		"GOOD": {}, "ANYTHING": {acceptsAnything: true}, "BODYONLY": {bodyOnly: true}, "REDIRECTS": {redirects: true},
		"KNOWN": {failsOnKnown: true}, "UNKNOWN": {failsOnUnknown: true}, "CODE": {failsOnCode: true},
	}
	at := map[string]string{"SECRET": sampleSecret}
	for name, a := range apps {
		s := httptest.NewServer(a)
		t.Cleanup(s.Close)
		at[name] = s.URL
	}
	away := httptest.NewServer(http.NotFoundHandler())
	away.Close()
	card := startDev(t, at["GOOD"]+"/webhook", at["GOOD"]+"/callback")
	apps["GOOD"].service = &card
	at["AWAY"], at["SERVICE"], at["TOKEN"], at["CLIENT"], at["CLIENTSECRET"] = away.URL, card.BaseURL, card.OperatorToken, card.Partner.ClientID, card.Partner.ClientSecret
	at["REDIRECTSCLIENT"], at["REDIRECTSSECRET"] = addPartner(t, card, at["REDIRECTS"]+"/callback")
	t.Run("scripts", func(t *testing.T) {
		testscript.Run(t, testscript.Params{
			Dir:  "testdata/check",
			Cmds: map[string]func(ts *testscript.TestScript, neg bool, args []string){"exits": exits},
			Setup: func(env *testscript.Env) error {
				for name, value := range at {
					env.Setenv(name, value)
				}
				return writeWebhook(env.WorkDir, sampleSecret)
			},
		})
	})
}

// writeWebhook writes a webhook as an application could have stored it.
func writeWebhook(folder, secret string) error {
	body := []byte(`{"license_key":"3794577c-3a4f-4d0c-9c5e-0d6c2f0fc550","event":"purchase"}`)
	signer := courier.Signer{Brand: "Acme", UserAgent: "tests"}
	header := signer.Headers(4711, 1, time.Now(), courier.NewSecrets(secret), body)
	return errors.Join(
		os.WriteFile(filepath.Join(folder, "body.json"), body, 0o600),
		os.WriteFile(filepath.Join(folder, "changed.json"), append(body, '\n'), 0o600),
		os.WriteFile(filepath.Join(folder, "headers.txt"), []byte(courier.HeaderText(header)), 0o600),
	)
}

// TestCheckVerdict: the exit code for each set of results.
func TestCheckVerdict(t *testing.T) {
	pass := diagnose.Result{Scenario: "journey", Verdict: diagnose.Pass, Answer: "200"}
	for name, c := range map[string]struct {
		results []diagnose.Result
		want    int
	}{
		"all passed":     {[]diagnose.Result{pass, {Verdict: diagnose.Warn, Answer: "200"}, {Verdict: diagnose.Skipped}}, exitDone},
		"one failed":     {[]diagnose.Result{pass, {Verdict: diagnose.Fail, Answer: "404"}}, exitCheck},
		"no server":      {[]diagnose.Result{{Verdict: diagnose.Fail, Cause: diagnose.CauseRefused}, {Verdict: diagnose.Skipped}}, exitUnreachable},
		"too slow":       {[]diagnose.Result{{Verdict: diagnose.Fail, Cause: diagnose.CauseTimeout}}, exitCheck},
		"server stopped": {[]diagnose.Result{pass, {Verdict: diagnose.Fail, Cause: diagnose.CauseRefused}}, exitCheck},
		"only the redirect URL is away": {
			[]diagnose.Result{pass, {Scenario: scenario.Redirect, Verdict: diagnose.Fail, Cause: diagnose.CauseDNS}}, exitUnreachable,
		},
		"one away, one wrong": {
			[]diagnose.Result{{Verdict: diagnose.Fail, Answer: "500"}, {Scenario: scenario.Redirect, Verdict: diagnose.Fail, Cause: diagnose.CauseDNS}}, exitCheck,
		},
	} {
		t.Run(name, func(t *testing.T) {
			if got := exitCode(verdict(c.results)); got != c.want {
				t.Errorf("exit code %d, want %d", got, c.want)
			}
		})
	}
}
