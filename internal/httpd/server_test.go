package httpd_test

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"

	"claviger/internal/httpd"
	"claviger/internal/wire"
)

func TestTakenPortIsAnErrorAtTheStart(t *testing.T) {
	h := start(t, &httpd.Server{Handler: nothing})
	for _, s := range []*httpd.Server{
		{Address: h.Addr(), Handler: nothing},
		{Address: "127.0.0.1:0", AdminAddress: h.Addr(), Handler: nothing},
		{Address: "127.0.0.1:0", AdminAddress: "127.0.0.1:0", PprofAddress: h.Addr(), Handler: nothing},
		{Address: "nonsense", Handler: nothing},
	} {
		if err := s.Listen(t.Context()); err == nil {
			t.Errorf("listened on %s and %s", s.Address, s.AdminAddress)
		}
		if err := s.Stop(t.Context()); err != nil {
			t.Errorf("stop of what never listened: %v", err)
		}
	}
}

func TestHealth(t *testing.T) {
	var broken error
	h := start(t, &httpd.Server{
		AdminAddress: "127.0.0.1:0",
		Handler:      nothing,
		Ready: []httpd.Check{
			{Name: "database", Ask: func(ctx context.Context) error {
				if _, bounded := ctx.Deadline(); !bounded {
					return errors.New("no deadline")
				}
				return broken
			}},
			{Name: "migrations", Ask: func(context.Context) error { return nil }},
		},
	})
	check := func(path string, status int, body string) {
		t.Helper()
		for _, base := range []string{h.Addr(), h.AdminAddr()} {
			got := h.do("GET", "http://"+base+path)
			if got.status != status || got.body != body {
				t.Errorf("%s: got %d %s, want %d %s", path, got.status, got.body, status, body)
			}
		}
	}
	const ok = `{"status":"ok","checks":{"database":"ok","migrations":"ok"}}`
	check("/livez", 200, `{"status":"ok"}`)
	check("/readyz", 200, ok)
	check("/readyz/", 200, ok)
	check("/healthz", 200, ok)
	broken = errors.New("dial tcp 10.0.0.5:5432: connection refused")
	check("/livez", 200, `{"status":"ok"}`)
	check("/readyz", 503, `{"status":"unavailable","checks":{"database":"failed","migrations":"ok"}}`)
	if got := h.do("POST", "http://"+h.Addr()+"/readyz"); got.status != 405 || got.header.Get("Allow") != "GET, HEAD" {
		t.Errorf("POST: got %+v", got)
	}
	lines := h.stop()
	if len(lines) != 2 || lines[0]["level"] != "ERROR" || !strings.Contains(lines[0]["err"].(string), "database: dial tcp") {
		t.Errorf("only the failure and the wrong method are worth a line: %v", lines)
	}
}

func TestMetrics(t *testing.T) {
	reg := prometheus.NewRegistry()
	h := start(t, &httpd.Server{
		AdminAddress: "127.0.0.1:0",
		Metrics:      reg,
		Handler: wire.NewMux(wire.Public("GET", "/v2/licenses/{key}", func(w http.ResponseWriter, _ *http.Request) error {
			return wire.Text(w, http.StatusOK, "x")
		})),
	})
	h.get("/v2/licenses/a?access_token=SECRET")
	h.get("/v2/licenses/b/")
	h.get("/SECRET")
	h.do("BREW", "http://"+h.Addr()+"/SECRET")
	got := h.do("GET", "http://"+h.AdminAddr()+"/metrics").body
	for _, want := range []string{
		`claviger_http_requests_total{class="2xx",method="GET",route="/v2/licenses/{key}"} 2`,
		`claviger_http_requests_total{class="4xx",method="GET",route="none"} 1`,
		`claviger_http_requests_total{class="4xx",method="other",route="none"} 1`,
		`claviger_http_request_duration_seconds_count{method="GET",route="/v2/licenses/{key}"} 2`,
		`claviger_http_requests_in_flight 0`,
	} {
		if !strings.Contains(got, want+"\n") {
			t.Errorf("no %s in\n%s", want, got)
		}
	}
	if strings.Contains(got, "SECRET") {
		t.Error("a client added to the labels")
	}
	if got := h.get("/metrics"); got.status != 404 {
		t.Errorf("metrics are public: %d", got.status)
	}
	if err := (&httpd.Server{Address: "127.0.0.1:0", Handler: nothing, Metrics: reg}).Listen(t.Context()); err == nil {
		t.Error("two servers count into the same metrics")
	}
}

// TestProfilesAreApart: profiles have a listener of their own, and none without an address.
func TestProfilesAreApart(t *testing.T) {
	const path = "/debug/pprof/cmdline"
	h := start(t, &httpd.Server{AdminAddress: "127.0.0.1:0", PprofAddress: "127.0.0.1:0", Handler: nothing})
	if got := h.do("GET", "http://"+h.PprofAddr()+path); got.status != 200 {
		t.Errorf("on their own address: %d", got.status)
	}
	if got := h.do("GET", "http://"+h.PprofAddr()+"/metrics"); got.status != 404 {
		t.Errorf("the metrics are there, too: %d", got.status)
	}
	if got := h.do("GET", "http://"+h.AdminAddr()+path); got.status != 404 {
		t.Errorf("on the admin address: %d", got.status)
	}
	if got := start(t, &httpd.Server{AdminAddress: "127.0.0.1:0", Handler: nothing}).PprofAddr(); got != "" {
		t.Errorf("without an address they are at %s", got)
	}
}

// events records events in order.
type events struct {
	mu   sync.Mutex
	list []string
}

func (e *events) add(s string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.list = append(e.list, s)
}

