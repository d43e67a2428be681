package app_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"claviger/internal/app"
	"claviger/internal/audit"
	"claviger/internal/partner"
	"claviger/internal/profile"
	"claviger/internal/release"
	"claviger/internal/sqldb/sqldbtest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// config returns the configuration of an App for one test, on its own database.
func config(t *testing.T) app.Config {
	t.Helper()
	cfg := app.Defaults(app.Serve)
	cfg.DrainDelay = new(time.Duration)
	cfg.Addr, cfg.AdminAddr, cfg.DB, cfg.SecretKey = "127.0.0.1:0", "127.0.0.1:0", sqldbtest.URL(t), key
	cfg.Log = slog.New(slog.DiscardHandler)
	return cfg
}

// run builds an App and runs it until the returned function is called, which returns Run's error.
func run(t *testing.T, cfg app.Config) (*app.App, func() error) {
	t.Helper()
	a, err := app.New(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	return a, runApp(t, a)
}

// runApp runs the service; the function that it returns stops it.
func runApp(t *testing.T, a *app.App) func() error {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- a.Run(ctx) }()
	return func() error {
		cancel()
		http.DefaultClient.CloseIdleConnections()
		return <-ended
	}
}

// get requests an address and returns status, header and body.
func get(t *testing.T, url string) (int, http.Header, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close() //nolint:errcheck // It was read.
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, resp.Header, string(body)
}

func TestServes(t *testing.T) {
	a, stop := run(t, config(t))
	base, admin := "http://"+a.Addr(), "http://"+a.AdminAddr()
	if a.URL() != base {
		t.Errorf("the URL is %s, want %s", a.URL(), base)
	}
	tests := map[string]struct {
		url  string
		code int
		body string
	}{
		"alive":                   {base + "/livez", 200, `"ok"`},
		"ready":                   {base + "/readyz", 200, `"database":"ok","schema":"ok"`},
		"version":                 {base + "/readyz", 200, `"version":"` + release.Version + `"`},
		"version in metrics":      {admin + "/metrics", 200, `version="` + release.Version + `"`},
		"healthy":                 {base + "/healthz", 200, `"ok"`},
		"partners' API":           {base + "/v2/licenses", 401, `"error":"missing_credentials"`},
		"operators' API":          {base + "/operator/v1/partners", 401, `"error":"missing_credentials"`},
		"partners' contract":      {base + "/v2/openapi.json", 200, `"openapi":"3.1`},
		"operators' contract":     {base + "/operator/v1/openapi.json", 200, `"openapi":"3.1`},
		"nothing":                 {base + "/nothing", 404, `"error":"`},
		"metrics":                 {admin + "/metrics", 200, "claviger_http_requests_total"},
		"metrics of the database": {admin + "/metrics", 200, "claviger_database_commits_total"},
		"metrics of the process":  {admin + "/metrics", 200, "go_goroutines"},
		"no profiles":             {admin + "/debug/pprof/", 404, `"error":"`},
		"metrics are not public":  {base + "/metrics", 404, `"error":"`},
		"the gallery is dev's":    {base + "/dev/gallery", 404, `"error":"`},
	}
	get(t, base+"/v2/licenses") // request metrics exist after the first request
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			code, _, body := get(t, tt.url)
			if code != tt.code || !strings.Contains(strings.ReplaceAll(body, " ", ""), strings.ReplaceAll(tt.body, " ", "")) {
				t.Errorf("answered %d %.300s, want %d and %s", code, body, tt.code, tt.body)
			}
		})
	}
	if err := stop(); err != nil {
		t.Errorf("it stopped with %v", err)
	}
	if err := a.Close(); err != nil {
		t.Errorf("closing again: %v", err)
	}
	if err := a.Services().DB.Ping(t.Context()); err == nil {
		t.Error("the database is open after the end")
	}
}

