package app_test

import (
	"io/fs"
	"log/slog"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"claviger/internal/account"
	"claviger/internal/app"
	"claviger/internal/httpd"
	"claviger/internal/ledger"
	"claviger/internal/notice"
	"claviger/internal/payment"
	"claviger/internal/ui"
)

// write writes text to a new file and returns its path.
func write(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// folder makes a folder with this mode.
func folder(t *testing.T, mode fs.FileMode) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.Chmod(dir, mode); err != nil { //nolint:gosec // tests an open mode
		t.Fatal(err)
	}
	return dir
}

func TestDefaults(t *testing.T) {
	serve := app.Config{
		Addr: "127.0.0.1:8080", AdminAddr: "127.0.0.1:8081", DB: "claviger.db", BackupEvery: 24 * time.Hour, BackupKeep: 7,
		DBTimeout: 5 * time.Second, DBJobTimeout: time.Minute,
		RateLimit: 600, LogLevel: slog.LevelInfo, LogFormat: app.JSON, RequireSecondFactor: account.RequireOperators, StaffLife: 12 * time.Hour, StaffIdle: time.Hour, ShutdownTimeout: 15 * time.Second, Migrate: true,
		Name: "Claviger", CodeLife: 10 * time.Minute, AccessLife: time.Hour, RefreshLife: 30 * 24 * time.Hour,
		ParkAfter: time.Hour, ProbeEvery: 5 * time.Minute, MailBuyers: notice.Shop, RefundRequests: payment.AskPerson, TimeZone: "UTC", KeepResponses: 400 * 24 * time.Hour,
		SupersedeAfter: 10 * time.Minute, SupersedeAttempts: 4, WebhookConcurrency: 256,
		Retry: []time.Duration{
			5 * time.Second, 30 * time.Second, 2 * time.Minute, 10 * time.Minute, 30 * time.Minute,
			time.Hour, 3 * time.Hour, 6 * time.Hour, 12 * time.Hour, 24 * time.Hour, 24 * time.Hour,
		},
	}
	if diff := cmp.Diff(serve, app.Defaults(app.Serve), cmpopts.IgnoreFields(app.Config{}, "Origins")); diff != "" {
		t.Errorf("serve (-want +got):\n%s", diff)
	}
	dev := serve
	dev.AdminAddr, dev.DB, dev.RateLimit, dev.LogFormat, dev.AllowPrivateTargets = "", "", 0, app.Short, true
	dev.DrainDelay = new(time.Duration)
	dev.RequireSecondFactor, dev.StaffLife, dev.StaffIdle = account.RequireNone, ui.SessionLife, ui.SessionIdle
	dev.Defaults = ledger.Defaults{Set: true, ShareBP: 7000}
	if diff := cmp.Diff(dev, app.Defaults(app.Dev), cmpopts.IgnoreFields(app.Config{}, "Origins")); diff != "" {
		t.Errorf("dev (-want +got):\n%s", diff)
	}
}

func TestFirstSourceWins(t *testing.T) {
	file := write(t, "claviger.toml", "addr = \":1\"\npublic-url = \"https://file.example/\"\nbrand = \"File\"\nrate-limit = 5\n"+
		"allow-private-targets = true\ntrusted-proxies = [\"10.0.0.0/8\", \"192.0.2.7\"]\n")
	cfg, origins, err := app.Load(app.Serve, app.Sources{
		Flags:   map[string]string{"addr": ":3"},
		Environ: []string{"HOME=/", "CLAVIGER_ADDR=:2", "CLAVIGER_BRAND=Variable", "CLAVIGER_RATE_LIMIT="},
		File:    file,
	})
	if err != nil {
		t.Fatal(err)
	}
	want := app.Defaults(app.Serve)
	want.Addr, want.Brand, want.PublicURL, want.RateLimit, want.AllowPrivateTargets = ":3", "Variable", "https://file.example", 5, true
	want.TrustedProxies = httpd.Proxies{netip.MustParsePrefix("10.0.0.0/8"), netip.MustParsePrefix("192.0.2.7/32")}
	if diff := cmp.Diff(want, cfg, cmpopts.EquateComparable(netip.Prefix{}), cmpopts.IgnoreFields(app.Config{}, "Origins")); diff != "" {
		t.Errorf("config (-want +got):\n%s", diff)
	}
	from := map[string]string{}
	for _, o := range origins {
		from[o.Name] = o.From
	}
	for name, want := range map[string]string{
		"addr": "--addr", "brand": "CLAVIGER_BRAND", "rate-limit": "rate-limit in claviger.toml", "log-level": "default",
	} {
		if from[name] != want {
			t.Errorf("%s came from %q, want %q", name, from[name], want)
		}
	}
}

