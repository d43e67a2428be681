package app_test

import (
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"claviger/internal/app"
	"claviger/internal/apptest"
	"claviger/internal/backups"
	"claviger/internal/mail"
	"claviger/internal/mail/mailtest"
	"claviger/internal/payment"
	"claviger/internal/payment/fakestripe"
	"claviger/internal/sqldb/sqldbtest"
)

// stripeAccount starts a Stripe with an endpoint for a service.
func stripeAccount(t *testing.T, publicURL string) (*fakestripe.Server, payment.StripeConfig) {
	t.Helper()
	fake := &fakestripe.Server{Secret: "whsec_1"}
	server := httptest.NewServer(fake)
	t.Cleanup(server.Close)
	cfg := payment.StripeConfig{Key: "rk_test_1", WebhookSecrets: []string{"whsec_1"}, URL: server.URL}
	if publicURL != "" {
		if _, _, err := payment.NewStripe(cfg).MakeEndpoint(t.Context(), publicURL+"/stripe/webhook"); err != nil {
			t.Fatal(err)
		}
	}
	return fake, cfg
}

// forbidding refuses the calls of a path, as Stripe does without a permission.
func forbidding(path string) func(string) int {
	return func(got string) int {
		if got == path {
			return http.StatusForbidden
		}
		return 0
	}
}

// constant starts a server that answers everything with the same text.
func constant(t *testing.T, text string) string {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, text) }))
	t.Cleanup(s.Close)
	return s.URL
}

// sound returns the configuration of an install without any mistake.
func sound(t *testing.T) app.Config {
	t.Helper()
	here := apptest.Start(t)
	server := mailtest.Start(t, mailtest.Options{User: "ann", Password: "pass"})
	here.Must(backups.Report(t.Context(), here.DB, here.Accounts.Now(), here.Accounts.Now()))
	public := "http://" + here.App.Addr()
	_, stripe := stripeAccount(t, public)
	return apptest.Config(t, func(c *app.Config) {
		c.DB, c.PublicURL, c.Addr, c.Stripe = here.Database, public, here.App.Addr(), stripe
		c.Mail = mail.Config{Host: server.Host, Port: server.Port, Security: mail.Plain, User: "ann", Password: "pass", From: mailtest.From}
		if !c.Postgres() {
			if err := os.Chmod(filepath.Dir(c.DB), 0o700); err != nil { //nolint:gosec // a folder
				t.Fatal(err)
			}
		}
	})
}

// mistakes returns the names of the checks that found something, and their texts. The space on the
// disk of this machine is none of an install's mistakes.
func mistakes(t *testing.T, cfg app.Config) (names []string, texts string) {
	t.Helper()
	for _, f := range app.Examine(t.Context(), cfg) {
		if (f.Result == app.Failed || f.Result == app.Warned) && f.Name != "disk" {
			names = append(names, f.Name)
			if f.Text == "" || f.Do == "" && !strings.Contains(f.Text, "; run ") {
				t.Errorf("%s does not say what is wrong, or what to do: %+v", f.Name, f)
			}
			texts += f.Text + ". " + f.Do + "\n"
		}
	}
	return names, texts
}

