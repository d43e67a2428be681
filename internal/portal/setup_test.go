package portal_test

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"claviger/internal/apptest"
	"claviger/internal/partner"
	"claviger/internal/profile"
	"claviger/internal/sqldb"
	"claviger/internal/visitor/pagetest"
)

// application is a partner's server: it answers valid webhooks, and its callback.
type application struct {
	url  string
	hold chan struct{} // nil: it answers immediately
	seen chan struct{} // receives with each post
}

func (h *harness) server(p partner.Partner) *application {
	h.Helper()
	secrets, err := h.Partners.WebhookSecrets(h.Context(), p.ID)
	h.Must(err)
	a := &application{seen: make(chan struct{}, 100)}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if r.Method == http.MethodGet {
			return
		}
		a.seen <- struct{}{}
		if a.hold != nil {
			<-a.hold
		}
		mac := hmac.New(sha256.New, []byte(secrets[0]))
		mac.Write([]byte(r.Header.Get("X-Licensing-Timestamp")))
		mac.Write(body)
		if err != nil || hex.EncodeToString(mac.Sum(nil)) != r.Header.Get("X-Licensing-Signature") {
			http.Error(w, `{"success":false}`, http.StatusUnauthorized)
			return
		}
		_, _ = io.WriteString(w, `{"success":true,"note":"`+"\u202egnp.exe"+`"}`)
	}))
	h.Cleanup(s.Close)
	a.url = s.URL
	return a
}

// settled waits until no check of Tide is running and returns the page.
func (h *harness) settled(b *pagetest.Browser) *pagetest.Page {
	h.Helper()
	for {
		runs, err := h.Checks.Last(h.Context(), h.tide.ID)
		h.Must(err)
		over := true
		for _, run := range runs {
			over = over && run.State != profile.Running
		}
		if over {
			return b.Get(h.path("/setup"))
		}
	}
}

// TestSetUpSavesURLs: a URL that passes is saved with the person in the audit, one that fails is
// not, and the transcript shows the signed texts and the answers.
func TestSetUpSavesURLs(t *testing.T) {
	h := start(t)
	app, b := h.server(h.tide), h.as(developer)
	b.Post(h.path("/setup/redirect-url"), "redirect_url", app.url+"/callback").WantRedirect(h.path("/setup#redirect-url"))
	page := h.settled(b)
	for _, want := range []string{"The check passed", "GET redirect_url", "It answered 200."} {
		if !strings.Contains(page.Text(), want) {
			t.Errorf("no %q in %s", want, page.Text())
		}
	}
	b.Post(h.path("/setup/webhook-url"), "webhook_url", app.url+"/webhook").WantRedirect(h.path("/setup#webhook-url"))
	page = h.settled(b)
	for _, want := range []string{"POST webhook_url: purchase", "Text signed for X-Licensing-Signature", "deactivate with a wrong signature", "3 of 6 steps are done", "401 Unauthorized"} {
		if !strings.Contains(page.Text(), want) {
			t.Errorf("no %q in %s", want, page.Text())
		}
	}
	if strings.Contains(page.Body, "\u202e") {
		t.Error("the answer turns the direction of the page around")
	}
	p, err := h.Profiles.Read(t.Context(), h.DB, h.tide.ID)
	if err != nil || p.WebhookURL != app.url+"/webhook" || p.RedirectURL != app.url+"/callback" || p.WebhookValidAt.IsZero() {
		t.Errorf("the profile is %+v, %v", p, err)
	}
	if n := h.Count(`SELECT count(*) FROM audit_entries WHERE action = 'profile.urls' AND actor_id = $1`, h.User(developer).ID); n != 2 {
		t.Errorf("%d audit entries name the developer", n)
	}
	b.Post(h.path("/setup/webhook-url"), "webhook_url", app.url+":1/nobody").Want(http.StatusUnprocessableEntity, "Set-up")
	b.Post(h.path("/setup/redirect-url"), "redirect_url", "http://127.0.0.1:1/nobody").WantRedirect(h.path("/setup#redirect-url"))
	if page = h.settled(b); !strings.Contains(page.Text(), "The check failed") || !strings.Contains(page.Text(), "The saved URL stays in use") {
		t.Errorf("a URL that fails: %s", page.Text())
	}
	if p, err = h.Profiles.Read(t.Context(), h.DB, h.tide.ID); err != nil || p.RedirectURL != app.url+"/callback" {
		t.Errorf("a URL that failed is saved: %s, %v", p.RedirectURL, err)
	}
}

