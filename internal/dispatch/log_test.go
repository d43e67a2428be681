package dispatch_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"claviger/internal/dispatch"
	"claviger/internal/webhook"
)

// Each attempt logs one line and is counted once, by its result.
func TestAttemptsAreLoggedAndCounted(t *testing.T) {
	r, log := steppedHarness(t), &journal{}
	gone := httptest.NewServer(http.NotFoundHandler())
	gone.Close()
	broken := func(w http.ResponseWriter) {
		_, _ = w.Write([]byte("half"))
		conn, _, err := http.NewResponseController(w).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		_ = conn.Close()
	}
	for id, endpoint := range map[int64]string{
		1: r.serve(func(http.ResponseWriter, *http.Request) {}),
		2: r.serve(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(500) }),
		3: r.serve(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte(`{"success": false}`)) }),
		4: r.serve(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(300) }),
		5: gone.URL,
		6: r.serve(func(w http.ResponseWriter, _ *http.Request) { broken(w) }),
		7: r.serve(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(410) }),
	} {
		r.partnerAt(id, endpoint)
		r.license(id, id)
		r.event(r.out, id)
	}
	registry := prometheus.NewRegistry()
	out := r.stepped(settings{schedule: webhook.Schedule{time.Hour}, probeEvery: time.Minute, log: log, metrics: dispatch.NewMetrics(registry)})
	r.step(out)
	line := func(partner int, more ...string) {
		t.Helper()
		same(t, fmt.Sprintf("lines of partner %d with %v", partner, more), len(log.lines(append(more, `msg="webhook attempt"`, fmt.Sprintf("partner_id=%d ", partner))...)), 1)
	}
	line(1, "attempt=1 of=2 outcome=delivered status=200 ", "license_key=00000000-0000-4000-8000-000000000001 ")
	same(t, "a cause, or a next time, of what is delivered", log.lines("outcome=delivered", "cause="), nil)
	same(t, "a next time of what is delivered", log.lines("outcome=delivered", "next_in="), nil)
	line(2, "outcome=failed status=500 ", "cause=", "next_in=1h0m0s", "next_at=2026-11-15T01:00:00")
	line(3, "outcome=refused status=200 ", "cause=")
	line(4, "outcome=failed status=300 ")
	line(5, "outcome=unreachable status=0 ", "cause=")
	line(6, "outcome=failed status=200 ")
	line(7, "outcome=failed status=410 ")
	same(t, "probes", log.lines("probe=true"), nil)
	r.clock.step(time.Hour)
	r.step(out)
	line(2, "attempt=2 of=2 outcome=exhausted status=500 ")
	same(t, "a next time of what is exhausted", log.lines("outcome=exhausted", "next_in="), nil)
	line(7, "outcome=exhausted", "probe=true")
	counted := map[string]float64{}
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		for _, m := range f.GetMetric() {
			for _, l := range m.GetLabel() {
				counted[l.GetValue()] = m.GetCounter().GetValue()
			}
			if m.GetHistogram() != nil {
				counted["measured"] = float64(m.GetHistogram().GetSampleCount())
			}
		}
	}
	want := map[string]float64{}
	for outcome, n := range map[string]int{"delivered": 1, "failed": 4, "refused": 1, "unreachable": 1, "exhausted": 6} {
		want[outcome] = float64(n)
		want["measured"] += float64(n)
	}
	same(t, "counted", counted, want)
}

// If the endpoint closes a connection as it is reused, no attempt is lost: the request is repeated
// over a new one.
func TestAConnectionThatIsClosedWhenUsedAgain(t *testing.T) {
	r, log := steppedHarness(t), &journal{}
	var mu sync.Mutex
	used := map[string]bool{}
	r.partner(1, func(w http.ResponseWriter, req *http.Request) {
		mu.Lock()
		again := used[req.RemoteAddr]
		used[req.RemoteAddr] = true
		mu.Unlock()
		if again {
			panic(http.ErrAbortHandler)
		}
	})
	r.license(1, 1)
	out := r.stepped(settings{log: log})
	r.run(out)
	for range 3 {
		r.event(out, 1)
		r.until("it is delivered", func() bool { return r.open() == 0 })
	}
	same(t, "failures", log.lines(`msg="webhook attempt"`, "outcome=failed"), nil)
	same(t, "states", r.states(), []string{"1 delivered after 1", "2 delivered after 1", "3 delivered after 1"})
	same(t, "connections", len(used), 3)
}

// The log line contains the duration in milliseconds.
func TestTheTimeOfAnAttemptIsLogged(t *testing.T) {
	r, log := steppedHarness(t), &journal{}
	out := r.stepped(settings{log: log})
	out.Dispatcher.LogAttempt(t.Context(), &webhook.Attempt{Item: &webhook.Item{}, Took: 1500 * time.Microsecond})
	same(t, "lines", len(log.lines(" duration_ms=1.5 ")), 1)
}
