package courier_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"claviger/internal/courier"
	"claviger/internal/diagnose"
)

// serve runs a server on this machine until the test ends.
func serve(t *testing.T, h http.HandlerFunc) string {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	return s.URL
}

// local returns a client that may call this machine.
func local(t *testing.T) *courier.Client {
	t.Helper()
	c := courier.New(courier.Options{AllowPrivate: true, UserAgent: "tests/1"})
	t.Cleanup(c.Close)
	return c
}

// host returns the host and port of a server's URL.
func host(url string) string {
	return strings.TrimPrefix(url, "http://")
}

func TestSend(t *testing.T) {
	url := serve(t, func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		w.WriteHeader(http.StatusTeapot)
		_, _ = io.WriteString(w, r.Method+" "+r.URL.String()+" "+r.UserAgent()+" "+r.Header.Get("X-Test")+" "+string(body))
	})
	a, err := local(t).Send(t.Context(), courier.Request{
		Method: "POST", URL: url + "/hook?x=1", Header: http.Header{"X-Test": {"yes"}}, Body: []byte(`{"a":1}`),
	})
	if err != nil || a.Status != 418 || a.Body != `POST /hook?x=1 tests/1 yes {"a":1}` {
		t.Errorf("Send = %d %q, %v", a.Status, a.Body, err)
	}
}

func TestSendFollowsNoRedirect(t *testing.T) {
	var followed atomic.Bool
	url := serve(t, func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/good":
			http.Redirect(w, r, "/target", http.StatusFound)
		case "/broken":
			w.Header().Set("Location", "http://[broken")
			w.WriteHeader(http.StatusMovedPermanently)
		default:
			followed.Store(true)
		}
	})
	for path, want := range map[string]int{"/good": 302, "/broken": 301} {
		if a, err := local(t).Send(t.Context(), courier.Request{Method: "GET", URL: url + path}); a.Status != want || err != nil {
			t.Errorf("%s: %d, %v; want %d", path, a.Status, err, want)
		}
	}
	if followed.Load() {
		t.Error("a redirect was followed")
	}
}

func TestSendBoundsTheAnswer(t *testing.T) {
	url := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/header" {
			w.Header().Set("X-Long", strings.Repeat("h", 1<<20))
			return
		}
		_, _ = w.Write(bytes.Repeat([]byte("b"), 1<<20))
	})
	a, err := local(t).Send(t.Context(), courier.Request{Method: "GET", URL: url})
	if len(a.Body) != courier.MaxBody || err != nil {
		t.Errorf("%d bytes were read, %v; want %d", len(a.Body), err, courier.MaxBody)
	}
	if a, err := local(t).Send(t.Context(), courier.Request{Method: "GET", URL: url + "/header"}); err == nil {
		t.Errorf("a header of 1 MiB was read: %d", a.Status)
	}
}

func TestSendGuardsPrivateAddresses(t *testing.T) {
	var called atomic.Bool
	url := serve(t, func(http.ResponseWriter, *http.Request) { called.Store(true) })
	_, port, err := net.SplitHostPort(host(url))
	if err != nil {
		t.Fatal(err)
	}
	c := courier.New(courier.Options{})
	t.Cleanup(c.Close)
	for _, name := range []string{
		"127.0.0.1", "localhost", "[::1]", "[::ffff:127.0.0.1]", "0.0.0.0",
		"10.0.0.1", "192.168.1.1", "172.16.0.1", "169.254.169.254", "100.64.0.1", "[fd00::1]", "[64:ff9b::7f00:1]",
	} {
		_, err := c.Send(t.Context(), courier.Request{Method: "GET", URL: "https://" + name + ":" + port})
		if text, _ := diagnose.Explain(err); err == nil || !strings.Contains(text, "not public") {
			t.Errorf("%s: %v (%s), want it refused as not public", name, err, text)
		}
	}
	_, err = c.Send(t.Context(), courier.Request{Method: "GET", URL: "http://" + host(url)})
	if text, _ := diagnose.Explain(err); !strings.Contains(text, "https") {
		t.Errorf("http: %v, want it refused", err)
	}
	if called.Load() {
		t.Error("a private address was called")
	}
	if c.AllowsPrivate() || !local(t).AllowsPrivate() || (*courier.Client)(nil).AllowsPrivate() {
		t.Error("AllowsPrivate does not say what the options said")
	}
}

func TestSendStopsWithItsCaller(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	url := serve(t, func(_ http.ResponseWriter, r *http.Request) {
		cancel()
		<-r.Context().Done()
	})
	_, err := local(t).Send(ctx, courier.Request{Method: "GET", URL: url})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("Send = %v, want it canceled", err)
	}
}

func TestSendRefusesWhatIsNoRequest(t *testing.T) {
	c := courier.New(courier.Options{AllowPrivate: true, Dial: func(_ context.Context, _, address string) (net.Conn, error) {
		t.Errorf("%s was called", address)
		return nil, errors.New("not there")
	}})
	for _, r := range []courier.Request{
		{Method: "GET", URL: "://"},
		{Method: "GET", URL: "example.com"},
		{Method: "GET", URL: "ftp://example.com"},
		{Method: "GET", URL: "http:///path"},
		{Method: "GET", URL: "http:opaque"},
		{Method: "GET", URL: "http://user:word@example.com"},
		{Method: "G T", URL: "http://example.com"},
	} {
		if a, err := c.Send(t.Context(), r); err == nil {
			t.Errorf("%+v was sent: %d", r, a.Status)
		}
	}
}

// TestSendCannotBeSplit: a header value cannot add other headers.
func TestSendCannotBeSplit(t *testing.T) {
	url := serve(t, func(w http.ResponseWriter, r *http.Request) {
		for name := range r.Header {
			if strings.HasPrefix(name, "Smuggled") {
				t.Errorf("%s arrived", name)
			}
		}
		_, _ = io.WriteString(w, r.Header.Get("X"))
	})
	header := http.Header{"X": {"a\r\nSmuggled-1: b"}, "Y: c\r\nSmuggled-2": {"d"}, "Host": {"other.example\r\nSmuggled-3: e"}}
	if a, err := local(t).Send(t.Context(), courier.Request{Method: "POST", URL: url, Header: header, Body: []byte("{}")}); err != nil || a.Body != "a  Smuggled-1: b" {
		t.Errorf("%+v, %v", a, err)
	}
}