func TestPublicURL(t *testing.T) {
	tests := map[string]struct{ addr, public, want string }{
		"set":           {"127.0.0.1:0", "https://licenses.example.com", "https://licenses.example.com"},
		"every address": {":0", "", "http://localhost:"},
		"this machine":  {"127.0.0.1:0", "", "http://127.0.0.1:"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			cfg := config(t)
			cfg.Addr, cfg.PublicURL = tt.addr, tt.public
			a, err := app.New(t.Context(), cfg)
			if err != nil {
				t.Fatal(err)
			}
			if !strings.HasPrefix(a.URL(), tt.want) {
				t.Errorf("the URL is %s, want %s…", a.URL(), tt.want)
			}
			if err := a.Close(); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestTakenPort: a port in use is a start-up error and releases everything.
func TestTakenPort(t *testing.T) {
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close() //nolint:errcheck // It was only held.
	for name, take := range map[string]func(*app.Config){
		"the service's": func(c *app.Config) { c.Addr = l.Addr().String() },
		"the admin's":   func(c *app.Config) { c.AdminAddr = l.Addr().String() },
		"the profiles'": func(c *app.Config) { c.PprofAddr = l.Addr().String() },
	} {
		t.Run(name, func(t *testing.T) {
			cfg := config(t)
			take(&cfg)
			if a, err := app.New(t.Context(), cfg); err == nil {
				t.Error(errors.Join(errors.New("it started on a taken port"), a.Close()))
			}
		})
	}
}

func TestPendingMigrations(t *testing.T) {
	cfg := config(t)
	cfg.DB, cfg.Migrate = filepath.Join(t.TempDir(), "empty.db"), false
	_, err := app.New(t.Context(), cfg)
	if err == nil || !strings.Contains(err.Error(), "run claviger migrate first") {
		t.Fatalf("on an empty database it said %v", err)
	}
	cfg.Migrate = true
	a, err := app.New(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	if err := a.Close(); err != nil {
		t.Error(err)
	}
}

func TestUnreachableDatabase(t *testing.T) {
	for name, db := range map[string]string{
		"folder that is not there": filepath.Join(t.TempDir(), "no", "x.db"),
		"nobody listens":           "postgres://me:hush@127.0.0.1:1/x?sslmode=disable",
	} {
		t.Run(name, func(t *testing.T) {
			cfg := config(t)
			cfg.DB = db
			_, err := app.New(t.Context(), cfg)
			if !errors.Is(err, app.ErrUnreachable) || strings.Contains(err.Error(), "hush") {
				t.Errorf("got %v, want that it is unreachable, without the password", err)
			}
		})
	}
}

// TestWrongKey starts on data sealed with another key.
func TestWrongKey(t *testing.T) {
	cfg := config(t)
	a, err := app.New(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	_, _, _, err = a.Services().Profiles.Enrol(t.Context(), audit.System("test"), partner.Draft{Name: "Acme"}, profile.URLs{}, false, partner.Credentials{})
	if err := errors.Join(err, a.Close()); err != nil {
		t.Fatal(err)
	}
	cfg.SecretKey = strings.Repeat("ff", 32)
	if _, err := app.New(t.Context(), cfg); !errors.Is(err, app.ErrKey) {
		t.Errorf("with another key it said %v", err)
	}
	cfg.SecretKey = "" // and there is no key file
	if _, err := app.New(t.Context(), cfg); !errors.Is(err, app.ErrKey) {
		t.Errorf("without the key it said %v", err)
	}
	if _, err := os.Stat(cfg.KeyFile()); err == nil {
		t.Error("a new key was made for data that is sealed")
	}
	cfg.SecretKey = key
	if a, err = app.New(t.Context(), cfg); err != nil {
		t.Fatalf("with its own key it said %v", err)
	}
	if err := a.Close(); err != nil {
		t.Error(err)
	}
}

// TestStartSaysWhatIsMissing checks the log lines of a first start.
func TestStartSaysWhatIsMissing(t *testing.T) {
	if sqldbtest.Postgres() {
		t.Skip("the key file of a PostgreSQL try-out is in the current folder")
	}
	var log bytes.Buffer
	cfg := config(t)
	cfg.SecretKey = ""
	cfg.Log = slog.New(slog.NewTextHandler(&log, nil))
	a, stop := run(t, cfg)
	get(t, a.URL()+"/healthz")
	if err := stop(); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"created the secret key", "claviger token add", "msg=serving", "msg=stopped"} {
		if !strings.Contains(log.String(), want) {
			t.Errorf("the log does not say %q:\n%s", want, log.String())
		}
	}
}

func TestRateLimit(t *testing.T) {
	tests := map[string]struct {
		limit  int
		header string
	}{"limited": {600, "600"}, "not limited": {0, ""}}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			cfg := config(t)
			cfg.RateLimit = tt.limit
			a, stop := run(t, cfg)
			_, _, keys, err := a.Services().Profiles.Enrol(t.Context(), audit.System("test"), partner.Draft{Name: "Acme"}, profile.URLs{}, false, partner.Credentials{})
			if err != nil {
				t.Fatal(err)
			}
			req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, a.URL()+"/v2/licenses", http.NoBody)
			if err != nil {
				t.Fatal(err)
			}
			req.Header.Set("X-Licensing-Key", keys.APIKey)
			resp, err := http.DefaultClient.Do(req)
			if err != nil {
				t.Fatal(err)
			}
			if err := resp.Body.Close(); err != nil {
				t.Error(err)
			}
			if got := resp.Header.Get("RateLimit-Limit"); resp.StatusCode != 200 || got != tt.header {
				t.Errorf("status %d, RateLimit-Limit %q; want 200 and %q", resp.StatusCode, got, tt.header)
			}
			if err := stop(); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestGuessingPasswords: guessing is limited even without a rate limit for programs.
func TestGuessingPasswords(t *testing.T) {
	cfg := config(t)
	cfg.RateLimit = 0
	a, stop := run(t, cfg)
	refused := false
	for range 100 {
		form := strings.NewReader("email=ann@example.com&password=wrong")
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, a.URL()+"/sign-in", form)
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		if err := resp.Body.Close(); err != nil {
			t.Error(err)
		}
		if refused = resp.StatusCode == http.StatusTooManyRequests; refused {
			break
		}
	}
	if !refused {
		t.Error("a password may be guessed for ever")
	}
	if err := stop(); err != nil {
		t.Error(err)
	}
}

// TestWrongClientSecret: after too many wrong client secrets the sender has to wait, and its API
// key still works.
func TestWrongClientSecret(t *testing.T) {
	a, stop := run(t, config(t))
	_, _, keys, err := a.Services().Profiles.Enrol(t.Context(), audit.System("test"), partner.Draft{Name: "Acme"}, profile.URLs{}, false, partner.Credentials{})
	if err != nil {
		t.Fatal(err)
	}
	ask := func(method, path, body string) int {
		req, err := http.NewRequestWithContext(t.Context(), method, a.URL()+path, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		req.Header.Set("X-Licensing-Key", keys.APIKey)
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		if err := resp.Body.Close(); err != nil {
			t.Error(err)
		}
		return resp.StatusCode
	}
	status := 0
	for n := 0; n < 1000 && status != http.StatusTooManyRequests; n++ {
		status = ask(http.MethodPost, "/openid/token/", "grant_type=refresh_token&refresh_token=x&client_id="+keys.ClientID+"&client_secret=wrong")
	}
	if status != http.StatusTooManyRequests {
		t.Errorf("wrong secrets are answered %d", status)
	}
	if status := ask(http.MethodGet, "/v2/licenses", ""); status != http.StatusOK {
		t.Errorf("the API key is answered %d", status)
	}
	if err := stop(); err != nil {
		t.Error(err)
	}
}

// TestNodes runs two nodes on one PostgreSQL database: both serve, and each reads the other's
// writes.
func TestNodes(t *testing.T) {
	if !sqldbtest.Postgres() {
		t.Skip("an SQLite file has one node")
	}
	cfg := config(t)
	one, stopOne := run(t, cfg)
	two, stopTwo := run(t, cfg)
	p, _, _, err := one.Services().Profiles.Enrol(t.Context(), audit.System("test"), partner.Draft{Name: "Acme"}, profile.URLs{}, false, partner.Credentials{})
	if err != nil {
		t.Fatal(err)
	}
	if got, err := two.Services().Partners.Get(t.Context(), p.ID); err != nil || got.Name != "Acme" {
		t.Errorf("the second node has %+v, %v", got, err)
	}
	if err := errors.Join(stopOne(), stopTwo()); err != nil {
		t.Error(err)
	}
}

func TestNow(t *testing.T) {
	now := app.Now()
	if now.Location() != time.UTC || now.Nanosecond()%1000 != 0 {
		t.Errorf("got %v, want UTC in whole microseconds", now)
	}
}
