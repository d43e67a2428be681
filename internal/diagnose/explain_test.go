package diagnose_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"claviger/internal/courier"
	"claviger/internal/diagnose"
)

func TestExplain(t *testing.T) {
	secure := httptest.NewUnstartedServer(http.NotFoundHandler())
	secure.Config.ErrorLog = log.New(io.Discard, "", 0) // it logs our handshakes
	secure.StartTLS()
	t.Cleanup(secure.Close)
	closed := httptest.NewServer(http.NotFoundHandler())
	closed.Close()
	plain := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(plain.Close)
	hangUp := listen(t, func(c net.Conn) { _ = c.Close() })
	half := listen(t, func(c net.Conn) {
		_, _ = io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf")
		_ = c.Close()
	})
	noise := listen(t, func(c net.Conn) {
		_, _ = io.WriteString(c, "SSH-2.0-OpenSSH\r\n")
		_ = c.Close()
	})
	bomb := listen(t, func(c net.Conn) {
		_, _ = io.WriteString(c, "HTTP/1.1 200 OK\r\n"+strings.Repeat("A: b\r\n", 20000)+"\r\n")
		_ = c.Close()
	})
	for name, c := range map[string]struct {
		url, want string
		cause     diagnose.Cause
	}{
		"refused":               {closed.URL, "refused", diagnose.CauseRefused},
		"unknown certificate":   {secure.URL, "certificate is not valid", diagnose.CauseTLS},
		"http behind https":     {"https" + strings.TrimPrefix(plain.URL, "http"), "does not speak TLS", diagnose.CauseTLS},
		"closed without answer": {"http://" + hangUp, "closed the connection", diagnose.CauseClosed},
		"closed in the answer":  {"http://" + half, "the answer broke off", diagnose.CauseClosed},
		"not HTTP":              {"http://" + noise, "no HTTP/1.1 answer", diagnose.CauseInvalid},
		"endless headers":       {"http://" + bomb, "headers are too long", diagnose.CauseInvalid},
	} {
		_, err := local(t).Send(t.Context(), courier.Request{Method: "GET", URL: c.url})
		if err == nil {
			t.Errorf("%s: there was an answer", name)
			continue
		}
		text, remedy := diagnose.Explain(err)
		if got := diagnose.CauseOf(text); got != c.cause {
			t.Errorf("%s: its cause is %q, want %q", name, got, c.cause)
		}
		if remedy == "" {
			t.Errorf("%s: nothing is said of what to do", name)
		}
		if !strings.Contains(text, c.want) || strings.Contains(text, "127.0.0.1") || strings.Contains(text, "SSH") || strings.Contains(text, "://") {
			t.Errorf("%s: explained as %q, want %q in it and no address (%v)", name, text, c.want, err)
		}
	}
}

// TestExplainTLS: a server that refuses us sends an alert.
func TestExplainTLS(t *testing.T) {
	for name, config := range map[string]*tls.Config{
		"too old": {MaxVersion: tls.VersionTLS11, MinVersion: tls.VersionTLS10},
		"another host": {GetConfigForClient: func(*tls.ClientHelloInfo) (*tls.Config, error) {
			return nil, io.EOF
		}},
		"a certificate": {ClientAuth: tls.RequireAnyClientCert},
	} {
		s := httptest.NewUnstartedServer(http.NotFoundHandler())
		s.Config.ErrorLog = log.New(io.Discard, "", 0)
		s.TLS = config
		s.StartTLS()
		t.Cleanup(s.Close)
		roots := x509.NewCertPool()
		roots.AddCert(s.Certificate())
		c := courier.New(courier.Options{AllowPrivate: true, Roots: roots})
		t.Cleanup(c.Close)
		_, err := c.Send(t.Context(), courier.Request{Method: "POST", URL: s.URL})
		text, remedy := diagnose.Explain(err)
		if !strings.HasPrefix(text, "the TLS handshake failed: ") || strings.Contains(text, "127.0.0.1") || remedy == "" {
			t.Errorf("%s: explained as %q, %q (%v)", name, text, remedy, err)
		}
	}
}

