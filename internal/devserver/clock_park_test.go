package devserver_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"sync/atomic"
	"testing"
	"time"

	"claviger/internal/devserver"
)

// endpointState returns the health of the partner's endpoint.
func (w *harness) endpointState(t *testing.T) string {
	t.Helper()
	var p struct{ Endpoint struct{ State string } }
	w.ask(t, w.OperatorToken, "GET", "/operator/v1/partners/1", "", &p)
	return p.Endpoint.State
}

// TestTimeParks: a failing endpoint is parked after an hour of the service's time, not before. It
// is probed and reopened as time advances.
func TestTimeParks(t *testing.T) {
	var works atomic.Bool
	application := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if !works.Load() {
			w.WriteHeader(http.StatusInternalServerError)
		}
	}))
	t.Cleanup(application.Close)
	lines := newTerminal()
	w := run(t, lines.short, func(cfg *devserver.Config) {
		const soon, later = time.Millisecond, time.Minute
		cfg.Webhook, cfg.App.Retry = application.URL, []time.Duration{soon, soon, soon, soon, later, later, later, later}
	})
	// A license has one attempt at a time, so each move leads to one. An attempt is reported once
	// it is recorded with its effect on the endpoint.
	w.control(t, "buy", url.Values{"tier": {"1"}}).has(t, 200)
	for _, step := range []struct {
		by      string // "": time is not moved
		attempt int
		state   string
	}{
		{"", 5, "failing"}, // enough failures, but not for an hour
		{"50m", 6, "failing"},
		{"15m", 7, "parked"},
		{"6m", 8, "parked"}, // a probe
	} {
		if step.by != "" {
			w.submit(t, "/dev/time", url.Values{"by": {step.by}}).has(t, 200)
		}
		lines.waitFor(t, fmt.Sprintf(at+`WARN webhook purchase → 500 .*attempt %d of 9.*`, step.attempt))
		if got := w.endpointState(t); got != step.state {
			t.Errorf("after attempt %d the endpoint is %s, want %s", step.attempt, got, step.state)
		}
	}
	works.Store(true)
	w.submit(t, "/dev/time", url.Values{"by": {"6m"}}).has(t, 200)
	lines.waitFor(t, at+`webhook purchase → 200 .*`)
	if got := w.endpointState(t); got != "healthy" {
		t.Errorf("after a probe was accepted the endpoint is %s", got)
	}
}
