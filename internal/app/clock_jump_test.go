package app_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"claviger/internal/app"
	"claviger/internal/apptest"
	"claviger/internal/job"
	"claviger/internal/license"
	"claviger/internal/partner"
	"claviger/internal/profile"
	"claviger/internal/sqldb/sqldbtest"
)

// jumping is the clock of one machine, set by the test.
type jumping struct{ ahead atomic.Int64 }

func (j *jumping) now() time.Time { return app.Now().Add(time.Duration(j.ahead.Load())) }

func (j *jumping) set(by time.Duration) { j.ahead.Store(int64(by)) }

// machine is an option that runs the node with this clock.
func (j *jumping) machine(cfg *app.Config) { cfg.Now, cfg.Machine = j.now, j.now }

// receiver is the server of partners. It records violations: concurrent events of one license, and
// an event older than the last.
type receiver struct {
	*httptest.Server
	mu    sync.Mutex
	busy  map[string]bool
	last  map[string]int64
	seen  map[int64]int
	wrong []string
	news  chan struct{}
}

func newReceiver(t *testing.T) *receiver {
	t.Helper()
	r := &receiver{busy: map[string]bool{}, last: map[string]int64{}, seen: map[int64]int{}, news: make(chan struct{}, 1)}
	r.Server = httptest.NewServer(http.HandlerFunc(r.serve))
	t.Cleanup(r.Close)
	return r
}

func (r *receiver) serve(w http.ResponseWriter, req *http.Request) {
	text, _ := io.ReadAll(req.Body)
	var body struct {
		Key string `json:"license_key"`
	}
	err := json.Unmarshal(text, &body)
	var id int64
	_, _ = fmt.Sscanf(req.Header.Get("webhook-id"), "evt_%d", &id)
	r.begin(body.Key, id, err)
	w.WriteHeader(http.StatusOK)
	_, _ = io.WriteString(w, `{"success": true, "event": "purchase"}`)
	r.mu.Lock()
	r.busy[body.Key] = false
	r.mu.Unlock()
	select {
	case r.news <- struct{}{}:
	default:
	}
}

func (r *receiver) begin(key string, id int64, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case err != nil || key == "" || id == 0:
		r.wrong = append(r.wrong, fmt.Sprintf("a request of %q and event %d: %v", key, id, err))
	case r.busy[key]:
		r.wrong = append(r.wrong, fmt.Sprintf("event %d while another one of its license was under way", id))
	case id < r.last[key]:
		r.wrong = append(r.wrong, fmt.Sprintf("event %d after %d", id, r.last[key]))
	}
	r.busy[key], r.last[key] = true, max(id, r.last[key])
	r.seen[id]++
}

// await waits until that many events have arrived.
func (r *receiver) await(n int) {
	for {
		r.mu.Lock()
		seen := len(r.seen)
		r.mu.Unlock()
		if seen >= n {
			return
		}
		<-r.news
	}
}

// TestClockOfOneNodeJumps: while the clock of one of two nodes jumps forward and back, both sell
// and send. Every event arrives once, in the order of its license, and never concurrently.
func TestClockOfOneNodeJumps(t *testing.T) {
	if !sqldbtest.Postgres() {
		t.Skip("one process serves an SQLite database")
	}
	to := newReceiver(t)
	right := apptest.New(t)
	var clock jumping
	wrong := right.Node(clock.machine)
	var partners []partner.Partner
	for i := range 8 { // in different shards
		p, _ := right.Partner(fmt.Sprintf("Partner %d", i), profile.URLs{Webhook: to.URL})
		right.Plans(p.ID, 5, partner.Plan{PriceCents: 100, Currency: "EUR"})
		partners = append(partners, p)
	}
	right.Run()
	wrong.Run()
	const year = 365 * 24 * time.Hour
	events := 0
	for _, jump := range []time.Duration{0, time.Hour, 0, -time.Hour, 0, year, 0, year, -time.Hour, 0} {
		clock.set(jump)
		for _, p := range partners {
			for i, node := range []*apptest.Harness{right, wrong} {
				l := node.Buy(license.Purchase{PartnerID: p.ID, Tier: 1})
				for tier := 2; tier <= 3; tier++ { // alternating nodes
					other := []*apptest.Harness{wrong, right}[(i+tier)%2]
					_, err := other.Licenses.ChangePlan(t.Context(), apptest.Tester, l.Key, license.PlanChange{Tier: tier})
					right.Must(err)
				}
				events += 3
			}
		}
		to.await(events)
	}
	to.mu.Lock()
	defer to.mu.Unlock()
	if len(to.wrong) > 0 {
		t.Errorf("wrong:\n%s", strings.Join(to.wrong, "\n"))
	}
	for id, n := range to.seen {
		if n != 1 {
			t.Errorf("event %d arrived %d times", id, n)
		}
	}
}

// TestWrongClockPrunesNothing: a node with a clock a year ahead deletes nothing, though much looks
// expired. The failed run is recorded with the other failed jobs.
func TestWrongClockPrunesNothing(t *testing.T) {
	if !sqldbtest.Postgres() {
		t.Skip("SQLite has no clock but this machine's")
	}
	right := apptest.New(t)
	right.Session(right.User("ada@example.com"), "one that lasts an hour")
	var clock jumping
	clock.set(365 * 24 * time.Hour)
	right.Node(clock.machine).Run()
	run := func() (r job.Run) {
		list, err := job.Runs(t.Context(), right.DB)
		right.Must(err)
		for _, r := range list {
			if r.Job == "pruning" {
				return r
			}
		}
		return r
	}
	for run().Job == "" {
		<-time.After(10 * time.Millisecond) // until it has run once
	}
	if r := run(); !r.Failed() || !strings.Contains(r.Error, "the clock of this node is 8760h0m0s ahead of the database's") {
		t.Errorf("pruning: %+v", r)
	}
	if n := right.Count(`SELECT count(*) FROM sessions`); n != 1 {
		t.Errorf("%d sessions are left", n)
	}
}