// bounded checks the context of a stop function.
func bounded(ctx context.Context) error {
	if _, ok := ctx.Deadline(); !ok || ctx.Err() != nil {
		return errUnbounded
	}
	return nil
}

var errUnbounded = errors.New("a stop function got a context that has ended or never does")

func TestStopInOrder(t *testing.T) {
	var happened events
	entered, finish := make(chan struct{}), make(chan struct{})
	broken := errors.New("cannot hand back")
	s := &httpd.Server{
		AdminAddress: "127.0.0.1:0",
		Timeouts:     httpd.Timeouts{Notice: time.Hour},
		OnStop: []func(context.Context) error{
			func(context.Context) error { happened.add("dispatcher"); return broken },
			func(ctx context.Context) error { happened.add("database"); return bounded(ctx) },
		},
		Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			close(entered)
			<-finish
			happened.add("request")
			_ = wire.Text(w, http.StatusOK, "done")
		}),
	}
	h := start(t, s)
	h.done = true // it is stopped here
	answered := make(chan answer, 1)
	go func() { answered <- h.get("/slow") }()
	<-entered

	stopped := make(chan error, 2)
	notice, noticed := context.WithCancel(context.WithoutCancel(t.Context()))
	defer noticed()
	go func() { stopped <- s.Stop(notice) }()
	// It turns unready first, and still serves.
	for h.get("/readyz").status != http.StatusServiceUnavailable {
		continue
	}
	if got := h.get("/readyz"); got.body != `{"status":"draining"}` {
		t.Errorf("while stopping: %s", got.body)
	}
	if got := h.get("/livez"); got.status != 200 {
		t.Errorf("while stopping it is alive: %d", got.status)
	}
	close(finish)
	if got := <-answered; got.body != "done" {
		t.Errorf("the running request got %+v", got)
	}
	noticed() // the notice is over
	go func() { stopped <- s.Stop(t.Context()) }()
	for range 2 {
		if err := <-stopped; !errors.Is(err, broken) || errors.Is(err, errUnbounded) {
			t.Errorf("stop: got %v", err)
		}
	}
	if err := <-h.ran; !errors.Is(err, broken) {
		t.Errorf("run: got %v", err)
	}
	if d := cmp.Diff([]string{"request", "dispatcher", "database"}, happened.list); d != "" {
		t.Errorf("order (-want +got):\n%s", d)
	}
	h.checkSilent()
}

// checkSilent checks that no listener is left.
func (h *harness) checkSilent() {
	h.t.Helper()
	for _, addr := range []string{h.Addr(), h.AdminAddr()} {
		if resp, err := h.open("http://" + addr + "/livez"); err == nil {
			_ = resp.Body.Close()
			h.t.Errorf("%s still answers", addr)
		}
	}
}

func TestStopWaitsForRequests(t *testing.T) {
	var happened events
	entered, closing := make(chan struct{}), make(chan struct{})
	s := &httpd.Server{
		OnStop: []func(context.Context) error{func(context.Context) error { happened.add("stop"); return nil }},
		Handler: http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
			close(entered)
			<-closing
			happened.add("request")
		}),
	}
	h := start(t, s)
	h.done = true
	answered := make(chan answer, 1)
	go func() { answered <- h.get("/slow") }()
	<-entered
	stopped := make(chan error, 1)
	go func() { stopped <- s.Stop(context.WithoutCancel(t.Context())) }()
	for { // accepts nothing new while one request is running
		resp, err := h.open("http://" + h.Addr() + "/livez")
		if err != nil {
			break
		}
		_ = resp.Body.Close()
	}
	close(closing)
	if got := <-answered; got.status != 200 {
		t.Errorf("the running request got %+v", got)
	}
	if err := errors.Join(<-stopped, <-h.ran); err != nil {
		t.Error(err)
	}
	if d := cmp.Diff([]string{"request", "stop"}, happened.list); d != "" {
		t.Errorf("order (-want +got):\n%s", d)
	}
}

func TestStopIsBounded(t *testing.T) {
	entered, left := make(chan struct{}), make(chan struct{})
	h := start(t, &httpd.Server{
		Timeouts: httpd.Timeouts{Drain: time.Millisecond, Request: time.Hour},
		Handler: http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			close(entered)
			<-r.Context().Done()
			close(left)
		}),
	})
	h.done = true
	go func() {
		if resp, err := h.open("http://" + h.Addr() + "/stuck"); err == nil {
			_ = resp.Body.Close()
		}
	}()
	<-entered
	if err := h.Stop(t.Context()); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("stop: got %v", err)
	}
	<-left // its context has ended
	if err := <-h.ran; !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("run: got %v", err)
	}
}

func TestRunEndsWithItsContext(t *testing.T) {
	s := &httpd.Server{Address: "127.0.0.1:0", AdminAddress: "127.0.0.1:0", Handler: nothing}
	if err := s.Listen(t.Context()); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := s.Run(ctx); err != nil {
		t.Error(err)
	}
}

func TestStopWithoutRun(t *testing.T) {
	s := &httpd.Server{
		Address: "127.0.0.1:0", AdminAddress: "127.0.0.1:0", PprofAddress: "127.0.0.1:0", Handler: nothing,
	}
	if err := s.Listen(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := s.Stop(t.Context()); err != nil {
		t.Error(err)
	}
	again := &httpd.Server{
		Address: s.Addr(), AdminAddress: s.AdminAddr(), PprofAddress: s.PprofAddr(), Handler: nothing,
	}
	if err := again.Listen(t.Context()); err != nil {
		t.Errorf("the ports were not given back: %v", err)
	}
	if err := again.Stop(t.Context()); err != nil {
		t.Error(err)
	}
}
