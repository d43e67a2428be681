package courier

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"
)

// corked is a connection that holds writes back, so that several TLS records leave together.
type corked struct {
	net.Conn
	held bytes.Buffer
	cork bool
}

func (c *corked) Write(b []byte) (int, error) {
	if c.cork {
		return c.held.Write(b)
	}
	return c.Conn.Write(b)
}

// tlsServer serves every connection with a function and returns a client that trusts it.
func tlsServer(t *testing.T, config *tls.Config, serve func(*tls.Conn, *corked)) *Client {
	t.Helper()
	s := httptest.NewUnstartedServer(nil)
	s.StartTLS()
	s.Close()
	config.Certificates = s.TLS.Certificates
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			raw, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				c := &corked{Conn: raw}
				defer c.Close()                                                 //nolint:errcheck // it served
				if secure := tls.Server(c, config); secure.Handshake() == nil { //nolint:noctx // the client ends it
					serve(secure, c)
				}
			}()
		}
	}()
	c := New(Options{Dial: func(ctx context.Context, network, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, network, l.Addr().String())
	}})
	c.pool.tls.RootCAs = x509.NewCertPool()
	c.pool.tls.RootCAs.AddCert(s.Certificate())
	t.Cleanup(c.Close)
	return c
}

// TestSendReadsTheRightAnswerOverTLS: TLS reads data that arrives together with an answer, before
// the client asks for it. It must not count as an answer.
func TestSendReadsTheRightAnswerOverTLS(t *testing.T) {
	for name, extra := range map[string]func(*tls.Conn){
		"a second answer": func(c *tls.Conn) {
			_, _ = io.WriteString(c, "HTTP/1.1 408 Request Timeout\r\nContent-Length: 5\r\n\r\nstale")
		},
		"a goodbye": func(c *tls.Conn) { _ = c.CloseWrite() },
	} {
		for _, version := range []uint16{tls.VersionTLS12, tls.VersionTLS13} {
			t.Run(fmt.Sprint(name, " ", tls.VersionName(version)), func(t *testing.T) {
				c := tlsServer(t, &tls.Config{MaxVersion: version}, func(secure *tls.Conn, beneath *corked) {
					for in := bufio.NewReader(secure); ; {
						req, err := http.ReadRequest(in)
						if err != nil {
							return
						}
						body, _ := io.ReadAll(req.Body)
						beneath.cork = true
						_, _ = fmt.Fprintf(secure, "HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s", len(body), body)
						extra(secure)
						beneath.cork = false
						_ = beneath.SetDeadline(time.Time{}) // CloseWrite sets one
						_, _ = beneath.Conn.Write(beneath.held.Next(beneath.held.Len()))
					}
				})
				for _, body := range []string{"first", "second", "third"} {
					a, err := c.Send(t.Context(), Request{Method: "POST", Owner: 1, URL: "https://example.com", Body: []byte(body)})
					if err != nil || a.Status != 200 || a.Body != body {
						t.Errorf("%s was answered %d %q, %v", body, a.Status, a.Body, err)
					}
				}
			})
		}
	}
}

// counted runs a server that answers and counts its connections.
func counted(t *testing.T) (s *httptest.Server, connections *atomic.Int64) {
	t.Helper()
	connections = new(atomic.Int64)
	s = httptest.NewUnstartedServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	s.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateNew {
			connections.Add(1)
		}
	}
	s.Start()
	t.Cleanup(s.Close)
	return s, connections
}

// kept returns a client that calls one server for any host name.
func kept(t *testing.T, s *httptest.Server) (c *Client, send func(host string)) {
	t.Helper()
	c = New(Options{AllowPrivate: true, Dial: func(ctx context.Context, network, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, network, s.Listener.Addr().String())
	}})
	t.Cleanup(c.Close)
	return c, func(host string) {
		t.Helper()
		if _, err := c.Send(t.Context(), Request{Method: "POST", Owner: 1, URL: "http://" + host, Body: []byte("{}")}); err != nil {
			t.Fatal(err)
		}
	}
}

// TestIdleConnOutlivesDeadline: the deadline of the last request does not prevent the next request
// on its connection.
func TestIdleConnOutlivesDeadline(t *testing.T) {
	s, connections := counted(t)
	c, send := kept(t, s)
	send("a.example")
	if err := c.pool.idle[origin{1, "http://a.example"}][0].SetDeadline(past); err != nil {
		t.Fatal(err)
	}
	c.pool.prune()
	send("a.example")
	if n := connections.Load(); n != 1 {
		t.Errorf("%d connections were made, want 1", n)
	}
}

// TestPruneClosesWhatTheServerClosed: a closed connection must not use a file descriptor until its
// next use.
func TestPruneClosesWhatTheServerClosed(t *testing.T) {
	s, _ := counted(t)
	c, send := kept(t, s)
	send("a.example")
	send("b.example")
	c.pool.prune()
	if c.pool.count != 2 {
		t.Fatalf("%d connections are idle, want 2", c.pool.count)
	}
	s.CloseClientConnections()
	c.pool.prune()
	if c.pool.count != 0 || len(c.pool.idle) != 0 {
		t.Errorf("%d connections are idle, want none", c.pool.count)
	}
}

// TestFullPoolEvicts: in a full pool the newest connection replaces another.
func TestFullPoolEvicts(t *testing.T) {
	s, connections := counted(t)
	c, send := kept(t, s)
	c.pool.max = 1
	send("a.example")
	send("b.example")
	send("b.example")
	if n := connections.Load(); n != 2 || c.pool.count != 1 {
		t.Errorf("%d connections were made and %d are kept, want 2 and 1", n, c.pool.count)
	}
}

// TestPoolIsBoundedOverOwners: the limit of the pool holds for any number of partners.
func TestPoolIsBoundedOverOwners(t *testing.T) {
	s, _ := counted(t)
	c, _ := kept(t, s)
	c.pool.max = 4
	for owner := range int64(20) {
		if _, err := c.Send(t.Context(), Request{Method: "POST", Owner: owner + 1, URL: "http://a.example", Body: []byte("{}")}); err != nil {
			t.Fatal(err)
		}
	}
	open := 0
	for _, idle := range c.pool.idle {
		open += len(idle)
	}
	if open != 4 || c.pool.count != 4 {
		t.Errorf("%d connections are kept and %d counted, want 4", open, c.pool.count)
	}
}

// Only the request that opened the connection reports the certificate.
func TestCertificateUntil(t *testing.T) {
	c := tlsServer(t, &tls.Config{}, func(secure *tls.Conn, _ *corked) {
		for in := bufio.NewReader(secure); ; {
			if _, err := http.ReadRequest(in); err != nil {
				return
			}
			_, _ = io.WriteString(secure, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
		}
	})
	for n, want := range []bool{true, false} {
		a, err := c.Send(t.Context(), Request{Method: "GET", Owner: 1, URL: "https://example.com"})
		if err != nil || a.CertificateUntil.After(time.Now()) != want {
			t.Errorf("request %d: the certificate ends at %s (%v)", n+1, a.CertificateUntil, err)
		}
	}
}
