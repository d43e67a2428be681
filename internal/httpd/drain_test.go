package httpd_test

import (
	"bufio"
	"context"
	"net"
	"net/http"
	"runtime"
	"strings"
	"testing"
	"time"

	"claviger/internal/httpd"
	"claviger/internal/wire"
)

// hello answers every request.
var hello = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _ = wire.Text(w, http.StatusOK, "hello") })

// kept is one connection whose requests are sent by hand.
type kept struct {
	net.Conn
	t *testing.T
	r *bufio.Reader
}

func (h *harness) dial() *kept {
	h.t.Helper()
	c, err := (&net.Dialer{}).DialContext(h.t.Context(), "tcp", h.Addr())
	if err != nil {
		h.t.Fatal(err)
	}
	h.t.Cleanup(func() { _ = c.Close() })
	return &kept{Conn: c, t: h.t, r: bufio.NewReader(c)}
}

// ask sends a request and returns whether the answer closes the connection.
func (k *kept) ask() (closes bool) {
	k.t.Helper()
	if _, err := k.Write([]byte("GET / HTTP/1.1\r\nHost: localhost\r\n\r\n")); err != nil {
		k.t.Fatal(err)
	}
	resp, err := http.ReadResponse(k.r, nil)
	if err != nil {
		k.t.Fatalf("no answer: %v", err)
	}
	defer resp.Body.Close() //nolint:errcheck // not read
	if resp.StatusCode != http.StatusOK {
		k.t.Errorf("answered %s", resp.Status)
	}
	return resp.Close
}

// TestIdleConnectionsOutliveTheNotice: a proxy may send a request on a connection that was idle when
// the stop began. It is answered, and the answer closes the connection.
func TestIdleConnectionsOutliveTheNotice(t *testing.T) {
	hurry := make(chan struct{})
	h := start(t, &httpd.Server{Handler: hello, Timeouts: httpd.Timeouts{Notice: time.Hour}, Hurry: hurry})
	h.done = true
	idle := h.dial()
	if idle.ask() {
		t.Error("an answer closes the connection before the stop")
	}
	stopped := make(chan error, 1)
	go func() { stopped <- h.Stop(context.WithoutCancel(t.Context())) }()
	for h.get("/readyz").status != http.StatusServiceUnavailable {
		continue
	}
	if !idle.ask() {
		t.Error("the answer leaves the connection open, so the proxy sends the next request here, too")
	}
	if !h.dial().ask() {
		t.Error("a new connection stays open")
	}
	close(hurry) // the second signal
	if err := <-stopped; err != nil {
		t.Error(err)
	}
	if err := <-h.ran; err != nil {
		t.Error(err)
	}
}

// TestNoConnectionIsReset: a connection that was made before the listener closed is served, also
// while clients connect all the time.
func TestNoConnectionIsReset(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("only Linux can refuse new connections without resetting those that wait")
	}
	h := start(t, &httpd.Server{Handler: hello, Timeouts: httpd.Timeouts{Notice: time.Millisecond}})
	h.done = true
	ctx, end := context.WithCancel(t.Context())
	defer end()
	results := make(chan error, 4)
	for range cap(results) {
		go func() {
			for {
				resp, err := h.open("http://" + h.Addr() + "/")
				if err != nil {
					results <- err
					return
				}
				_ = resp.Body.Close()
				if ctx.Err() != nil {
					results <- nil
					return
				}
			}
		}()
	}
	if err := h.Stop(context.WithoutCancel(t.Context())); err != nil {
		t.Error(err)
	}
	for range cap(results) {
		if err := <-results; err == nil || !strings.Contains(err.Error(), "refused") {
			t.Errorf("a client got %v, want a refused connection", err)
		}
	}
	if err := <-h.ran; err != nil {
		t.Error(err)
	}
}

// TestFirstRequestIsAnswered: a connection that was made before the stop is served, also if its request
// comes after the stop began.
func TestFirstRequestIsAnswered(t *testing.T) {
	hurry := make(chan struct{})
	refusing := make(chan struct{})
	h := start(t, &httpd.Server{
		Handler: hello, Timeouts: httpd.Timeouts{Notice: time.Hour, First: time.Hour}, Hurry: hurry,
		OnLast: []func(){func() { close(refusing) }},
	})
	h.done = true
	h.get("/") // the server accepts in order, so it has the connections before this one
	fresh := h.dial()
	h.get("/")
	stopped := make(chan error, 1)
	go func() { stopped <- h.Stop(context.WithoutCancel(t.Context())) }()
	close(hurry)
	<-refusing
	for {
		c, err := (&net.Dialer{Timeout: time.Second}).DialContext(t.Context(), "tcp", h.Addr())
		if err != nil {
			break // the server stopped accepting
		}
		_ = c.Close()
	}
	if !fresh.ask() {
		t.Error("the answer leaves the connection open")
	}
	if err := <-stopped; err != nil {
		t.Error(err)
	}
	<-h.ran
}

// TestLongRequestsEndAfterTheNotice: streams end first, exports only when no more connections come.
func TestLongRequestsEndAfterTheNotice(t *testing.T) {
	hurry := make(chan struct{})
	drained := make(chan struct{})
	var last bool
	h := start(t, &httpd.Server{
		Handler: hello, Timeouts: httpd.Timeouts{Notice: time.Hour}, Hurry: hurry,
		OnDrain: []func(){func() { close(drained) }},
		OnLast:  []func(){func() { last = true }},
	})
	h.done = true
	stopped := make(chan error, 1)
	go func() { stopped <- h.Stop(context.WithoutCancel(t.Context())) }()
	<-drained
	if h.get("/").status != http.StatusOK || last {
		t.Error("long requests were ended while the node still serves")
	}
	close(hurry)
	if err := <-stopped; err != nil || !last {
		t.Errorf("stop: %v, long requests ended: %t", err, last)
	}
	<-h.ran
}