// TestSetUpWhileItRuns: the page shows the waiting step, on any node; a second check is refused;
// the stream sends the news and announces the end of the check.
func TestSetUpWhileItRuns(t *testing.T) {
	h := start(t)
	app, b := h.server(h.tide), h.as(developer)
	app.hold = make(chan struct{})
	b.Post(h.path("/setup/webhook-url"), "webhook_url", app.url).WantRedirect(h.path("/setup#webhook-url"))
	<-app.seen
	page := b.Get(h.path("/setup"))
	for _, want := range []string{"The check is running", "POST webhook_url: purchase", "Text signed for webhook-signature", "its answer is awaited"} {
		if !strings.Contains(page.Text(), want) {
			t.Errorf("no %q in %s", want, page.Text())
		}
	}
	if !strings.Contains(page.Body, `<noscript><meta http-equiv="refresh" content="2"></noscript>`) {
		t.Error("without scripts the page is not loaded again")
	}
	if got := b.Post(h.path("/setup/webhook-url"), "webhook_url", app.url).Want(http.StatusConflict, "Set-up"); !strings.Contains(got.Text(), "being checked at this moment") {
		t.Errorf("a second check: %s", got.Text())
	}
	open := h.follow(b, page)
	close(app.hold)
	got := open.until("The check passed. See the result below its URL.")
	if !strings.Contains(got, `id="check-webhook-url"`) || strings.Contains(got, "<h1>") {
		t.Errorf("after its end: %s", got)
	}
}

// TestSetUpRoleIsAskedAgain: a person who loses the role during the check saves nothing.
func TestSetUpRoleIsAskedAgain(t *testing.T) {
	h := start(t)
	app, b := h.server(h.tide), h.as(developer)
	app.hold = make(chan struct{})
	b.Post(h.path("/setup/webhook-url"), "webhook_url", app.url).WantRedirect(h.path("/setup#webhook-url"))
	<-app.seen
	h.Exec(`DELETE FROM members WHERE user_id = $1`, h.User(developer).ID)
	close(app.hold)
	if page := h.settled(h.as(admin)); !strings.Contains(page.Text(), "The check failed") {
		t.Errorf("the page says %s", page.Text())
	}
	if p, err := h.Profiles.Read(t.Context(), h.DB, h.tide.ID); err != nil || p.WebhookURL != "" {
		t.Errorf("the URL is %q, %v", p.WebhookURL, err)
	}
}

// TestSetUpSteps: each step is marked as done once it has happened.
func TestSetUpSteps(t *testing.T) {
	h := start(t)
	app, b := h.server(h.tide), h.as(developer)
	b.Post(h.path("/setup/webhook-url"), "webhook_url", app.url)
	h.settled(b)
	attempts := h.Logged.Attempts()
	h.sell(h.tide)
	attempts.Next(t)
	h.Must(h.DB.Write(t.Context(), func(tx *sqldb.Tx) error {
		profile.SignedIn(tx, h.tide.ID, h.Partners.Now())
		return nil
	}))
	h.Exec(`UPDATE partner_secrets SET last_used_at = created_at WHERE partner_id = $1 AND kind = 'api_key'`, h.tide.ID)
	page := b.Get(h.path("/setup"))
	if !strings.Contains(page.Text(), "5 of 6 steps are done") {
		t.Errorf("the page says %s", page.Text())
	}
	if got := h.as(viewer).Get(h.path("/setup")); got.Input("webhook_url") != nil || !strings.Contains(got.Text(), app.url) {
		t.Error("a viewer has a form, or does not see the URL")
	}
}

// TestSetUpSamples: they have the partner's own names, and a place for each secret.
func TestSetUpSamples(t *testing.T) {
	h := start(t)
	brand := "Tidal"
	_, _, _, err := h.Profiles.Amend(t.Context(), apptest.Tester, h.tide.ID, partner.Change{Brand: &brand}, profile.URLChange{}, false)
	h.Must(err)
	text := h.as(viewer).Get(h.path("/setup")).Text()
	for _, want := range []string{`r.Header.Get("X-Tidal-Timestamp")`, `req.headers["x-tidal-timestamp"]`, "HTTP_X_TIDAL_TIMESTAMP", "client_id=" + h.tide.ClientID, "$CLIENT_SECRET", h.App.URL() + "/openid/token/"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in the samples", want)
		}
	}
	if strings.Contains(text, "Licensing-") {
		t.Error("a sample names another brand")
	}
}