func TestConfigFileFromEnvironment(t *testing.T) {
	file := write(t, "c.toml", `log-level = "debug"`)
	cfg, _, err := app.Load(app.Serve, app.Sources{Environ: []string{"CLAVIGER_CONFIG=" + file}})
	if err != nil || cfg.LogLevel != slog.LevelDebug {
		t.Errorf("level %v, error %v", cfg.LogLevel, err)
	}
}

const key = "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f"

func TestSecretsFromFiles(t *testing.T) {
	keyFile := write(t, "key", key+"\n")
	dbFile := write(t, "db", "postgres://claviger:hush@db.example/claviger?sslmode=require\n")
	sources := map[string]app.Sources{
		"flags":       {Flags: map[string]string{"secret-key-file": keyFile, "db-file": dbFile}},
		"environment": {Environ: []string{"CLAVIGER_SECRET_KEY_FILE=" + keyFile, "CLAVIGER_DB_FILE=" + dbFile}},
		"file":        {File: write(t, "c.toml", "secret-key-file = '"+keyFile+"'\ndb-file = '"+dbFile+"'\n")},
	}
	for name, src := range sources {
		t.Run(name, func(t *testing.T) {
			cfg, origins, err := app.Load(app.Serve, src)
			if err != nil {
				t.Fatal(err)
			}
			if cfg.SecretKey != key || !cfg.Postgres() {
				t.Errorf("key %q, database %q", cfg.SecretKey, cfg.DB)
			}
			for _, o := range origins {
				if strings.Contains(o.Shown, "hush") || strings.Contains(o.Shown, key) {
					t.Errorf("%s shows its secret: %s", o.Name, o.Shown)
				}
			}
		})
	}
}

