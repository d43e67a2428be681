package courier_test

import (
	"bufio"
	"database/sql"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	_ "github.com/ncruces/go-sqlite3/driver"

	"claviger/internal/courier"
)

const upsert = `INSERT INTO licenses (license_key, status, tier, event_id) VALUES ($1, $2, $3, $4)
	ON CONFLICT (license_key) DO UPDATE SET status = excluded.status, tier = excluded.tier, event_id = excluded.event_id
	WHERE excluded.event_id > licenses.event_id`

func handler(secret string, db *sql.DB) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, 64<<10))
		if err != nil || !verify(secret, r.Header.Get("X-Licensing-Timestamp"), r.Header.Get("X-Licensing-Signature"), body, time.Now()) {
			http.Error(w, `{"success":false}`, http.StatusUnauthorized)
			return
		}
		var e struct {
			Key     string `json:"license_key"`
			Status  string `json:"license_status"`
			Tier    int    `json:"tier"`
			EventID int64  `json:"event_id"`
			Test    bool   `json:"test"`
		}
		if err = json.Unmarshal(body, &e); err == nil && !e.Test {
			_, err = db.ExecContext(r.Context(), upsert, e.Key, e.Status, e.Tier, e.EventID)
		}
		if err != nil { // we send it again
			http.Error(w, `{"success":false}`, http.StatusInternalServerError)
			return
		}
		_, _ = io.WriteString(w, `{"success":true}`)
	}
}

const (
	handlerSecret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSwZ2tJ4cD1xY8="
	handlerTable  = `CREATE TABLE licenses (license_key TEXT PRIMARY KEY, status TEXT NOT NULL, tier INTEGER NOT NULL, event_id BIGINT NOT NULL)`
	handlerRead   = `SELECT status || ' ' || tier || ' ' || event_id FROM licenses`
)

// servers run the page's handlers: a POST goes to the handler, a GET returns the stored rows. Each
// prints a line with its port when it listens.
var servers = map[string]struct{ program, file, code string }{
	"js": {"node", "server.js", `
const rows = new Map(); // what the statement does, by hand: this Node has no SQLite
const store = async (text, [key, status, tier, id]) => {
  if (!rows.has(key) || id > rows.get(key).id) rows.set(key, { status, tier, id });
};
const handle = handler(process.argv[2], store);
const server = require("node:http").createServer((req, res) => {
  if (req.method === "POST") return handle(req, res);
  res.end([...rows.values()].map((r) => [r.status, r.tier, r.id].join(" ")).join("\\n"));
});
server.listen(0, "127.0.0.1", () => console.log("port " + server.address().port));`},
	"python": {"python3", "server.py", `
import sqlite3, sys
from wsgiref.simple_server import make_server, WSGIRequestHandler
class Quiet(WSGIRequestHandler):
    def log_message(self, *args): pass
db = sqlite3.connect(":memory:")
db.execute("` + handlerTable + `")
handle = handler(sys.argv[1], db)
def serve(environ, start_response):
    if environ["REQUEST_METHOD"] == "POST":
        return handle(environ, start_response)
    start_response("200 OK", [])
    return ["\\n".join(row[0] for row in db.execute("` + handlerRead + `")).encode()]
server = make_server("127.0.0.1", 0, serve, handler_class=Quiet)
print("port", server.server_port, flush=True)
server.serve_forever()`},
	"php": {"php", "server.php", `
$db = new PDO('sqlite:' . __DIR__ . '/hook.db');
$db->exec(str_replace('TABLE', 'TABLE IF NOT EXISTS', '` + handlerTable + `'));
if ($_SERVER['REQUEST_METHOD'] === 'POST') { handle(getenv('HOOK_SECRET'), $db); return; }
echo implode("\\n", $db->query("` + handlerRead + `")->fetchAll(PDO::FETCH_COLUMN));`},
}

// start runs the server of a language and returns its URL.
func start(t *testing.T, language string) string {
	t.Helper()
	s := servers[language]
	path, file := program(t, s.program), source(t, language, s.file, s.code)
	args, port := []string{file, handlerSecret}, ""
	if language == "php" { // PHP's server cannot choose a port
		_, port, _ = net.SplitHostPort(closedPort(t))
		args = []string{"-S", "127.0.0.1:" + port, "-t", filepath.Dir(file), file}
	}
	run := exec.CommandContext(t.Context(), path, args...)
	run.Env = append(os.Environ(), "HOOK_SECRET="+handlerSecret)
	out, in := io.Pipe()
	run.Stdout, run.Stderr = in, in
	if err := run.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = run.Process.Kill()
		_ = run.Wait()
		_ = in.Close()
	})
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		if told, ok := strings.CutPrefix(lines.Text(), "port "); ok {
			port = told
		} else if !strings.Contains(lines.Text(), "started") {
			continue
		}
		go func() { _, _ = io.Copy(io.Discard, out) }() // its log
		return "http://127.0.0.1:" + port
	}
	t.Fatalf("%s ended without listening", language)
	return ""
}

// TestHandlers posts real webhooks and malicious requests to the page's handlers.
func TestHandlers(t *testing.T) {
	t.Run("go", func(t *testing.T) {
		db, err := sql.Open("sqlite3", "file:"+filepath.Join(t.TempDir(), "hook.db"))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = db.Close() })
		if _, err := db.ExecContext(t.Context(), handlerTable); err != nil {
			t.Fatal(err)
		}
		handle := handler(handlerSecret, db)
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Method == http.MethodPost {
				handle(w, r)
				return
			}
			var row string
			_ = db.QueryRowContext(r.Context(), handlerRead).Scan(&row)
			_, _ = io.WriteString(w, row)
		}))
		t.Cleanup(s.Close)
		handles(t, s.URL)
	})
	for language := range servers {
		t.Run(language, func(t *testing.T) { handles(t, start(t, language)) })
	}
}

