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

// patience is how long a test waits for what has to come before it gives up. It
// measures nothing: a lease of a killed node lasts 30 s, a busy machine is slow.
const patience = 3 * time.Minute

// reply is how the partner meets one request.
type reply struct {
	status int // 0: it hangs up without a word
	body   string
	slow   time.Duration
	hold   bool // it does not answer until the gate is opened
}

var welcome = reply{status: 200, body: `{"success":true}`}

// delivered is the success rule, as the partner understands it.
func (r reply) delivered() bool { return r.status == welcome.status && r.body == welcome.body }

// arrival is one request that the partner got.
type arrival struct {
	event     int64
	license   string
	id        string // webhook-id
	attempt   string
	signature string // of the brand; another one on each attempt
	body      string
	from      string // the address of the caller's end of the connection
	came      int64  // on the endpoint's own clock, which only counts
	answered  int64  // likewise; 0: not, or not yet
	cut       int64  // likewise: the caller was gone before the answer
	reply     reply
}

// endpoint is a partner's server: it checks every request as a careful partner
// does, remembers everything, and answers as its mood says.
type endpoint struct {
	*httptest.Server
	mood func(event int64, nth int) reply // nth: how often the event came, from 1

	mu        sync.Mutex
	secret    string
	changed   chan struct{} // closed and replaced whenever something happens
	clock     int64
	arrivals  []*arrival
	times     map[int64]int   // an event came
	delivered map[int64]int64 // when an event was first answered with success
	open      int             // requests that wait for their answer
	gate      chan struct{}   // who is held waits for its end; nil: nobody is held
	faults    []string
}

// newEndpoint opens a partner's server until the test ends. Make it before what
// calls it, so that it ends after.
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

// friendly always answers at once.
var friendly = func(int64, int) reply { return welcome }

// moody refuses, hangs up and is slow now and then, but never for long.
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

// know tells the endpoint the secret that its partner was given.
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

// openGate answers what is held and holds nothing more.
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
		return // cut off in the middle: it did not come
	}
	a, gate := e.take(r, body)
	var ready <-chan time.Time
	switch {
	case gate != nil:
	case a.reply.hold:
		gate = make(chan struct{}) // which nobody opens
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
	_, _ = io.WriteString(w, a.reply.body) // The caller may be gone.
}

// take checks a request and puts it on record.
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

// finish notes how a request ended, before its caller can know.
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

// tick moves the clock on and wakes who waits; the lock is held.
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

// await waits until done, which is asked with the lock held.
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

// awaitAll waits until every event of the feed is delivered, also on record: what
// a killed process delivered, and did not live to record, comes again.
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

// check tells of requests that were not in order.
func (e *endpoint) check(t *testing.T) {
	t.Helper()
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, fault := range e.faults {
		t.Errorf("a request was not in order: %s", fault)
	}
}

// tally is what the endpoint saw so far.
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