func TestMistakes(t *testing.T) {
	empty := write(t, "empty", "\n")
	binary := write(t, "claviger.db", "SQLite format 3\x00")
	flag := func(name, value string) app.Sources {
		return app.Sources{Flags: map[string]string{name: value}}
	}
	variable := func(lines ...string) app.Sources { return app.Sources{Environ: lines} }
	file := func(text string) app.Sources { return app.Sources{File: write(t, "c.toml", text)} }
	tests := map[string]struct {
		src  app.Sources
		want []string
	}{
		"unknown variable":      {variable("CLAVIGER_PUBLICURL=x"), []string{"unknown variable CLAVIGER_PUBLICURL", "did you mean CLAVIGER_PUBLIC_URL?"}},
		"variable like nothing": {variable("CLAVIGER_QQQQQQ=x"), []string{"unknown variable CLAVIGER_QQQQQQ", "config check"}},
		"unknown key":           {file("public_url = 'x'"), []string{"unknown setting public_url in c.toml", "did you mean public-url?"}},
		"table in the file":     {file("[server]\naddr = ':1'"), []string{"unknown setting server"}},
		"float in the file":     {file("rate-limit = 1.5"), []string{"rate-limit in c.toml must be"}},
		"broken file":           {file("addr = \n"), []string{"line 1"}},
		"no such file":          {app.Sources{File: "/nowhere/c.toml"}, []string{"read the configuration", "/nowhere/c.toml"}},
		"all mistakes at once":  {variable("CLAVIGER_ADDR=x", "CLAVIGER_RATE_LIMIT=-1"), []string{"CLAVIGER_ADDR must be host:port", "CLAVIGER_RATE_LIMIT must be"}},
		"port":                  {flag("addr", ":99999"), []string{"--addr must end in a port"}},
		"public url":            {flag("public-url", "example.com"), []string{"--public-url must be an address"}},
		"public url with query": {flag("public-url", "https://example.com/?a=b"), []string{"must have no path, query"}},
		"public url with path":  {flag("public-url", "https://example.com/shop"), []string{"must have no path"}},
		"name":                  {flag("name", " "), []string{"--name must be 1 to 60"}},
		"code life":             {flag("code-life", "2h"), []string{"--code-life"}},
		"short key":             {flag("secret-key", "abcd"), []string{"--secret-key must be 32 bytes", "openssl rand -hex 32"}},
		"brand":                 {flag("brand", "Two Words"), []string{"--brand must be 1 to 40"}},
		"proxies":               {flag("trusted-proxies", "10.0.0.0/8,here"), []string{`"here" is neither an address nor a network`}},
		"level":                 {flag("log-level", "loud"), []string{"debug, info, warn or error"}},
		"format":                {flag("log-format", "xml"), []string{"json or text"}},
		"boolean":               {flag("migrate", "perhaps"), []string{"true or false"}},
		"duration":              {flag("shutdown-timeout", "15"), []string{"a duration such as 15s"}},
		"delay":                 {flag("drain-delay", "-1s"), []string{"a duration such as 5s", "from 0s"}},
		"retry":                 {flag("retry", "5s,soon"), []string{`"soon" is not a wait`}},
		"retry backwards":       {flag("retry", "-5s"), []string{`"-5s" is not a wait`}},
		"retry of commas":       {flag("retry", ",,"), []string{"1 to 99 waits"}},
		"mail server":           {flag("smtp-url", "mail.example.com"), []string{"--smtp-url"}},
		"mail without a sender": {flag("smtp-url", "smtps://mail.example.com"), []string{"mail-from is not set"}},
		"mails to buyers":       {flag("mail-buyers", "some"), []string{"--mail-buyers must be shop, all or none"}},
		"mails off":             {flag("mail-off", "receipt,spam"), []string{"--mail-off", "license-ready", `"spam" is none of them`}},
		"backup often":          {variable("CLAVIGER_BACKUP_DIR=b", "CLAVIGER_BACKUP_EVERY=10s"), []string{"CLAVIGER_BACKUP_EVERY must be a duration such as 6h, from 1m to 720h"}},
		"backup of none":        {variable("CLAVIGER_BACKUP_DIR=b", "CLAVIGER_BACKUP_KEEP=0"), []string{"CLAVIGER_BACKUP_KEEP must be a whole number from 1"}},
		"backup to nowhere": {variable("CLAVIGER_BACKUP_EVERY=6h", "CLAVIGER_BACKUP_KEEP=7"), []string{
			"backup-every is set and backup-dir is not; set backup-dir to a folder, or remove backup-every",
			"backup-keep is set and backup-dir is not",
		}},
		"backup of PostgreSQL": {variable("CLAVIGER_BACKUP_DIR=b", "CLAVIGER_DB=postgres://host/db"), []string{
			"backup-dir is for SQLite, and db is PostgreSQL", "remove backup-dir, and let your tool run claviger backup report",
		}},
		"key and file":         {variable("CLAVIGER_SECRET_KEY="+key, "CLAVIGER_SECRET_KEY_FILE=x"), []string{"are both set"}},
		"empty secret":         {flag("secret-key-file", empty), []string{"is empty"}},
		"database as a secret": {flag("db-file", binary), []string{"to use a SQLite file, set db"}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			_, _, err := app.Load(app.Dev, tt.src)
			if err == nil {
				t.Fatal("no error")
			}
			for _, want := range tt.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("error %q does not say %q", err, want)
				}
			}
		})
	}
}

func TestVariablesThatAreNotSettings(t *testing.T) {
	_, _, err := app.Load(app.Serve, app.Sources{Environ: []string{
		"CLAVIGER_TEST_POSTGRES=x", "CLAVIGER_URL=http://x", "CLAVIGER_OPERATOR_TOKEN=x", "CLAVIGER_WEBHOOK_SECRET=x", "CLAVIGER_CLIENT_SECRET=x", // other commands and tests
		"CLAVIGER_SERVICE_HOST=10.0.0.1", "CLAVIGER_PORT=tcp://10.0.0.1:80", "CLAVIGER_PORT_80_TCP_ADDR=10.0.0.1", // Kubernetes
		"CLAVIGER_RETRY=5s", // of dev
	}})
	if err != nil {
		t.Error(err)
	}
}