// TestExplainNetwork constructs errors that would take too long to cause.
func TestExplainNetwork(t *testing.T) {
	for _, c := range []struct {
		err   error
		want  string
		cause diagnose.Cause
	}{
		{&net.DNSError{Name: "a.example", IsNotFound: true}, "the host name does not exist (DNS has no address for it)", diagnose.CauseDNS},
		{&net.DNSError{Name: "a.example", IsTimeout: true}, "the host name could not be looked up (DNS did not answer)", diagnose.CauseDNS},
		{syscall.EHOSTUNREACH, "the server cannot be reached over the network", diagnose.CauseUnreachable},
		{syscall.ECONNRESET, "the server closed the connection without an answer", diagnose.CauseClosed},
		{os.ErrDeadlineExceeded, "no connection could be made within 3s", diagnose.CauseUnreachable},
		{x509.HostnameError{Certificate: &x509.Certificate{}, Host: "a.example"}, "the server's certificate is for another host", diagnose.CauseTLS},
		{syscall.ECONNREFUSED, "the connection was refused; is the server running on that port?", diagnose.CauseRefused},
		{errors.New("something new"), "the request failed: something new", diagnose.CauseOther},
	} {
		dial := &net.OpError{Op: "dial", Net: "tcp", Addr: &net.TCPAddr{IP: net.IPv4(10, 0, 0, 1), Port: 443}, Err: c.err}
		err := fmt.Errorf("send the request: %w", dial)
		text, remedy := diagnose.Explain(err)
		if text != c.want {
			t.Errorf("%v is explained as %q, want %q", c.err, text, c.want)
		}
		if got := diagnose.CauseOf(text); got != c.cause {
			t.Errorf("the cause of %q is %q, want %q", c.want, got, c.cause)
		}
		if known := !strings.Contains(c.want, "the request failed"); known != (remedy != "") {
			t.Errorf("the remedy for %q is %q", c.want, remedy)
		}
	}
}

// TestRemedyOnLoopback: a server on the own machine may listen only there.
func TestRemedyOnLoopback(t *testing.T) {
	for ip, public := range map[string]bool{"127.0.0.1": false, "127.8.8.8": false, "::1": false, "10.0.0.1": true, "203.0.113.7": true} {
		to := &net.TCPAddr{IP: net.ParseIP(ip), Port: 3000}
		err := fmt.Errorf("send the request: %w", &net.OpError{Op: "dial", Net: "tcp", Addr: to, Err: syscall.ECONNREFUSED})
		if _, got := diagnose.Explain(err); got == "" || strings.Contains(got, "public address") != public || strings.Contains(got, ip) {
			t.Errorf("%s: %q", ip, got)
		}
	}
	closed := httptest.NewServer(http.NotFoundHandler())
	closed.Close()
	_, err := local(t).Send(t.Context(), courier.Request{Method: "GET", URL: closed.URL})
	if _, got := diagnose.Explain(err); !strings.HasPrefix(got, "Start the server on that port.") {
		t.Errorf("a closed port of this machine: %q (%v)", got, err)
	}
}

// TestExplainTimeouts causes the errors of slow servers with a fake clock.
func TestExplainTimeouts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var dialTime time.Duration
		c := courier.New(courier.Options{AllowPrivate: true, Dial: func(context.Context, string, string) (net.Conn, error) {
			time.Sleep(dialTime)
			ours, theirs := net.Pipe()
			go func() { _, _ = io.Copy(io.Discard, theirs) }() // accepts and says nothing
			t.Cleanup(func() { _ = theirs.Close() })
			return ours, nil
		}})
		defer c.Close()
		start := time.Now()
		_, err := c.Send(t.Context(), courier.Request{Method: "GET", URL: "http://slow.example"})
		if took := time.Since(start); took != courier.Timeout {
			t.Errorf("given up after %s, want %s", took, courier.Timeout)
		}
		if text, _ := diagnose.Explain(err); text != "there was no answer within 10s" || diagnose.CauseOf(text) != diagnose.CauseTimeout {
			t.Errorf("explained as %q (%v)", text, err)
		}
		_, err = c.Send(t.Context(), courier.Request{Method: "GET", URL: "https://slow.example"})
		if text, _ := diagnose.Explain(err); text != "no connection could be made within 3s" {
			t.Errorf("a slow handshake is explained as %q (%v)", text, err)
		}
		dialTime, start = 2*time.Second, time.Now()
		_, err = c.Send(t.Context(), courier.Request{Method: "GET", URL: "https://slow.example"})
		if took := time.Since(start); took != courier.ConnectTimeout {
			t.Errorf("a slow connection with a slow handshake: given up after %s, want %s (%v)", took, courier.ConnectTimeout, err)
		}
	})
}

// local returns a client that may call this machine.
func local(t *testing.T) *courier.Client {
	t.Helper()
	c := courier.New(courier.Options{AllowPrivate: true})
	t.Cleanup(c.Close)
	return c
}

// listen runs a raw TCP server that handles every connection once.
func listen(t *testing.T, handle func(net.Conn)) string {
	t.Helper()
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			_, _ = c.Read(make([]byte, 1024))
			handle(c)
		}
	}()
	return l.Addr().String()
}
