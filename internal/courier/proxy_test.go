package courier_test

import (
	"crypto/x509"
	"encoding/base64"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"

	"claviger/internal/courier"
)

// proxy is a proxy on this machine. It leads every CONNECT to one server, whatever is asked
// for, or answers a status.
type proxy struct {
	URL    *url.URL
	to     string
	status int

	mu    sync.Mutex
	asked []string // targets, and the credentials
}

func newProxy(t *testing.T, to string, status int) *proxy {
	t.Helper()
	p := &proxy{to: to, status: status}
	s := httptest.NewServer(p)
	t.Cleanup(s.Close)
	u, err := url.Parse(s.URL)
	if err != nil {
		t.Fatal(err)
	}
	p.URL = u
	return p
}

func (p *proxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	p.mu.Lock()
	p.asked = append(p.asked, strings.TrimSpace(r.Method+" "+r.Host+" "+r.Header.Get("Proxy-Authorization")))
	p.mu.Unlock()
	if p.status != http.StatusOK {
		w.WriteHeader(p.status)
		return
	}
	server, err := net.Dial("tcp", p.to) //nolint:noctx // it is on this machine
	if err != nil {
		w.WriteHeader(http.StatusBadGateway)
		return
	}
	client, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		return
	}
	_, _ = io.WriteString(client, "HTTP/1.1 200 Connection established\r\n\r\n")
	go func() {
		_, _ = io.Copy(server, client)
		_ = server.Close()
	}()
	_, _ = io.Copy(client, server)
	_ = client.Close()
}

// byProxy posts to a URL by way of a proxy.
func byProxy(t *testing.T, o courier.Options, to string) (courier.Answer, error) {
	t.Helper()
	c := courier.New(o)
	t.Cleanup(c.Close)
	return c.Send(t.Context(), courier.Request{Method: "POST", URL: to, Body: []byte("x"), Owner: 1})
}

// The proxy is asked for the address, and the server is told the name, in TLS and in Host.
func TestProxy(t *testing.T) {
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, r.Host+" "+r.TLS.ServerName+" "+r.Method)
	}))
	t.Cleanup(server.Close)
	roots := x509.NewCertPool()
	roots.AddCert(server.Certificate())
	p := newProxy(t, server.Listener.Addr().String(), http.StatusOK)
	p.URL.User = url.UserPassword("ann", "pass")
	// 203.0.113.7 is nobody's; the certificate of the test server is for example.com.
	_, err := byProxy(t, courier.Options{AllowPrivate: true, Proxy: p.URL, Roots: roots}, "https://203.0.113.7/hook")
	if err == nil || courier.CauseOf(courier.Explain(err)) != courier.CauseTLS {
		t.Errorf("a certificate for another host: %v", err)
	}
	a, err := byProxy(t, courier.Options{AllowPrivate: true, Proxy: p.URL, Roots: roots}, "https://127.0.0.1:8443/hook")
	if err != nil || a.Body != "127.0.0.1:8443  POST" {
		t.Errorf("answer %q, %v", a.Body, err)
	}
	credentials := "Basic " + base64.StdEncoding.EncodeToString([]byte("ann:pass"))
	want := []string{"CONNECT 203.0.113.7:443 " + credentials, "CONNECT 127.0.0.1:8443 " + credentials}
	if strings.Join(p.asked, "; ") != strings.Join(want, "; ") {
		t.Errorf("the proxy was asked for %q, want %q", p.asked, want)
	}
	if _, err := byProxy(t, courier.Options{AllowPrivate: true, Proxy: p.URL}, "https://127.0.0.1:8443/hook"); courier.CauseOf(courier.Explain(err)) != courier.CauseTLS {
		t.Errorf("an authority that nobody trusts: %v", err)
	}
	a, err = byProxy(t, courier.Options{AllowPrivate: true, Proxy: p.URL, Roots: roots}, "https://localhost:8443/hook")
	if err == nil || len(p.asked) == 0 || strings.Contains(strings.Join(p.asked, " "), "localhost") {
		t.Errorf("the proxy was told a name: %q; %v %v", p.asked, a, err)
	}
}

// A proxy is no way around the guard: the address is checked before the proxy is asked, and
// only the proxy's own may be private.
func TestProxyIsGuarded(t *testing.T) {
	p := newProxy(t, "", http.StatusOK)
	for _, to := range []string{"https://127.0.0.1/hook", "https://localhost/hook", "https://10.0.0.1/hook", "https://[::1]/hook", "https://169.254.169.254/"} {
		_, err := byProxy(t, courier.Options{Proxy: p.URL}, to)
		if courier.CauseOf(courier.Explain(err)) != courier.CauseForbidden {
			t.Errorf("%s: %v", to, err)
		}
	}
	if len(p.asked) != 0 {
		t.Errorf("the proxy was asked for %q", p.asked)
	}
}

// What fails at the proxy names the proxy, and none of its addresses.
func TestProxyFails(t *testing.T) {
	closed := newProxy(t, "", http.StatusOK)
	left, err := net.Listen("tcp", "127.0.0.1:0") //nolint:noctx // it is closed at once
	if err != nil {
		t.Fatal(err)
	}
	_ = left.Close()
	away := &url.URL{Scheme: "http", Host: left.Addr().String()}
	notHTTP := serveText(t, "SSH-2.0-OpenSSH\r\n")
	for name, try := range map[string]struct {
		proxy *url.URL
		cause courier.Cause
		says  string
	}{
		"away":         {away, courier.CauseProxy, "could not be reached"},
		"not a proxy":  {notHTTP, courier.CauseProxy, "could not be reached"},
		"forbidden":    {newProxy(t, "", http.StatusForbidden).URL, courier.CauseProxy, "answered 403"},
		"unknown user": {newProxy(t, "", http.StatusProxyAuthRequired).URL, courier.CauseProxy, "user name and password"},
		"bad gateway":  {closed.URL, courier.CauseUnreachable, "proxy did not reach the server (it answered 502)"},
	} {
		_, err := byProxy(t, courier.Options{Proxy: try.proxy}, "https://8.8.8.8/hook")
		text := courier.Explain(err)
		if courier.CauseOf(text) != try.cause || !strings.Contains(text, try.says) || !strings.Contains(text, "the marketplace's proxy") {
			t.Errorf("%s: %s (%s); %v", name, text, courier.CauseOf(text), err)
		}
		if strings.Contains(text, try.proxy.Port()) || courier.Remedy(err) == "" {
			t.Errorf("%s: %s; %s", name, text, courier.Remedy(err))
		}
	}
}

// serveText is a server that says something else than HTTP.
func serveText(t *testing.T, text string) *url.URL {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0") //nolint:noctx // for the time of the test
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
			_, _ = io.WriteString(c, text)
			_ = c.Close()
		}
	}()
	return &url.URL{Scheme: "http", Host: l.Addr().String()}
}
