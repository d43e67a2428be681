package httpd_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"testing"

	"go.uber.org/goleak"

	"claviger/internal/httpd"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// logbook is a log that may be read after the server has stopped.
type logbook struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *logbook) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *logbook) text() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// harness is a server under test, its log and a client.
type harness struct {
	*httpd.Server
	t      *testing.T
	log    *logbook
	client *http.Client
	ran    chan error
	done   bool
}

// start listens on free ports and runs. The server is stopped with the test at
// the latest.
func start(t *testing.T, s *httpd.Server) *harness {
	t.Helper()
	h := &harness{Server: s, t: t, log: &logbook{}, ran: make(chan error, 1)}
	s.Address = "127.0.0.1:0"
	s.Log = slog.New(slog.NewJSONHandler(h.log, nil))
	if err := s.Listen(t.Context()); err != nil {
		t.Fatal(err)
	}
	h.client = &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	go func() { h.ran <- s.Run(context.WithoutCancel(t.Context())) }()
	t.Cleanup(func() { h.stop() })
	return h
}

// stop stops the server and returns its log lines.
func (h *harness) stop() []map[string]any {
	h.t.Helper()
	if !h.done {
		h.done = true
		if err := h.Stop(context.WithoutCancel(h.t.Context())); err != nil {
			h.t.Errorf("stop: %v", err)
		}
		if err := <-h.ran; err != nil {
			h.t.Errorf("run: %v", err)
		}
	}
	var lines []map[string]any
	for line := range strings.Lines(h.log.text()) {
		var v map[string]any
		if err := json.Unmarshal([]byte(line), &v); err != nil {
			h.t.Fatalf("the log line %q is no JSON: %v", line, err)
		}
		lines = append(lines, v)
	}
	return lines
}

// answer is an answer with its body.
type answer struct {
	status int
	header http.Header
	body   string
}

func (h *harness) do(method, url string, header ...string) answer {
	h.t.Helper()
	r, err := http.NewRequestWithContext(h.t.Context(), method, url, nil)
	if err != nil {
		h.t.Fatal(err)
	}
	for i := 0; i < len(header); i += 2 {
		r.Header.Add(header[i], header[i+1])
	}
	resp, err := h.client.Do(r)
	if err != nil {
		h.t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		h.t.Fatal(err)
	}
	return answer{resp.StatusCode, resp.Header, string(b)}
}

// open sends a request; the test handles the answer or its absence.
func (h *harness) open(url string) (*http.Response, error) {
	r, err := http.NewRequestWithContext(h.t.Context(), http.MethodGet, url, nil)
	if err != nil {
		return nil, err
	}
	return h.client.Do(r)
}

func (h *harness) get(path string, header ...string) answer {
	h.t.Helper()
	return h.do(http.MethodGet, "http://"+h.Addr()+path, header...)
}

// nothing answers 200 without a body.
var nothing = http.HandlerFunc(func(http.ResponseWriter, *http.Request) {})