// handles tests a handler over the life of a license.
func handles(t *testing.T, url string) {
	t.Helper()
	client := local(t)
	stored := func() string {
		t.Helper()
		a, err := client.Send(t.Context(), courier.Request{Method: "GET", URL: url})
		if err != nil {
			t.Fatal(err)
		}
		return a.Body
	}
	event := func(id int64, kind, status string, tier int) courier.Event {
		return courier.Event{LicenseKey: "5f2b9f0e-2f0b-4d6f-9d0a-6f6f2f1f0d11", Kind: kind, Status: status, EventID: id, Tier: tier, At: time.Now(), CreatedAt: time.Now(), Reason: "redeemed", Sentence: "“é” & <b>"}
	}
	purchase, activate := event(1, "purchase", "inactive", 1), event(2, "activate", "active", 2)
	trial := event(1794735000, "deactivate", "deactivated", 1)
	trial.Test = true
	forged := event(3, "deactivate", "deactivated", 2)
	for _, step := range []struct {
		name   string
		event  courier.Event
		secret string
		status int
		stored string
	}{
		{"purchase", purchase, handlerSecret, 200, "inactive 1 1"},
		{"activate", activate, handlerSecret, 200, "active 2 2"},
		{"the same again", activate, handlerSecret, 200, "active 2 2"},
		{"an older one", purchase, handlerSecret, 200, "active 2 2"},
		{"a test", trial, handlerSecret, 200, "active 2 2"},
		{"another's signature", forged, "whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD/qW9eRtYuIo=", 401, "active 2 2"},
		{"deactivate", forged, handlerSecret, 200, "deactivated 2 3"},
	} {
		body := courier.Body(step.event)
		header := courier.Signer{}.Headers(step.event.EventID, 1, time.Now(), courier.NewSecrets(step.secret), body)
		a, err := client.Send(t.Context(), courier.Request{Method: "POST", URL: url, Header: header, Body: body})
		if err != nil {
			t.Fatalf("%s: %v", step.name, err)
		}
		took, why := courier.Delivered(a.Status, a.Body, step.status == 200)
		if got := stored(); a.Status != step.status || took != (step.status == 200) || strings.TrimSpace(got) != step.stored {
			t.Errorf("%s: %d %s (%s), stored %q; want %d and %q", step.name, a.Status, a.Body, why, got, step.status, step.stored)
		}
	}
	for name, lines := range strange() {
		if status := shout(t, url, lines); status < 400 || status > 499 {
			t.Errorf("%s: answered %d", name, status)
		}
	}
	if got := strings.TrimSpace(stored()); got != "deactivated 2 3" {
		t.Errorf("strangers changed it to %q", got)
	}
}

// strange returns malformed requests: header lines and a body.
func strange() map[string]string {
	const t, s, empty = "X-Licensing-Timestamp: ", "X-Licensing-Signature: ", "Content-Length: 0\r\n\r\n"
	now := fmt.Sprint(time.Now().UnixMilli())
	good := strings.Repeat("a", 64)
	return map[string]string{
		"nothing":          empty,
		"no signature":     t + now + "\r\n" + empty,
		"no timestamp":     s + good + "\r\n" + empty,
		"empty":            t + "\r\n" + s + "\r\n" + empty,
		"not hex":          t + now + "\r\n" + s + strings.Repeat("z", 64) + "\r\n" + empty,
		"bytes":            t + now + "\r\n" + s + strings.Repeat("\xff", 64) + "\r\n" + empty,
		"accents":          t + now + "\r\n" + s + strings.Repeat("é", 32) + "\r\n" + empty,
		"digits of others": t + "١٢٣\r\n" + s + good + "\r\n" + empty,
		"superscript":      t + "\xb2\r\n" + s + good + "\r\n" + empty,
		"huge":             t + strings.Repeat("9", 4500) + "\r\n" + s + strings.Repeat("a", 2000) + "\r\n" + empty,
		"twice":            t + now + "\r\n" + t + now + "\r\n" + s + good + "\r\n" + s + good + "\r\n" + empty,
		"a form":           "Content-Type: application/x-www-form-urlencoded\r\n" + t + now + "\r\n" + s + good + "\r\nContent-Length: 3\r\n\r\na=b",
		"odd body":         t + now + "\r\n" + s + good + "\r\nContent-Length: 4\r\n\r\n\x00\xff{]",
		"large body":       t + now + "\r\n" + s + good + "\r\nContent-Length: 70000\r\n\r\n" + strings.Repeat("x", 70000),
	}
}

// shout sends the lines unchanged and returns the status of the answer.
func shout(t *testing.T, url, lines string) int {
	t.Helper()
	address := strings.TrimPrefix(url, "http://")
	c, err := net.Dial("tcp", address) //nolint:noctx // the deadline follows
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close() //nolint:errcheck // all was read
	if err := c.SetDeadline(time.Now().Add(20 * time.Second)); err != nil {
		t.Fatal(err)
	}
	go func() {
		_, _ = io.WriteString(c, "POST / HTTP/1.1\r\nHost: "+address+"\r\nConnection: close\r\n"+lines)
	}()
	answer, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil {
		t.Errorf("no answer: %v", err)
		return 0
	}
	_ = answer.Body.Close()
	return answer.StatusCode
}

// closedPort returns an address without a listener.
func closedPort(t *testing.T) string {
	t.Helper()
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close() //nolint:errcheck // it was only there for its port
	return l.Addr().String()
}