func TestShow(t *testing.T) {
	shown := map[string]map[string]string{
		"db": {
			"":                                 "",
			"data/claviger.db":                 "data/claviger.db",
			"postgres://me:hush@host/db":       "postgres://me:xxxxx@host/db",
			"postgres://host/db?password=hush": "postgres://host/db?password=xxxxx",
			"postgres://me:hu%zz@host/db":      "********",
		},
		"db-direct-url": {"postgres://me:hush@host/db": "postgres://me:xxxxx@host/db"},
		"secret-key":    {"": "", key: "********"},
		"addr":          {":1": ":1"},
	}
	for _, s := range app.Settings(app.Serve) {
		for value, want := range shown[s.Name] {
			if got := s.Show(value); got != want {
				t.Errorf("%s %q is shown as %q, want %q", s.Name, value, got, want)
			}
		}
	}
}

func TestAdvice(t *testing.T) {
	t.Chdir(folder(t, 0o700))
	careful := app.Defaults(app.Serve)
	careful.PublicURL, careful.SecretKey = "https://licenses.example.com", key
	careful.Mail.Host = "mail.example.com"
	careful.SupportURL = "mailto:help@example.com"
	open := app.Defaults(app.Dev)
	bare := careful
	bare.PublicURL = "http://licenses.example.com"
	local := careful
	local.PublicURL = "http://[::1]:8080"
	tests := map[string]struct {
		cfg  app.Config
		want []string
	}{
		"careful":    {careful, nil},
		"nothing":    {app.Defaults(app.Serve), []string{"public-url", "secret-key", "smtp-url", "support-url"}},
		"open":       {open, []string{"public-url", "secret-key", "smtp-url", "support-url", "allow-private-targets", "rate-limit"}},
		"not https":  {bare, []string{"public-url"}},
		"to oneself": {local, nil},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			var got []string
			for _, line := range tt.cfg.Advice() {
				setting, _, _ := strings.Cut(line, " ")
				got = append(got, setting)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("advice (-want +got):\n%s", diff)
			}
		})
	}
}

func TestMarkdownHasEverySetting(t *testing.T) {
	table := app.Markdown()
	for _, s := range app.Settings(app.Serve) {
		if !strings.Contains(table, "| `"+s.Name+"` | `"+s.Variable()+"` |") {
			t.Errorf("no line for %s in\n%s", s.Name, table)
		}
		if s.Help == "" || strings.HasSuffix(s.Help, ".") {
			t.Errorf("%s: help is one sentence without a full stop, got %q", s.Name, s.Help)
		}
	}
}

// TestStripeNeedsBoth: the service does not start with only one of the key and the webhook secret,
// nor with a malformed key.
func TestStripeNeedsBoth(t *testing.T) {
	for name, c := range map[string]struct{ key, secret, want string }{
		"neither":          {"", "", ""},
		"both":             {"sk_test_1", "whsec_1", ""},
		"two secrets":      {"rk_live_1", "whsec_1, whsec_2", ""},
		"key alone":        {"sk_test_1", "", "claviger stripe setup"},
		"secret alone":     {"", "whsec_1", "set both, or neither"},
		"publishable":      {"pk_test_1", "whsec_1", "not a publishable one"},
		"no secret":        {"sk_test_1", "secret", "whsec_"},
		"three":            {"sk_test_1", "whsec_1,whsec_2,whsec_3", "two of them"},
		"an empty between": {"sk_test_1", "whsec_1,", "whsec_"},
	} {
		_, _, err := app.Load(app.Serve, app.Sources{Flags: map[string]string{"stripe-secret-key": c.key, "stripe-webhook-secret": c.secret}})
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
}

// TestShortLog: only dev has short lines; a production log needs its facts.
func TestShortLog(t *testing.T) {
	short := app.Sources{Flags: map[string]string{"log-format": "short"}}
	if _, _, err := app.Load(app.Serve, short); err == nil || !strings.Contains(err.Error(), "log-format short is for claviger dev; use json or text") {
		t.Errorf("serve: %v", err)
	}
	if cfg, _, err := app.Load(app.Dev, short); err != nil || cfg.LogFormat != app.Short {
		t.Errorf("dev: %v, %v", cfg.LogFormat, err)
	}
}
