package httpd_test

import (
	"bytes"
	"fmt"
	"net"
	"net/http"
	"testing"
	"time"

	"claviger/internal/httpd"
)

// refuseToRead requests a path over a connection with a small buffer and reads nothing. The
// connection stays open until the test ends.
func (h *harness) refuseToRead(path string) {
	h.t.Helper()
	var dialer net.Dialer
	conn, err := dialer.DialContext(h.t.Context(), "tcp", h.Addr())
	if err != nil {
		h.t.Fatal(err)
	}
	h.t.Cleanup(func() { _ = conn.Close() })
	if err := conn.(*net.TCPConn).SetReadBuffer(4 << 10); err != nil {
		h.t.Fatal(err)
	}
	if _, err := fmt.Fprintf(conn, "GET %s HTTP/1.1\r\nHost: x\r\n\r\n", path); err != nil {
		h.t.Fatal(err)
	}
}

// TestClientThatDoesNotReadIsCutOff: its answer must not stay in memory, and the system buffers
// only a part of it.
func TestClientThatDoesNotReadIsCutOff(t *testing.T) {
	type outcome struct {
		n   int
		err error
	}
	wrote := make(chan outcome, 1)
	h := start(t, &httpd.Server{
		Timeouts: httpd.Timeouts{Progress: 20 * time.Millisecond, Write: time.Hour},
		Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			n, err := w.Write(make([]byte, 32<<20))
			wrote <- outcome{n, err}
		}),
	})
	h.refuseToRead("/long")
	got := <-wrote
	if got.err == nil || got.n > 1<<20 {
		t.Errorf("%d bytes were written to a client that reads none, error %v", got.n, got.err)
	}
}

// TestSteadyClientMayTakeLong writes an answer after the timeout of a whole answer: a long one
// still succeeds, because each piece has its own timeout.
func TestSteadyClientMayTakeLong(t *testing.T) {
	long := bytes.Repeat([]byte("0123456789abcdef"), 1<<16)
	h := start(t, &httpd.Server{
		Timeouts: httpd.Timeouts{Progress: time.Hour, Write: time.Nanosecond},
		Handler:  http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(long) }),
	})
	if got := h.get("/long"); got.status != http.StatusOK || got.body != string(long) {
		t.Errorf("answered %d with %d bytes, want %d", got.status, len(got.body), len(long))
	}
}
