package httpd_test

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"claviger/internal/fault"
	"claviger/internal/httpd"
	"claviger/internal/wire"
)

func TestRequestLine(t *testing.T) {
	auth := &wire.AuthRoutes[string]{
		Authenticate: func(r *http.Request) (string, error) { return wire.Credential(r, func(string) bool { return false }) },
		Name:         func(string) string { return "partner:3" },
	}
	h := start(t, &httpd.Server{Handler: wire.NewMux(
		auth.RouteWithQuery("GET", "/v2/licenses/{key}", func(w http.ResponseWriter, _ *http.Request, _ string) error {
			return wire.Text(w, http.StatusOK, "twelve bytes")
		}),
		wire.Public("GET", "/fault", func(http.ResponseWriter, *http.Request) error {
			return fault.New(fault.Conflict, "contact_exists", "anna@example.com is there already.")
		}),
		wire.Public("GET", "/broken", func(http.ResponseWriter, *http.Request) error { return errors.New("the disk is full") }),
	)})
	h.get("/v2/licenses/abc/?access_token=SECRET1&code=SECRET2&client_secret=SECRET3", "Authorization", "Bearer SECRET4", "X-Request-Id", "given-1")
	h.get("/fault", "X-Request-Id", "given-2")
	h.get("/broken?code=SECRET5", "X-Request-Id", "given-3")
	h.get("/nowhere?code=SECRET6", "X-Request-Id", "given-4")
	h.get("/livez")
	lines := h.stop()

	for _, line := range lines {
		if ms, ok := line["duration_ms"].(float64); !ok || ms < 0 || line["time"] == nil {
			t.Errorf("no time in %v", line)
		}
		delete(line, "duration_ms")
		delete(line, "time")
	}
	base := func(over map[string]any) map[string]any {
		m := map[string]any{"level": "INFO", "msg": "request", "method": "GET", "client": "127.0.0.1"}
		for k, v := range over {
			m[k] = v
		}
		return m
	}
	size := func(id string) float64 {
		for _, line := range lines {
			if line["request_id"] == id {
				return line["bytes"].(float64)
			}
		}
		return -1
	}
	want := []map[string]any{
		base(map[string]any{"route": "/v2/licenses/{key}", "path": "/v2/licenses/abc/", "status": 200.0, "bytes": 12.0, "request_id": "given-1", "who": "partner:3"}),
		base(map[string]any{"route": "/fault", "path": "/fault", "status": 409.0, "bytes": size("given-2"), "request_id": "given-2", "fault": "contact_exists"}),
		base(map[string]any{"level": "ERROR", "route": "/broken", "path": "/broken", "status": 500.0, "bytes": size("given-3"), "request_id": "given-3", "err": "the disk is full"}),
		base(map[string]any{"route": "", "path": "/nowhere", "status": 404.0, "bytes": size("given-4"), "request_id": "given-4", "fault": "not_found"}),
	}
	if d := cmp.Diff(want, lines); d != "" {
		t.Errorf("lines (-want +got):\n%s", d)
	}
	if strings.Contains(h.log.text(), "SECRET") || strings.Contains(h.log.text(), "anna@") {
		t.Errorf("the log tells too much:\n%s", h.log.text())
	}
}

func TestRequestID(t *testing.T) {
	h := start(t, &httpd.Server{Handler: nothing})
	tests := []struct {
		name, given string
		taken       bool
	}{
		{"none", "", false},
		{"plain", "Ab.9_x-1", true},
		{"as long as may be", strings.Repeat("a", 64), true},
		{"too long", strings.Repeat("a", 65), false},
		{"with a space", "a b", false},
		{"with a quote", `a"b`, false},
		{"with markup", "<b>", false},
		{"not ASCII", "å", false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := h.get("/", "X-Request-Id", tt.given).header.Get("X-Request-Id")
			if (got == tt.given) != tt.taken || got == "" || !tt.taken && !strings.HasPrefix(got, "req_") {
				t.Errorf("got %q", got)
			}
		})
	}
}

func TestPanic(t *testing.T) {
	h := start(t, &httpd.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Set-Cookie", "half=done")
		if r.URL.Path == "/late" {
			_, _ = w.Write([]byte("half an answer"))
		}
		panic("the secret plan")
	})})
	got := h.get("/early", "X-Request-Id", "given-1")
	if got.status != 500 || !strings.Contains(got.body, `"request_id":"given-1"`) || !strings.Contains(got.body, "internal_error") {
		t.Errorf("got %+v", got)
	}
	if strings.Contains(got.body, "plan") || got.header.Get("Set-Cookie") != "" {
		t.Errorf("too much of the panic was answered: %+v", got)
	}
	r, err := http.NewRequestWithContext(t.Context(), "GET", "http://"+h.Addr()+"/late", nil)
	if err != nil {
		t.Fatal(err)
	}
	if resp, err := h.client.Do(r); err == nil {
		_ = resp.Body.Close()
		t.Error("an answer that broke off looked whole")
	}
	lines := h.stop()
	if len(lines) != 2 {
		t.Fatalf("got %d lines, want one per request: %v", len(lines), lines)
	}
	for _, line := range lines {
		stack, _ := line["stack"].(string)
		if line["level"] != "ERROR" || line["err"] != "panic: the secret plan" || !strings.Contains(stack, "request_test.go") {
			t.Errorf("line %v", line)
		}
	}
}

