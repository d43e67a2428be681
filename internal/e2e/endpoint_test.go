package e2e_test

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"
)

// patience is the timeout for expected events. It measures nothing: a lease of a killed node lasts
// 30 s, and a busy machine is slow.
const patience = 3 * time.Minute

// reply is the partner's reaction to a request.
type reply struct {
	status int // 0: hangs up without an answer
	body   string
	slow   time.Duration
	hold   bool // it does not answer until the gate is opened
}

var welcome = reply{status: 200, body: `{"success":true}`}

// delivered is the success rule in the partner's view.
func (r reply) delivered() bool { return r.status == welcome.status && r.body == welcome.body }

// arrival is a request that the partner received.
type arrival struct {
	event     int64
	license   string
	id        string // webhook-id
	attempt   string
	signature string // of the brand; different on each attempt
	body      string
	from      string // the caller's address of the connection
	came      int64  // on the endpoint's logical clock
	answered  int64  // likewise; 0: not yet
	cut       int64  // likewise: the caller had gone before the answer
	reply     reply
}

// endpoint is a partner's server: it checks every request like a careful partner, records
// everything, and answers according to mood.
type endpoint struct {
	*httptest.Server
	mood func(event int64, nth int) reply // nth: how often the event arrived, from 1

	mu        sync.Mutex
	secret    string
	changed   chan struct{} // closed and replaced at every change
	clock     int64
	arrivals  []*arrival
	times     map[int64]int   // arrivals of an event
	delivered map[int64]int64 // when an event was first answered with success
	open      int             // requests that wait for their answer
	gate      chan struct{}   // held requests wait until it closes; nil: none are held
	faults    []string
}

// newEndpoint opens a partner's server until the test ends. Create it before its callers, so that
// it ends after them.
func newEndpoint(t *testing.T, mood func(event int64, nth int) reply) *endpoint {
	t.Helper()
	e := &endpoint{mood: mood, changed: make(chan struct{}), times: map[int64]int{}, delivered: map[int64]int64{}}
	e.Server = httptest.NewServer(http.HandlerFunc(e.serve))
	t.Cleanup(func() {
		e.openGate()
		e.Close()
	})
	return e
}

// friendly always answers immediately.
var friendly = func(int64, int) reply { return welcome }

// moody sometimes refuses, hangs up or is slow, but never for long.
var moody = func(event int64, nth int) reply {
	switch {
	case event%7 == 0 && nth <= 2:
		return reply{status: 500, body: "out of order"}
	case event%11 == 0 && nth == 1:
		return reply{status: 200, body: `{"success":false}`}
	case event%13 == 0 && nth == 1:
		return reply{} // It hangs up.
	case event%5 == 0:
		return reply{status: welcome.status, body: welcome.body, slow: 30 * time.Millisecond}
	default:
		return welcome
	}
}

// know gives the endpoint its partner's secret.
func (e *endpoint) know(secret string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.secret = secret
}

// closeGate holds every request from now on.
func (e *endpoint) closeGate() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.gate = make(chan struct{})
}

// openGate answers held requests and holds no more.
func (e *endpoint) openGate() {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.gate != nil {
		close(e.gate)
		e.gate = nil
	}
}

func (e *endpoint) serve(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return // cut off: it did not arrive
	}
	a, gate := e.take(r, body)
	var ready <-chan time.Time
	switch {
	case gate != nil:
	case a.reply.hold:
		gate = make(chan struct{}) // never opened
	default:
		ready = time.After(a.reply.slow)
	}
	select {
	case <-gate:
	case <-ready:
	case <-r.Context().Done():
		e.finish(a, true)
		return
	}
	e.finish(a, false)
	if a.reply.status == 0 {
		panic(http.ErrAbortHandler)
	}
	w.WriteHeader(a.reply.status)
	_, _ = io.WriteString(w, a.reply.body) // the caller may have gone
}

