package courier_test

import (
	"cmp"
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
	"claviger/internal/diagnose"
)

// proxy is a proxy on this machine. It connects every CONNECT to one server, for any target, or
// answers a status.
type proxy struct {
	URL    *url.URL
	to     string
	status int
	of     map[string]int // statuses by target; 0: no answer until the client gives up

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
	status, known := p.of[r.Host]
	if !known {
		status = p.status
	}
	switch status {
	case http.StatusOK:
	case 0:
		<-r.Context().Done()
		return
	default:
		w.WriteHeader(status)
		return
	}
	server, err := net.Dial("tcp", p.to) //nolint:noctx // on this machine
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

// byProxy posts to a URL through a proxy.
func byProxy(t *testing.T, o courier.Options, to string) (courier.Answer, error) {
	t.Helper()
	c := courier.New(o)
	t.Cleanup(c.Close)
	return c.Send(t.Context(), courier.Request{Method: "POST", URL: to, Body: []byte("x"), Owner: 1})
}

// causeOf returns the cause of an error.
func causeOf(err error) diagnose.Cause {
	text, _ := diagnose.Explain(err)
	return diagnose.CauseOf(text)
}

// The proxy gets the address, and the server gets the name, in TLS and in Host.
func TestProxy(t *testing.T) {
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, r.Host+" "+r.TLS.ServerName+" "+r.Method)
	}))
	t.Cleanup(server.Close)
	roots := x509.NewCertPool()
	roots.AddCert(server.Certificate())
	p := newProxy(t, server.Listener.Addr().String(), http.StatusOK)
	p.URL.User = url.UserPassword("ann", "pass")
	// 203.0.113.7 is unassigned; the test server's certificate is for example.com.
	_, err := byProxy(t, courier.Options{AllowPrivate: true, Proxy: p.URL, Roots: roots}, "https://203.0.113.7/hook")
	if err == nil || causeOf(err) != diagnose.CauseTLS {
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
	if _, err := byProxy(t, courier.Options{AllowPrivate: true, Proxy: p.URL}, "https://127.0.0.1:8443/hook"); causeOf(err) != diagnose.CauseTLS {
		t.Errorf("an authority that nobody trusts: %v", err)
	}
	a, err = byProxy(t, courier.Options{AllowPrivate: true, Proxy: p.URL, Roots: roots}, "https://localhost:8443/hook")
	if err == nil || len(p.asked) == 0 || strings.Contains(strings.Join(p.asked, " "), "localhost") {
		t.Errorf("the proxy was told a name: %q; %v %v", p.asked, a, err)
	}
}

// A proxy does not bypass the guard: the address is checked before the proxy is called, and only
// the proxy itself may have a private address.
func TestProxyIsGuarded(t *testing.T) {
	p := newProxy(t, "", http.StatusOK)
	for _, to := range []string{"https://127.0.0.1/hook", "https://localhost/hook", "https://10.0.0.1/hook", "https://[::1]/hook", "https://169.254.169.254/"} {
		_, err := byProxy(t, courier.Options{Proxy: p.URL}, to)
		if causeOf(err) != diagnose.CauseForbidden {
			t.Errorf("%s: %v", to, err)
		}
	}
	if len(p.asked) != 0 {
		t.Errorf("the proxy was asked for %q", p.asked)
	}
}

// TestProxyTriesEachAddress: if the proxy does not reach an address of the host, the next one that
// the guard allows is tried. A failure of the proxy itself ends the attempts.
func TestProxyTriesEachAddress(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	t.Cleanup(server.Close)
	const v6, v4, other = "2606:4700::1111", "1.1.1.1", "8.8.8.8"
	for name, try := range map[string]struct {
		answers map[string]int // of the proxy; default 200
		asked   string
		cause   diagnose.Cause
	}{
		"all reached":         {nil, v6, ""},
		"no IPv6":             {map[string]int{v6: 502}, v6 + " " + v4, ""},
		"forbidden":           {map[string]int{v6: 403, v4: 502}, v6 + " " + v4 + " " + other, ""},
		"no answer":           {map[string]int{v6: 0}, v6 + " " + v4, ""},
		"none reached":        {map[string]int{v6: 502, v4: 403, other: 403}, v6 + " " + v4 + " " + other, diagnose.CauseUnreachable},
		"not authenticated":   {map[string]int{v6: 407}, v6, diagnose.CauseProxy},
		"none, proxy refuses": {map[string]int{v6: 403, v4: 502, other: 502}, v6 + " " + v4 + " " + other, diagnose.CauseProxy},
	} {
		t.Run(name, func(t *testing.T) {
			p := newProxy(t, server.Listener.Addr().String(), http.StatusOK)
			p.of = map[string]int{}
			for address, status := range try.answers {
				p.of[net.JoinHostPort(address, "443")] = status
			}
			// The server has no TLS, so an opened connection fails there.
			_, err := byProxy(t, courier.Options{Proxy: p.URL}.Resolving("127.0.0.1", v6, "10.0.0.1", v4, "::1", other), "https://hooks.example/")
			slow := name == "no answer"
			if cause := causeOf(err); !slow && cause != cmp.Or(try.cause, diagnose.CauseTLS) {
				t.Errorf("%s: %v", cause, err)
			}
			p.mu.Lock()
			defer p.mu.Unlock()
			var asked []string
			for _, target := range p.asked {
				host, _, _ := net.SplitHostPort(strings.TrimPrefix(target, "CONNECT "))
				asked = append(asked, host)
			}
			got := strings.Join(asked, " ")
			if slow && strings.HasPrefix(got, try.asked) {
				return // the progress depends on the load of this machine
			}
			if got != try.asked {
				t.Errorf("the proxy was asked for %s, want %s", got, try.asked)
			}
		})
	}
}

// The description of a failure at the proxy names the proxy and none of its addresses.
func TestProxyFails(t *testing.T) {
	closed := newProxy(t, "", http.StatusOK)
	left, err := net.Listen("tcp", "127.0.0.1:0") //nolint:noctx // it is closed immediately
	if err != nil {
		t.Fatal(err)
	}
	_ = left.Close()
	away := &url.URL{Scheme: "http", Host: left.Addr().String()}
	notHTTP := serveText(t, "SSH-2.0-OpenSSH\r\n")
	for name, try := range map[string]struct {
		proxy *url.URL
		cause diagnose.Cause
		says  string
	}{
		"away":         {away, diagnose.CauseProxy, "could not be reached"},
		"not a proxy":  {notHTTP, diagnose.CauseProxy, "could not be reached"},
		"forbidden":    {newProxy(t, "", http.StatusForbidden).URL, diagnose.CauseProxy, "answered 403"},
		"unknown user": {newProxy(t, "", http.StatusProxyAuthRequired).URL, diagnose.CauseProxy, "user name and password"},
		"bad gateway":  {closed.URL, diagnose.CauseUnreachable, "proxy did not reach the server (it answered 502)"},
	} {
		_, err := byProxy(t, courier.Options{Proxy: try.proxy}, "https://8.8.8.8/hook")
		text, remedy := diagnose.Explain(err)
		if diagnose.CauseOf(text) != try.cause || !strings.Contains(text, try.says) || !strings.Contains(text, "the marketplace's proxy") {
			t.Errorf("%s: %s (%s); %v", name, text, diagnose.CauseOf(text), err)
		}
		if strings.Contains(text, try.proxy.Port()) || remedy == "" {
			t.Errorf("%s: %s; %s", name, text, remedy)
		}
	}
}

// serveText runs a server that does not speak HTTP.
func serveText(t *testing.T, text string) *url.URL {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0") //nolint:noctx // until the test ends
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
