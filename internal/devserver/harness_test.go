package devserver_test

import (
	"context"
	"encoding/json"
	"errors"
	"html"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"regexp"
	"strings"
	"sync"
	"testing"

	"claviger/internal/devserver"
	"claviger/internal/partner"
	"claviger/internal/profile"
	"claviger/internal/sqldb/sqldbtest"
)

// harness is a running server with a browser.
type harness struct {
	devserver.Card
	db      string
	listens string // its address
	browser *http.Client
	stop    func() // ends it before the test's end
}

// run starts a server, which ends with the test.
func run(t *testing.T, flags ...func(*devserver.Config)) *harness {
	t.Helper()
	w := &harness{db: sqldbtest.URL(t)}
	cfg := config(w.db)
	cfg.App.PublicURL = ""
	for _, f := range flags {
		f(&cfg)
	}
	e, err := devserver.New(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.WithoutCancel(t.Context()))
	ended := make(chan error, 1)
	go func() { ended <- e.Run(ctx) }()
	w.stop = sync.OnceFunc(func() {
		stop()
		if err := <-ended; err != nil {
			t.Errorf("the server ended with %v", err)
		}
	})
	t.Cleanup(w.stop)
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	w.Card, w.listens = e.Card(), e.Addr()
	w.browser = &http.Client{Jar: jar, Transport: &http.Transport{DisableKeepAlives: true}}
	return w
}

// answer is the final page of a browser.
type answer struct {
	status int
	url    *url.URL
	text   string
}

func (w *harness) send(t *testing.T, method, to, contentType, body string, header http.Header) answer {
	t.Helper()
	if strings.HasPrefix(to, "/") {
		to = w.BaseURL + to
	}
	r, err := http.NewRequestWithContext(t.Context(), method, to, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	for name, values := range header {
		r.Header[http.CanonicalHeaderKey(name)] = values
	}
	if contentType != "" {
		r.Header.Set("Content-Type", contentType)
	}
	resp, err := w.browser.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(resp.Body)
	if err = errors.Join(err, resp.Body.Close()); err != nil {
		t.Fatal(err)
	}
	if m := refresh.FindSubmatch(text); m != nil {
		return w.open(t, html.UnescapeString(string(m[1])))
	}
	return answer{resp.StatusCode, resp.Request.URL, string(text)}
}

// refresh matches a page that redirects automatically, as for a buyer with a slow application.
var refresh = regexp.MustCompile(`<meta http-equiv="refresh" content="0; url=([^"]+)">`)

func (w *harness) open(t *testing.T, to string) answer {
	t.Helper()
	return w.send(t, "GET", to, "", "", nil)
}

func (w *harness) submit(t *testing.T, to string, form url.Values) answer {
	t.Helper()
	return w.send(t, "POST", to, "application/x-www-form-urlencoded", form.Encode(), nil)
}

// ask calls an API with a key and decodes the answer into to.
func (w *harness) ask(t *testing.T, key, method, path, body string, to any) {
	t.Helper()
	a := w.send(t, method, path, "application/json", body, http.Header{"Authorization": {"Bearer " + key}})
	if a.status > 299 {
		t.Fatalf("%s %s answered %d: %s", method, path, a.status, a.text)
	}
	if err := json.Unmarshal([]byte(a.text), to); err != nil {
		t.Fatalf("%s %s answered %s: %v", method, path, a.text, err)
	}
}

// has checks that a page contains all of these texts.
func (a answer) has(t *testing.T, status int, texts ...string) {
	t.Helper()
	if a.status != status {
		t.Fatalf("%s is %d, want %d:\n%s", a.url.Path, a.status, status, a.text)
	}
	for _, text := range texts {
		if !strings.Contains(a.text, text) {
			t.Errorf("%s does not say %q:\n%s", a.url.Path, text, a.text)
		}
	}
}

// TestTargets: without flags the sample is the partner's application, at any address of the server,
// unless the developer has one.
func TestTargets(t *testing.T) {
	db := sqldbtest.URL(t)
	start := func(base, webhook, redirect string) profile.Profile {
		t.Helper()
		cfg := config(db)
		cfg.App.PublicURL, cfg.Webhook, cfg.Redirect = base, webhook, redirect
		card, _ := once(t, cfg)
		opened, partners, _ := services(t, db)
		p, err := (&profile.Store{DB: opened, Partners: partners}).Read(t.Context(), opened, card.Partner.ID)
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	for _, c := range []struct{ base, webhook, redirect, wantWebhook, wantRedirect string }{
		{"http://one", "", "", "http://one/dev/partner/webhook", "http://one/dev/partner/callback"},
		{"http://two", "", "", "http://two/dev/partner/webhook", "http://two/dev/partner/callback"},
		{"http://two", "http://mine/hook", "", "http://mine/hook", "http://two/dev/partner/callback"},
		{"http://two", "", "http://mine/back", "http://mine/hook", "http://mine/back"},
		{"http://one", "", "", "http://mine/hook", "http://mine/back"},
	} {
		if p := start(c.base, c.webhook, c.redirect); p.WebhookURL != c.wantWebhook || p.RedirectURL != c.wantRedirect {
			t.Errorf("%+v: got %s and %s", c, p.WebhookURL, p.RedirectURL)
		}
	}
}

// TestCard: the card for people has links to the pages.
func TestCard(t *testing.T) {
	card := devserver.Card{BaseURL: "http://dev", ShopURL: "http://dev/", MailURL: "http://dev/dev/mail/", Buyer: devserver.PersonCard{Email: "b@example.com"}}
	for _, want := range []string{"http://dev/dev/mail/\n", "http://dev/dev/partner/\n", "open http://dev/, sign in as b@example.com"} {
		if !strings.Contains(card.Text(), want) {
			t.Errorf("the card does not say %q:\n%s", want, card.Text())
		}
	}
}

// rotate replaces the webhook secret of the partner and returns the new one.
func (w *harness) rotate(t *testing.T) string {
	t.Helper()
	var done struct{ Secret string }
	w.ask(t, w.OperatorToken, "POST", "/operator/v1/partners/1/rotate", `{"what":"`+string(partner.WebhookSecret)+`"}`, &done)
	return done.Secret
}