// TestExamineMistakes: of each wrong set-up, exactly the mistake is named, and the way out.
func TestExamineMistakes(t *testing.T) {
	right := sound(t)
	if names, texts := mistakes(t, right); len(names) > 0 {
		t.Fatalf("a sound install: %q\n%s", names, texts)
	}
	taken, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = taken.Close() })
	revoked, revokedStripe := stripeAccount(t, right.PublicURL)
	revoked.Allow = func(string) int { return http.StatusUnauthorized }
	limited, limitedStripe := stripeAccount(t, right.PublicURL)
	limited.Refuse = forbidding("/v1/webhook_endpoints")
	narrow, narrowStripe := stripeAccount(t, right.PublicURL)
	narrow.Refuse = forbidding("/v1/payment_intents")
	_, other := stripeAccount(t, "https://elsewhere.example.com")
	endpoint := func(rest string) string {
		return constant(t, `{"object":"list","data":[{"object":"webhook_endpoint","url":"`+right.PublicURL+`/stripe/webhook",`+rest+`}]}`)
	}
	disabled := right.Stripe
	disabled.URL = endpoint(`"status":"disabled","enabled_events":["*"]`)
	deaf := right.Stripe
	deaf.URL = endpoint(`"status":"enabled","enabled_events":["refund.created"]`)
	private := t.TempDir()
	if err := os.Chmod(private, 0o700); err != nil { //nolint:gosec // a folder
		t.Fatal(err)
	}
	file := filepath.Join(private, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	key := filepath.Join(private, "secret.key")
	if err := os.WriteFile(key, []byte(apptest.SecretKey), 0o644); err != nil { //nolint:gosec // the mistake
		t.Fatal(err)
	}
	for _, try := range []struct {
		name   string
		change func(*app.Config)
		says   string
	}{
		{"database", func(c *app.Config) { c.DB = "postgres://127.0.0.1:1/x?connect_timeout=1" }, "Start the database server"},
		{"database", func(c *app.Config) { c.DB = filepath.Join(private, "none.db") }, "there is none yet"},
		{"secret key", func(c *app.Config) { c.SecretKey = strings.Repeat("ab", 32) }, "does not open"},
		{"mail", func(c *app.Config) { c.Mail.Password = "wrong" }, "Authentication failed"},
		{"public URL", func(c *app.Config) {
			c.PublicURL = constant(t, `{"keys":[{"kid":"of another install"}]}`)
			c.Stripe = payment.StripeConfig{}
		}, "another database"},
		{"Stripe", func(c *app.Config) { c.Stripe = revokedStripe }, "does not know the key"},
		{"Stripe", func(c *app.Config) { c.Stripe = limitedStripe }, "in test mode, but may not see"},
		{"Stripe fees", func(c *app.Config) { c.Stripe = narrowStripe }, "Balance transaction sources"},
		{"Stripe", func(c *app.Config) { c.Stripe = other }, "Run claviger stripe setup"},
		{"Stripe", func(c *app.Config) { c.Stripe = disabled }, "is disabled"},
		{"Stripe", func(c *app.Config) { c.Stripe = deaf }, "does not get checkout.session.completed"},
		{"Stripe", func(c *app.Config) { c.Stripe.URL = "http://127.0.0.1:1" }, "Let this machine reach"},
		{"addr", func(c *app.Config) { c.Addr = taken.Addr().String() }, "another program listens"},
		{"admin-addr", func(c *app.Config) { c.AdminAddr = c.Addr }, "is the port of addr, too"},
		{"admin-addr", func(c *app.Config) { c.AdminAddr = "192.0.2.1:8081" }, "an address of this machine"},
		{"backups", func(c *app.Config) { c.Now = func() time.Time { return app.Now().Add(37 * time.Hour) } }, "Follow BackupOld"},
		{"backups", func(c *app.Config) { c.BackupDir = filepath.Join(private, "not", "mounted") }, "no backup can be written"},
		{"backups", func(c *app.Config) { c.BackupDir = file }, "it is not a folder"},
		{"egress proxy", func(c *app.Config) { c.EgressProxy = &url.URL{Scheme: "http", Host: "127.0.0.1:1"} }, "no webhook leaves without it"},
		{"files", func(c *app.Config) { c.SecretFiles = map[string]string{"stripe-secret-key": key} }, "it holds the secret setting stripe-secret-key"},
	} {
		cfg := right
		try.change(&cfg)
		if names, texts := mistakes(t, cfg); !slices.Equal(names, []string{try.name}) || !strings.Contains(texts, try.says) {
			t.Errorf("%s, %q: the mistakes are %q:\n%s", try.name, try.says, names, texts)
		}
	}
}

// TestExamineLeftovers: files of killed backups and restores are named, and removed by the next backup.
func TestExamineLeftovers(t *testing.T) {
	if sqldbtest.Postgres() {
		t.Skip("it is about SQLite's files")
	}
	cfg := sound(t)
	left := cfg.DB + ".restore-17"
	if err := os.WriteFile(left, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	cfg.BackupDir = t.TempDir()
	if err := os.Chmod(cfg.BackupDir, 0o700); err != nil { //nolint:gosec // a folder
		t.Fatal(err)
	}
	there := filepath.Join(cfg.BackupDir, "claviger-20261116T120000Z.db.part-4711")
	if err := os.WriteFile(there, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	names, texts := mistakes(t, cfg)
	if !slices.Equal(names, []string{"leftovers"}) || !strings.Contains(texts, left) || !strings.Contains(texts, there) {
		t.Errorf("the mistakes are %q:\n%s", names, texts)
	}
	if unrecorded, err := app.Backup(t.Context(), cfg, filepath.Join(filepath.Dir(cfg.DB), "backup.db")); unrecorded != nil || err != nil {
		t.Fatal(unrecorded, err)
	}
	if err := os.Remove(there); err != nil {
		t.Fatal(err)
	}
	if names, texts := mistakes(t, cfg); len(names) > 0 {
		t.Errorf("after a backup: %q\n%s", names, texts)
	}
}

// TestExamineAll: an install with ten mistakes at a time is told all ten.
func TestExamineAll(t *testing.T) {
	cfg := sound(t)
	_, cfg.Stripe = stripeAccount(t, "")
	taken, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = taken.Close() })
	key := filepath.Join(t.TempDir(), "secret.key")
	if err := os.WriteFile(key, []byte(apptest.SecretKey), 0o644); err != nil { //nolint:gosec // a mistake
		t.Fatal(err)
	}
	h := apptest.New(t)
	refuseWrites(h) // and there is no backup
	cfg.DB, cfg.SecretFiles = h.Database, map[string]string{"secret-key": key}
	cfg.SecretKey = strings.Repeat("ab", 32)
	cfg.Mail.Password = "wrong"
	cfg.PublicURL = "https://127.0.0.1:1"
	cfg.Addr = taken.Addr().String()
	cfg.AdminAddr = cfg.Addr
	cfg.EgressProxy = &url.URL{Scheme: "http", Host: "127.0.0.1:1"}
	names, texts := mistakes(t, cfg)
	for _, want := range []string{
		"files", "writing", "secret key", "backups", "mail", "Stripe", "addr", "admin-addr", "public URL", "proxies", "egress proxy",
	} {
		if !slices.Contains(names, want) {
			t.Errorf("%s is not named among %q:\n%s", want, names, texts)
		}
	}
}

