package dispatch_test

import (
	"net/http"
	"sync"
	"testing"
	"time"
)

// endpoint is a partner's server: it keeps a journal of what it got, in order,
// and answers as it is told.
type endpoint struct {
	testing.TB
	mu     sync.Mutex
	ids    []int64
	status map[int64]int // by event; 0: what all get
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

// answer makes the endpoint answer all events with a status.
func (e *endpoint) answer(status int) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.all = status
}

// answerTo makes it answer one event with a status.
func (e *endpoint) answerTo(id int64, status int) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.status == nil {
		e.status = map[int64]int{}
	}
	e.status[id] = status
}

// list is what it got so far.
func (e *endpoint) list() []int64 {
	e.mu.Lock()
	defer e.mu.Unlock()
	return append([]int64{}, e.ids...)
}

// taken is what it got since it was last asked.
func (e *endpoint) taken() []int64 {
	e.mu.Lock()
	defer e.mu.Unlock()
	ids := append([]int64{}, e.ids...)
	e.ids = nil
	return ids
}

// gate is an endpoint whose requests wait until the test lets each go.
type gate struct {
	testing.TB
	arrived chan *caller
}

// caller is a request that waits.
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

// next is the next request that arrives.
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

// callers are the next so many requests.
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
