package dispatch_test

import (
	"net/http"
	"sync"
	"testing"
	"time"
)

// endpoint is a partner's server. It records the events it got, in order, and answers as
// configured.
type endpoint struct {
	testing.TB
	mu     sync.Mutex
	ids    []int64
	status map[int64]int // by event; 0: use all
	all    int           // 0: 200
	header http.Header
}

func (e *endpoint) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	id := got(e.TB, req)
	e.mu.Lock()
	defer e.mu.Unlock()
	e.ids = append(e.ids, id)
	for name, values := range e.header {
		w.Header()[name] = values
	}
	w.WriteHeader(orElse(orElse(e.status[id], e.all), 200))
}

// answer sets the status for all events.
func (e *endpoint) answer(status int) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.all = status
}

// answerTo sets the status for one event.
func (e *endpoint) answerTo(id int64, status int) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.status == nil {
		e.status = map[int64]int{}
	}
	e.status[id] = status
}

// list returns the events received so far.
func (e *endpoint) list() []int64 {
	e.mu.Lock()
	defer e.mu.Unlock()
	return append([]int64{}, e.ids...)
}

// taken returns the events received since the last call.
func (e *endpoint) taken() []int64 {
	e.mu.Lock()
	defer e.mu.Unlock()
	ids := append([]int64{}, e.ids...)
	e.ids = nil
	return ids
}

// gate is an endpoint that holds requests until the test answers each.
type gate struct {
	testing.TB
	arrived chan *caller
}

// caller is a waiting request.
type caller struct {
	id     int64
	answer chan int
}

func newGate(t testing.TB) *gate { return &gate{TB: t, arrived: make(chan *caller, 4096)} }

func (g *gate) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	c := &caller{got(g.TB, req), make(chan int, 1)}
	g.arrived <- c
	select {
	case status := <-c.answer:
		w.WriteHeader(status)
	case <-req.Context().Done():
	}
}

// next returns the next request that arrives.
func (g *gate) next() *caller {
	g.Helper()
	select {
	case c := <-g.arrived:
		return c
	case <-time.After(30 * time.Second):
		g.Fatal("no request arrived")
		return nil
	}
}

// callers returns the next n requests.
func (g *gate) callers(n int) []*caller {
	g.Helper()
	list := make([]*caller, n)
	for i := range list {
		list[i] = g.next()
	}
	return list
}

// nobody checks that no request waits.
func (g *gate) nobody(when string) {
	g.Helper()
	select {
	case c := <-g.arrived:
		g.Errorf("event %d was sent %s", c.id, when)
	default:
	}
}