// TestExamineOldSchema: with an older schema, doctor says so, and what to do; it does not say that
// there is no database.
func TestExamineOldSchema(t *testing.T) {
	h := apptest.New(t)
	cfg := apptest.Config(t, func(c *app.Config) { c.DB = h.Database })
	h.Exec(`DELETE FROM migrations WHERE name = (SELECT max(name) FROM migrations)`)
	for _, f := range app.Examine(t.Context(), cfg) {
		switch f.Name {
		case "database":
			if f.Result != app.Warned || !strings.Contains(f.Text, "older than this program: it lacks 1 migration, up to ") || !strings.Contains(f.Do, "claviger migrate") {
				t.Errorf("the database: %+v", f)
			}
		case "writing", "clock", "secret key", "refunded licenses", "ledger", "disk":
			if f.Result != app.Skipped || !strings.Contains(f.Text, "older schema; run claviger migrate") {
				t.Errorf("%+v", f)
			}
		}
	}
}

// TestCredentials: doctor has the secrets that systemd gives to the shipped unit, from the files
// that the unit names, or from the folder that it has while it runs.
func TestCredentials(t *testing.T) {
	root := t.TempDir()
	write := func(path, text string) {
		path = filepath.Join(root, path)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	shipped, err := os.ReadFile("../../deploy/systemd/claviger.service")
	if err != nil {
		t.Fatal(err)
	}
	write("etc/systemd/system/claviger.service", string(shipped))
	write("etc/systemd/system/claviger.service.d/override.conf", "[Service]\nLoadCredential=db:/etc/claviger/db.url\n")
	write("etc/claviger/secret.key", apptest.SecretKey)
	write("etc/claviger/db.url", "/var/lib/claviger/other.db")
	load := func() app.Config {
		cfg, _, err := app.Load(app.Serve, app.Sources{Credentials: app.Credentials(nil, root)})
		if err != nil {
			t.Fatal(err)
		}
		return cfg
	}
	cfg := load()
	if cfg.SecretKey != apptest.SecretKey || cfg.DB != "/var/lib/claviger/other.db" {
		t.Errorf("of the unit: the key %q, the database %q", cfg.SecretKey, cfg.DB)
	}
	given := strings.Repeat("cd", 32)
	write("run/credentials/claviger.service/secret-key", given)
	if cfg := load(); cfg.SecretKey != given {
		t.Errorf("of the running service: %q", cfg.SecretKey)
	}
	from := func(c app.Config, name string) string {
		for _, o := range c.Origins {
			if o.Name == name {
				return o.From
			}
		}
		return ""
	}
	if got := from(cfg, "secret-key"); got != "credential secret-key of claviger.service" {
		t.Errorf("the key is from %s", got)
	}
	set, _, err := app.Load(app.Serve, app.Sources{Flags: map[string]string{"secret-key": given}, Credentials: app.Credentials(nil, root)})
	if err != nil || from(set, "secret-key") != "--secret-key" {
		t.Errorf("a flag counts less than a credential: %v, %v", from(set, "secret-key"), err)
	}
}

// TestExamineWithheld: a user who may not read the service's secrets is told to be root, and not
// that a healthy install fails.
func TestExamineWithheld(t *testing.T) {
	cfg := sound(t)
	cfg.SecretKey, cfg.Mail = "", mail.Config{}
	cfg.Withheld = map[string]string{"secret-key": "/etc/claviger/secret.key", "smtp-url": "/etc/claviger/smtp.url"}
	if names, texts := mistakes(t, cfg); len(names) > 0 {
		t.Errorf("%q:\n%s", names, texts)
	}
	for _, f := range app.Examine(t.Context(), cfg) {
		if (f.Name == "secret key" || f.Name == "mail") && (f.Result != app.Skipped || !strings.Contains(f.Do, "as root")) {
			t.Errorf("%+v", f)
		}
	}
}
