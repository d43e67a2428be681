package devserver_test

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"claviger/internal/app"
	"claviger/internal/devserver"
)

// terminal is the developer's terminal.
type terminal struct {
	mu   sync.Mutex
	text bytes.Buffer
	more chan struct{} // a line was added
}

func newTerminal() *terminal { return &terminal{more: make(chan struct{}, 1)} }

func (w *terminal) Write(b []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	select {
	case w.more <- struct{}{}:
	default:
	}
	return w.text.Write(b)
}

func (w *terminal) String() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.text.String()
}

// waitFor waits until a line matches the pattern, and returns it.
func (w *terminal) waitFor(t *testing.T, pattern string) string {
	t.Helper()
	find := regexp.MustCompile("(?m)^" + pattern + "$")
	for end := time.After(time.Minute); ; { // only a failing test waits this long
		if found := find.FindString(w.String()); found != "" {
			return found
		}
		select {
		case <-w.more:
		case <-end:
			t.Fatalf("no line is %s:\n%s", pattern, w)
		}
	}
}

// short makes the server write short lines.
func (w *terminal) short(cfg *devserver.Config) {
	cfg.App.Log, cfg.App.LogFormat, cfg.Lines = nil, app.Short, w
}

// at matches the time at the start of a line.
const at = `\d\d:\d\d:\d\d  `

// TestLines: events have short lines, with the reasons of refusals, and without pages, assets and
// health checks.
func TestLines(t *testing.T) {
	lines := newTerminal()
	w := run(t, lines.short)
	key := w.sell(t).Key
	end := key[len(key)-4:]
	lines.waitFor(t, at+`purchase → 201 in [\d.]+ ms`)
	lines.waitFor(t, at+`webhook purchase → 200 in [\d.]+ ms   license …`+end)
	w.send(t, "GET", "/v2/licenses/"+key, "", "", http.Header{"Authorization": {"Bearer " + w.Partner.APIKey}})
	lines.waitFor(t, at+`api GET /v2/licenses/`+key+` → 200 in [\d.]+ ms   license …`+end)
	w.send(t, "GET", "/v2/licenses", "", "", http.Header{"Authorization": {"Bearer wrong"}})
	lines.waitFor(t, at+`WARN api GET /v2/licenses → 401 in [\d.]+ ms   invalid_key: The API key is not valid.*`)
	w.submit(t, "/sign-in/send", url.Values{"email": {w.Buyer.Email}})
	lines.waitFor(t, at+`mail "Your sign-in link[^"]*" to buyer@example.com   /dev/mail/\d+`)
	w.send(t, "POST", "/sign-in", "application/x-www-form-urlencoded", url.Values{"email": {w.Buyer.Email}, "password": {w.Buyer.Password}}.Encode(), nil)
	w.open(t, "/healthz")
	w.open(t, "/").has(t, http.StatusOK)
	w.submit(t, "/products/1/buy", url.Values{"tier": {"2"}})
	lines.waitFor(t, at+`purchase in the shop → 303 in [\d.]+ ms`)
	for _, unwanted := range []string{"healthz", "GET / ", "assets", "request_id", "level=", "\x1b"} {
		if strings.Contains(lines.String(), unwanted) {
			t.Errorf("the lines have %q:\n%s", unwanted, lines)
		}
	}
}

// TestFailedWebhookLine: a failed webhook is a warning in color, with its cause and the time of the
// next attempt.
func TestFailedWebhookLine(t *testing.T) {
	application := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		w.WriteHeader(http.StatusInternalServerError)
	}))
	t.Cleanup(application.Close)
	lines := newTerminal()
	w := run(t, lines.short, func(cfg *devserver.Config) { cfg.Webhook, cfg.Color = application.URL, true })
	w.sell(t)
	lines.waitFor(t, `\x1b\[90m`+strings.TrimSpace(at)+`\x1b\[0m  \x1b\[33mWARN webhook purchase → 500 in [\d.]+ ms   license ….{4}   .+   attempt 1 of \d+, next in \S+\x1b\[0m`)
}

// TestQuietLines: --log-level warn shows only failures.
func TestQuietLines(t *testing.T) {
	lines := newTerminal()
	w := run(t, lines.short, func(cfg *devserver.Config) { cfg.App.LogLevel = 4 })
	w.sell(t)
	w.send(t, "GET", "/v2/licenses", "", "", http.Header{"Authorization": {"Bearer wrong"}})
	lines.waitFor(t, at+`WARN api GET /v2/licenses → 401.*`)
	if strings.Contains(lines.String(), "purchase") {
		t.Errorf("what went well is told too:\n%s", lines)
	}
}

// TestWholeLog: the configured log gets every record unchanged, without texts of refusals.
func TestWholeLog(t *testing.T) {
	log := newTerminal()
	w := run(t, func(cfg *devserver.Config) {
		cfg.App.LogFormat = app.JSON
		cfg.App.Log = cfg.App.Logger(log)
	})
	w.sell(t)
	w.send(t, "GET", "/v2/licenses", "", "", http.Header{"Authorization": {"Bearer wrong"}})
	log.waitFor(t, `\{.*"msg":"webhook attempt".*"event":"purchase".*\}`)
	if got := log.waitFor(t, `\{.*"msg":"request".*"status":401.*\}`); !strings.Contains(got, `"fault":"invalid_key"`) || strings.Contains(got, "Bearer") {
		t.Errorf("the line is %s", got)
	}
}
