package courier_test

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"syscall"
	"testing"

	"claviger/internal/courier"
)

// TestAllowedIsAskedLast: a request that is no longer allowed once its connection is open does not
// reach the server, and the connection serves the next one.
func TestAllowedIsAskedLast(t *testing.T) {
	var requests atomic.Int64
	url, connections := counting(t, func(http.ResponseWriter, *http.Request) { requests.Add(1) })
	var dialed atomic.Bool
	c := courier.New(courier.Options{AllowPrivate: true, Dial: func(ctx context.Context, network, address string) (net.Conn, error) {
		dialed.Store(true)
		return (&net.Dialer{}).DialContext(ctx, network, address)
	}})
	defer c.Close()
	send := func(allowed bool) error {
		_, err := c.Send(t.Context(), courier.Request{Method: http.MethodPost, Owner: 1, URL: url, Body: []byte("{}"), Allowed: func() bool {
			if !dialed.Load() {
				t.Error("it is asked before there is a connection")
			}
			return allowed
		}})
		return err
	}
	for _, allowed := range []bool{false, true, false, true} {
		if err := send(allowed); errors.Is(err, courier.ErrNotAllowed) == allowed {
			t.Errorf("allowed %v: %v", allowed, err)
		}
	}
	if n := requests.Load(); n != 2 {
		t.Errorf("%d requests arrived, want 2", n)
	}
	if n := connections.Load(); n != 1 {
		t.Errorf("%d connections were made, want 1", n)
	}
}

// TestAbortedRequestIsReset: when a request is aborted, the server sees a reset and not the end of
// a complete request, plain and over TLS.
func TestAbortedRequestIsReset(t *testing.T) {
	for name, serve := range map[string]func(http.Handler) *httptest.Server{"http": httptest.NewServer, "https": httptest.NewTLSServer} {
		t.Run(name, func(t *testing.T) {
			seen := make(chan error, 1)
			arrived := make(chan struct{})
			s := serve(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				_, _ = io.Copy(io.Discard, r.Body)
				conn, _, err := http.NewResponseController(w).Hijack()
				if err != nil {
					seen <- err
					return
				}
				defer conn.Close() //nolint:errcheck // it is over
				if secure, ok := conn.(interface{ NetConn() net.Conn }); ok {
					conn = secure.NetConn()
				}
				close(arrived)
				_, err = io.Copy(io.Discard, conn)
				seen <- err
			}))
			defer s.Close()
			ctx, cancel := context.WithCancel(t.Context())
			go func() { <-arrived; cancel() }()
			c := local(t)
			c.Trust(s)
			if _, err := c.Send(ctx, courier.Request{Method: http.MethodPost, Owner: 1, URL: s.URL, Body: []byte("{}")}); !errors.Is(err, context.Canceled) {
				t.Errorf("the request ends with %v", err)
			}
			if err := <-seen; !errors.Is(err, syscall.ECONNRESET) {
				t.Errorf("the server sees %v", err)
			}
		})
	}
}
