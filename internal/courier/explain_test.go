package courier_test

import (
	"context"
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
)

func TestExplain(t *testing.T) {
	tls := httptest.NewUnstartedServer(http.NotFoundHandler())
	tls.Config.ErrorLog = log.New(io.Discard, "", 0) // it complains of our handshakes
	tls.StartTLS()
	t.Cleanup(tls.Close)
	plain := serve(t, func(http.ResponseWriter, *http.Request) {})
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
		cause     courier.Cause
	}{
		"refused":               {"http://" + closedPort(t), "refused", courier.CauseRefused},
		"unknown certificate":   {tls.URL, "certificate is not valid", courier.CauseTLS},
		"http behind https":     {"https" + strings.TrimPrefix(plain, "http"), "does not speak TLS", courier.CauseTLS},
		"closed without answer": {"http://" + hangUp, "closed the connection", courier.CauseClosed},
		"closed in the answer":  {"http://" + half, "the answer broke off", courier.CauseClosed},
		"not HTTP":              {"http://" + noise, "no HTTP/1.1 answer", courier.CauseInvalid},
		"endless headers":       {"http://" + bomb, "headers are too long", courier.CauseInvalid},
	} {
		_, err := local(t).Send(t.Context(), courier.Request{Method: "GET", URL: c.url})
		if err == nil {
			t.Errorf("%s: there was an answer", name)
			continue
		}
		text := courier.Explain(err)
		if got := courier.CauseOf(text); got != c.cause {
			t.Errorf("%s: its cause is %q, want %q", name, got, c.cause)
		}
		if courier.Remedy(err) == "" {
			t.Errorf("%s: nothing is said of what to do", name)
		}
		if !strings.Contains(text, c.want) || strings.Contains(text, "127.0.0.1") || strings.Contains(text, "SSH") || strings.Contains(text, "://") {
			t.Errorf("%s: explained as %q, want %q in it and no address (%v)", name, text, c.want, err)
		}
	}
}

// TestExplainNetwork makes errors that no test should have to wait for.
func TestExplainNetwork(t *testing.T) {
	for _, c := range []struct {
		err   error
		want  string
		cause courier.Cause
	}{
		{&net.DNSError{Name: "a.example", IsNotFound: true}, "the host name does not exist (DNS has no address for it)", courier.CauseDNS},
		{&net.DNSError{Name: "a.example", IsTimeout: true}, "the host name could not be looked up (DNS did not answer)", courier.CauseDNS},
		{syscall.EHOSTUNREACH, "the server cannot be reached over the network", courier.CauseUnreachable},
		{syscall.ECONNRESET, "the server closed the connection without an answer", courier.CauseClosed},
		{os.ErrDeadlineExceeded, "no connection could be made within 3s", courier.CauseUnreachable},
		{x509.HostnameError{Certificate: &x509.Certificate{}, Host: "a.example"}, "the server's certificate is for another host", courier.CauseTLS},
		{syscall.ECONNREFUSED, "the connection was refused; is the server running on that port?", courier.CauseRefused},
		{errors.New("something new"), "the request failed: something new", courier.CauseOther},
	} {
		dial := &net.OpError{Op: "dial", Net: "tcp", Addr: &net.TCPAddr{IP: net.IPv4(10, 0, 0, 1), Port: 443}, Err: c.err}
		err := fmt.Errorf("send the request: %w", dial)
		if got := courier.Explain(err); got != c.want {
			t.Errorf("%v is explained as %q, want %q", c.err, got, c.want)
		}
		if got := courier.CauseOf(courier.Explain(err)); got != c.cause {
			t.Errorf("the cause of %q is %q, want %q", c.want, got, c.cause)
		}
		if known := !strings.Contains(c.want, "the request failed"); known != (courier.Remedy(err) != "") {
			t.Errorf("the remedy for %q is %q", c.want, courier.Remedy(err))
		}
	}
}

// TestRemedyOnLoopback: a server on the own machine need not listen anywhere else.
func TestRemedyOnLoopback(t *testing.T) {
	for ip, public := range map[string]bool{"127.0.0.1": false, "127.8.8.8": false, "::1": false, "10.0.0.1": true, "203.0.113.7": true} {
		to := &net.TCPAddr{IP: net.ParseIP(ip), Port: 3000}
		err := fmt.Errorf("send the request: %w", &net.OpError{Op: "dial", Net: "tcp", Addr: to, Err: syscall.ECONNREFUSED})
		if got := courier.Remedy(err); got == "" || strings.Contains(got, "public address") != public || strings.Contains(got, ip) {
			t.Errorf("%s: %q", ip, got)
		}
	}
	_, err := local(t).Send(t.Context(), courier.Request{Method: "GET", URL: "http://" + closedPort(t)})
	if got := courier.Remedy(err); !strings.HasPrefix(got, "Start the server on that port.") {
		t.Errorf("a closed port of this machine: %q (%v)", got, err)
	}
}

// TestExplainTimeouts makes the errors of slow servers in no time.
func TestExplainTimeouts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var dialTime time.Duration
		c := courier.New(courier.Options{AllowPrivate: true, Dial: func(context.Context, string, string) (net.Conn, error) {
			time.Sleep(dialTime)
			ours, theirs := net.Pipe()
			go func() { _, _ = io.Copy(io.Discard, theirs) }() // listens and says nothing
			t.Cleanup(func() { _ = theirs.Close() })
			return ours, nil
		}})
		defer c.Close()
		start := time.Now()
		_, err := c.Send(t.Context(), courier.Request{Method: "GET", URL: "http://slow.example"})
		if took := time.Since(start); took != courier.Timeout {
			t.Errorf("given up after %s, want %s", took, courier.Timeout)
		}
		if text := courier.Explain(err); text != "there was no answer within 10s" || courier.CauseOf(text) != courier.CauseTimeout {
			t.Errorf("explained as %q (%v)", text, err)
		}
		_, err = c.Send(t.Context(), courier.Request{Method: "GET", URL: "https://slow.example"})
		if text := courier.Explain(err); text != "no connection could be made within 3s" {
			t.Errorf("a slow handshake is explained as %q (%v)", text, err)
		}
		dialTime, start = 2*time.Second, time.Now()
		_, err = c.Send(t.Context(), courier.Request{Method: "GET", URL: "https://slow.example"})
		if took := time.Since(start); took != courier.ConnectTimeout {
			t.Errorf("a slow connection with a slow handshake: given up after %s, want %s (%v)", took, courier.ConnectTimeout, err)
		}
	})
}

// listen runs a raw TCP server whose every connection is handled once.
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

// closedPort is an address where nobody listens any more.
func closedPort(t *testing.T) string {
	t.Helper()
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close() //nolint:errcheck // it was only there for its port
	return l.Addr().String()
}
