package app_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"

	"claviger/internal/app"
	"claviger/internal/apptest"
	"claviger/internal/license"
	"claviger/internal/mail"
	"claviger/internal/mail/mailtest"
	"claviger/internal/partner"
	"claviger/internal/profile"
)

// found returns the finding of a check, and the names of failed checks.
func found(t *testing.T, cfg app.Config, name string) (app.Finding, []string) {
	t.Helper()
	var one app.Finding
	var failed []string
	for _, f := range app.Examine(t.Context(), cfg) {
		if f.Name == name {
			one = f
		}
		if f.Result == app.Failed {
			failed = append(failed, f.Name)
			if f.Do == "" {
				t.Errorf("%s does not say what to do: %s", f.Name, f.Text)
			}
		}
	}
	return one, failed
}

func TestExamine(t *testing.T) {
	here := apptest.Start(t)
	there := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, `{"keys":[{"kid":"of another install"}]}`)
	}))
	t.Cleanup(there.Close)
	server := mailtest.Start(t, mailtest.Options{User: "ann", Password: "pass"})
	right := apptest.Config(t, func(c *app.Config) {
		c.DB, c.PublicURL = here.Database, "http://"+here.App.Addr()
		c.Mail = mail.Config{Host: server.Host, Port: server.Port, Security: mail.Plain, User: "ann", Password: "pass", From: mailtest.From}
	})
	if _, failed := found(t, right, ""); len(failed) > 0 {
		t.Errorf("a sound install: %q failed: %+v", failed, app.Examine(t.Context(), right))
	}
	for _, try := range []struct {
		name   string
		change func(*app.Config)
		result app.Result
		says   string
	}{
		{"public URL", func(c *app.Config) { c.PublicURL = there.URL }, app.Failed, "another database"},
		{"public URL", func(c *app.Config) { c.PublicURL = "http://127.0.0.1:1" }, app.Failed, "not answered from here"},
		{"public URL", func(c *app.Config) { c.PublicURL = fmt.Sprintf("http://%s:%d", server.Host, server.Port) }, app.Failed, "not answered from here"},
		{"proxies", func(c *app.Config) { c.PublicURL = "https://127.0.0.1:1" }, app.Warned, "trusted-proxies"},
		{"secret key", func(c *app.Config) { c.SecretKey = strings.Repeat("ab", 32) }, app.Failed, "does not open"},
		{"mail", func(c *app.Config) { c.Mail.Port = 1 }, app.Failed, "could not be used"},
		{"mail", func(c *app.Config) { c.Mail.Password = "wrong" }, app.Failed, "Authentication failed"},
		{"mail", func(c *app.Config) { c.Mail = mail.Config{} }, app.Warned, "no mail server"},
		{"database", func(c *app.Config) { c.DB = filepath.Join(t.TempDir(), "none.db") }, app.Warned, "none yet"},
		{"database", func(c *app.Config) { c.DB = "postgres://127.0.0.1:1/x?connect_timeout=1" }, app.Failed, "cannot be opened"},
	} {
		cfg := right
		try.change(&cfg)
		if f, _ := found(t, cfg, try.name); f.Result != try.result || !strings.Contains(f.Text, try.says) {
			t.Errorf("%s: %+v, want %s with %q", try.name, f, try.result, try.says)
		}
	}
}

// TestExamineTheDatabase: a read-only database is detected, and one that lacks migrations.
func TestExamineTheDatabase(t *testing.T) {
	h := apptest.New(t)
	cfg := apptest.Config(t, func(c *app.Config) { c.DB = h.Database })
	refuseWrites(h)
	if f, _ := found(t, cfg, "writing"); f.Result != app.Failed || !strings.Contains(f.Text, "takes no writes") {
		t.Errorf("writing: %+v", f)
	}
	h.Exec(`DELETE FROM migrations WHERE name = (SELECT max(name) FROM migrations)`)
	if f, _ := found(t, cfg, "database"); f.Result != app.Warned || !strings.Contains(f.Text, "lacks 1 migration, up to ") {
		t.Errorf("schema: %+v", f)
	}
	at, _, err := h.DB.Clock(t.Context())
	if err != nil || !at.IsZero() && at.Sub(app.Now()).Abs() > 60e9 {
		t.Errorf("the database's clock: %v, %v", at, err)
	}
}

// TestExamineLicenses: licenses that were refunded but still work are named.
func TestExamineLicenses(t *testing.T) {
	h := apptest.New(t)
	cfg := apptest.Config(t, func(c *app.Config) { c.DB = h.Database })
	if f, _ := found(t, cfg, "refunded licenses"); f.Result != app.Passed {
		t.Errorf("there is none: %+v", f)
	}
	p, _ := h.Partner("Tide Planner", profile.URLs{})
	h.Plans(p.ID, 1, partner.Plan{PriceCents: 4900, Currency: "USD"})
	l := h.Buy(license.Purchase{PartnerID: p.ID, Tier: 1, Quantity: 1})
	h.Exec(`INSERT INTO refunded_but_working (license_id) SELECT id FROM licenses`)
	if f, _ := found(t, cfg, "refunded licenses"); f.Result != app.Warned || !strings.Contains(f.Text, l.Key) || !strings.Contains(f.Do, "Today") {
		t.Errorf("there is one: %+v", f)
	}
}