func TestAbortIsNoPanic(t *testing.T) {
	h := start(t, &httpd.Server{Handler: http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) })})
	r, err := http.NewRequestWithContext(t.Context(), "GET", "http://"+h.Addr()+"/", nil)
	if err != nil {
		t.Fatal(err)
	}
	if resp, err := h.client.Do(r); err == nil {
		_ = resp.Body.Close()
		t.Error("an aborted request was answered")
	}
	if lines := h.stop(); len(lines) != 1 || lines[0]["stack"] != nil || lines[0]["level"] != "INFO" {
		t.Errorf("lines %v", lines)
	}
}

// waiting is a route that does nothing until its context ends.
func waiting(entered chan<- struct{}) http.Handler {
	return wire.NewMux(wire.Public("GET", "/", func(_ http.ResponseWriter, r *http.Request) error {
		close(entered)
		<-r.Context().Done()
		return errors.New("interrupted")
	}))
}

func TestRequestDeadline(t *testing.T) {
	h := start(t, &httpd.Server{Handler: waiting(make(chan struct{})), Timeouts: httpd.Timeouts{Request: time.Millisecond}})
	got := h.get("/")
	if got.status != 503 || got.header.Get("Retry-After") == "" || !strings.Contains(got.body, `"unavailable"`) {
		t.Errorf("got %+v", got)
	}
}

func TestClientGone(t *testing.T) {
	entered := make(chan struct{})
	h := start(t, &httpd.Server{Handler: waiting(entered)})
	ctx, cancel := context.WithCancel(t.Context())
	r, err := http.NewRequestWithContext(ctx, "GET", "http://"+h.Addr()+"/", nil)
	if err != nil {
		t.Fatal(err)
	}
	go func() {
		<-entered
		cancel()
	}()
	if resp, err := h.client.Do(r); err == nil {
		_ = resp.Body.Close()
	}
	lines := h.stop()
	if len(lines) != 1 || lines[0]["level"] != "INFO" || lines[0]["client_gone"] != true || lines[0]["status"] != 499.0 {
		t.Errorf("lines %v", lines)
	}
}

func TestLongPathIsCut(t *testing.T) {
	h := start(t, &httpd.Server{Handler: wire.NewMux(wire.Public("GET", "/{name}", func(w http.ResponseWriter, _ *http.Request) error {
		return wire.NoContent(w)
	}))})
	h.get("/" + strings.Repeat("x", 5000))
	h.get("/" + strings.Repeat("/x", 5000))
	for _, line := range h.stop() {
		if path, _ := line["path"].(string); len(path) < 500 || len(path) > 600 {
			t.Errorf("the line shows %d bytes of the path", len(path))
		}
	}
}

// TestPathWithoutRouteTellsNoSecret: a wrongly copied link with a secret in its path is a 404, and
// not in the log either.
func TestPathWithoutRouteTellsNoSecret(t *testing.T) {
	const id = "b3631290-bc02-499a-a052-9a963fc3c991"
	route := wire.Public("GET", "/licensing/{id}/redeem", func(w http.ResponseWriter, _ *http.Request) error { return wire.NoContent(w) })
	route.SecretPath = true
	h := start(t, &httpd.Server{Handler: wire.NewMux(route)})
	for _, path := range []string{"/licensing/" + id + "/redeem", "/licensing/" + id + "/redeem.", "/licensing/" + id, "//licensing/" + id + "/redeem", "/" + id + ")"} {
		h.get(path)
	}
	var got []any
	for _, line := range h.stop() {
		got = append(got, line["path"])
	}
	want := []any{"/licensing/{id}/redeem", "/licensing/…/redeem.", "/licensing/…", "//licensing/…/redeem", "/…"}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("paths in the log (-want +got):\n%s", d)
	}
}

func TestMaxHeaderBytes(t *testing.T) {
	h := start(t, &httpd.Server{Handler: nothing, MaxHeaderBytes: 1024})
	if got := h.get("/", "X-Large", strings.Repeat("x", 20_000)); got.status != http.StatusRequestHeaderFieldsTooLarge {
		t.Errorf("got %d", got.status)
	}
}

// TestTheConnectionIsReachable guards the wrapper of the response writer.
func TestTheConnectionIsReachable(t *testing.T) {
	h := start(t, &httpd.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusEarlyHints)
		if err := http.NewResponseController(w).Flush(); err != nil {
			t.Errorf("flush: %v", err)
		}
	})})
	if got := h.get("/"); got.status != 200 {
		t.Errorf("got %d", got.status)
	}
}