// take checks and records a request.
func (e *endpoint) take(r *http.Request, body []byte) (*arrival, chan struct{}) {
	h := r.Header
	var told struct {
		Event   int64  `json:"event_id"`
		License string `json:"license_key"`
	}
	err := json.Unmarshal(body, &told)
	a := &arrival{
		event: told.Event, license: told.License, body: string(body), id: h.Get("Webhook-Id"),
		attempt: h.Get("X-Licensing-Attempt"), signature: h.Get("X-Licensing-Signature"), from: r.RemoteAddr,
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if err == nil {
		err = verify(e.secret, h, body)
	}
	if err != nil {
		e.faults = append(e.faults, fmt.Sprintf("%s (attempt %s): %v: %s", a.id, a.attempt, err, body))
	}
	e.times[a.event]++
	a.reply = e.mood(a.event, e.times[a.event])
	a.came = e.tick()
	e.open++
	e.arrivals = append(e.arrivals, a)
	return a, e.gate
}

// finish records the end of a request, before its caller can know.
func (e *endpoint) finish(a *arrival, cut bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	now := e.tick()
	e.open--
	if cut {
		a.cut = now
		return
	}
	a.answered = now
	if a.reply.delivered() && e.delivered[a.event] == 0 {
		e.delivered[a.event] = now
	}
}

// tick advances the clock and wakes waiters. The caller holds the lock.
func (e *endpoint) tick() int64 {
	e.clock++
	close(e.changed)
	e.changed = make(chan struct{})
	return e.clock
}

// verify checks both signatures, each in its own way.
func verify(secret string, h http.Header, body []byte) error {
	public, err := standardwebhooks.NewWebhook(secret)
	if err != nil {
		return err
	}
	if err := public.Verify(body, h); err != nil {
		return fmt.Errorf("webhook-signature: %w", err)
	}
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write([]byte(h.Get("X-Licensing-Timestamp")))
	mac.Write(body)
	if want := hex.EncodeToString(mac.Sum(nil)); h.Get("X-Licensing-Signature") != want {
		return fmt.Errorf("X-Licensing-Signature is %q, want %q", h.Get("X-Licensing-Signature"), want)
	}
	return nil
}

// await waits until done returns true. done is called with the lock held.
func (e *endpoint) await(t *testing.T, what string, done func() bool) {
	t.Helper()
	guard := time.After(patience)
	for {
		e.mu.Lock()
		ok, changed := done(), e.changed
		e.mu.Unlock()
		if ok {
			return
		}
		select {
		case <-changed:
		case <-guard:
			t.Fatalf("waited in vain for %s; %s", what, e.summary())
		}
	}
}

// awaitAll waits until every event of the feed is delivered and recorded: deliveries that a killed
// process did not record are repeated.
func (e *endpoint) awaitAll(t *testing.T, c *child) {
	t.Helper()
	left := feedOf(t, c)
	e.await(t, "every event of the feed", func() bool {
		for len(left) > 0 && e.delivered[left[0].ID] != 0 {
			left = left[1:]
		}
		return len(left) == 0
	})
	guard, look := time.After(patience), time.NewTicker(100*time.Millisecond)
	defer look.Stop()
	for {
		said := read[struct {
			Deliveries struct {
				Pending int `json:"pending"`
			} `json:"deliveries"`
		}](t, c.operator().must(t, 200, "GET", "/operator/v1/stats", nil))
		if said.Deliveries.Pending == 0 {
			return
		}
		select {
		case <-look.C:
		case <-guard:
			t.Fatalf("%d deliveries are not on record; %s", said.Deliveries.Pending, e.summary())
		}
	}
}

// check reports invalid requests.
func (e *endpoint) check(t *testing.T) {
	t.Helper()
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, fault := range e.faults {
		t.Errorf("a request was not in order: %s", fault)
	}
}

// tally counts the requests so far.
type tally struct{ arrivals, open, delivered, duplicates int }

func (e *endpoint) count() tally {
	e.mu.Lock()
	defer e.mu.Unlock()
	n := tally{arrivals: len(e.arrivals), open: e.open, delivered: len(e.delivered), duplicates: -len(e.delivered)}
	for _, a := range e.arrivals {
		if a.answered != 0 && a.reply.delivered() {
			n.duplicates++
		}
	}
	return n
}

func (e *endpoint) summary() string {
	n := e.count()
	return fmt.Sprintf("%d requests came, %d wait for an answer, %d events were delivered, %d answered with success once more than needed",
		n.arrivals, n.open, n.delivered, n.duplicates)
}
