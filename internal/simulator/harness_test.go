package simulator_test

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"claviger/internal/apptest"
	"claviger/internal/audit"
	"claviger/internal/courier"
	"claviger/internal/partner"
	"claviger/internal/profile"
	"claviger/internal/simulator"
)

var noon = time.Date(2026, 3, 4, 12, 0, 0, 0, time.UTC)

// harness is a partner with an endpoint, and nodes on one database and one clock.
type harness struct {
	*apptest.Harness
	endpoint *endpoint
	partner  partner.Partner
	node     *simulator.Simulator

	mu  sync.Mutex
	now time.Time
}

// endpoint is the partner's server: it calls answer, or answers 200 if that is nil.
type endpoint struct {
	mu     sync.Mutex
	posts  []string
	answer func(w http.ResponseWriter, n int, body string)
}

func (e *endpoint) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	e.mu.Lock()
	e.posts = append(e.posts, string(body))
	n, answer := len(e.posts), e.answer
	e.mu.Unlock()
	if answer != nil {
		answer(w, n, string(body))
	}
}

func (e *endpoint) count() int {
	e.mu.Lock()
	defer e.mu.Unlock()
	return len(e.posts)
}

func start(t *testing.T) *harness {
	t.Helper()
	h := &harness{Harness: apptest.New(t), endpoint: &endpoint{}, now: noon}
	s := httptest.NewServer(h.endpoint)
	t.Cleanup(s.Close)
	h.partner, _ = h.Partner("Tide", profile.URLs{Webhook: s.URL})
	h.node = h.newNode(t)
	return h
}

// newNode returns another node, which runs until the test ends.
func (h *harness) newNode(t *testing.T) *simulator.Simulator {
	t.Helper()
	client := courier.New(courier.Options{AllowPrivate: true})
	t.Cleanup(client.Close)
	s := &simulator.Simulator{
		DB: h.DB, Partners: h.Partners, Client: client, Now: h.clock,
		Profiles: &profile.Store{DB: h.DB, Partners: h.Partners, Now: h.clock, Check: profile.Checker{Client: client}},
	}
	h.serve(t, s)
	return s
}

// serve runs a node, and returns a function that stops it.
func (h *harness) serve(t *testing.T, s *simulator.Simulator) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		s.Run(ctx)
	}()
	stop = sync.OnceFunc(func() {
		cancel()
		<-ended
	})
	t.Cleanup(stop)
	return stop
}

func (h *harness) clock() time.Time {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.now
}

func (h *harness) pass(d time.Duration) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.now = h.now.Add(d)
}

// run starts a scenario and waits for its end.
func (h *harness) run(name string) simulator.Run {
	h.Helper()
	r, err := h.node.Start(h.Context(), apptest.Tester, h.partner.ID, name)
	h.Must(err)
	h.node.Wait()
	return h.get(r.ID)
}

func (h *harness) get(id int64) simulator.Run {
	h.Helper()
	r, err := h.node.Get(h.Context(), h.partner.ID, id)
	h.Must(err)
	return r
}

// member creates a person with a role.
func (h *harness) member(role partner.Role) audit.Actor {
	h.Helper()
	u := h.User("dev@tide.example")
	_, err := h.Partners.AddMember(h.Context(), apptest.Tester, h.partner.ID, u.ID, role)
	h.Must(err)
	return audit.Actor{Kind: audit.ByUser, ID: u.ID, ActingFor: h.partner.ID}
}

// rows returns the number of rows of a table.
func (h *harness) rows(table string) int64 {
	h.Helper()
	return h.Count(`SELECT count(*) FROM ` + table)
}

// keys returns the license keys of the posts.
func (e *endpoint) keys() []string {
	e.mu.Lock()
	defer e.mu.Unlock()
	var keys []string
	for _, body := range e.posts {
		keys = append(keys, strings.Split(body, `"`)[3])
	}
	return keys
}

func verdicts(r simulator.Run) string {
	var list []string
	for _, result := range r.Results {
		list = append(list, string(result.Verdict))
	}
	return strings.Join(list, " ")
}
