package courier

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
)

// TestSendOverTLS: an https server gets its name (SNI), its connection is reused, and a server with
// an untrusted certificate is not called.
func TestSendOverTLS(t *testing.T) {
	var connections, requests atomic.Int64
	names := make(chan string, 10)
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		requests.Add(1)
		_, _ = io.Copy(w, r.Body)
	}))
	s.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateNew {
			connections.Add(1)
		}
	}
	s.TLS = &tls.Config{GetConfigForClient: func(hello *tls.ClientHelloInfo) (*tls.Config, error) {
		names <- hello.ServerName
		return nil, nil
	}}
	s.Config.ErrorLog = log.New(io.Discard, "", 0) // it logs our refusals
	s.StartTLS()
	t.Cleanup(s.Close)
	_, port, err := net.SplitHostPort(s.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	dialer := &net.Dialer{}
	c := New(Options{Dial: func(ctx context.Context, network, _ string) (net.Conn, error) {
		return dialer.DialContext(ctx, network, "127.0.0.1:"+port)
	}})
	t.Cleanup(c.Close)
	post := Request{Method: "POST", Owner: 1, URL: "https://example.com:" + port, Body: []byte("hello")}
	if _, err := c.Send(t.Context(), post); err == nil || requests.Load() != 0 {
		t.Errorf("a server that nobody vouches for: %v, %d requests", err, requests.Load())
	}
	<-names
	c.pool.tls.RootCAs = x509.NewCertPool()
	c.pool.tls.RootCAs.AddCert(s.Certificate())
	for range 3 {
		if a, err := c.Send(t.Context(), post); err != nil || a.Body != "hello" {
			t.Fatalf("%+v, %v", a, err)
		}
	}
	if name, n := <-names, connections.Load(); name != "example.com" || n != 2 {
		t.Errorf("asked for %q over %d connections, want example.com over the first, which was refused, and one more", name, n)
	}
	post.URL = "https://another.example:" + port
	if _, err := c.Send(t.Context(), post); err == nil {
		t.Error("the certificate of another host was taken")
	}
}
