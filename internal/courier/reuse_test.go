package courier_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"claviger/internal/courier"
)

// counting runs a server that counts its connections.
func counting(t *testing.T, h http.HandlerFunc) (url string, connections *atomic.Int64) {
	t.Helper()
	connections = new(atomic.Int64)
	s := httptest.NewUnstartedServer(h)
	s.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateNew {
			connections.Add(1)
		}
	}
	s.Start()
	t.Cleanup(s.Close)
	return s.URL, connections
}

func TestSendUsesConnectionsAgain(t *testing.T) {
	url, connections := counting(t, func(w http.ResponseWriter, r *http.Request) {
		n, err := strconv.Atoi(r.URL.Query().Get("bytes"))
		if err != nil {
			t.Error(err)
		}
		if r.URL.Path != "/chunked" {
			w.Header().Set("Content-Length", strconv.Itoa(n))
		}
		_, _ = io.WriteString(w, strings.Repeat("x", n))
	})
	c := local(t)
	for range 3 {
		for _, path := range []string{"/?bytes=0", "/?bytes=10", "/chunked?bytes=5000", "/?bytes=16384", "/?bytes=16385", "/?bytes=200000"} {
			if _, err := c.Send(t.Context(), courier.Request{Method: "POST", Owner: 1, URL: url + path, Body: []byte("{}")}); err != nil {
				t.Fatalf("%s: %v", path, err)
			}
		}
	}
	if n := connections.Load(); n != 1 {
		t.Errorf("%d connections were made, want 1", n)
	}
	// A body that would take long to read is abandoned, with its connection.
	for range 2 {
		if _, err := c.Send(t.Context(), courier.Request{Method: "POST", Owner: 1, URL: url + "/?bytes=5000000"}); err != nil {
			t.Fatal(err)
		}
	}
	if n := connections.Load(); n != 2 {
		t.Errorf("%d connections were made, want 2", n)
	}
}

// TestSendTakesAnotherConnection: a server may close an idle connection just as we use it. A
// webhook, which is repeatable, is then sent over another one, and this is not a failed attempt.
func TestSendTakesAnotherConnection(t *testing.T) {
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	posts := make(chan string, 10)
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			// It answers one request, reads the next and closes the connection.
			r := bufio.NewReader(conn)
			for answered := range 2 {
				req, err := http.ReadRequest(r)
				if err != nil {
					break
				}
				body, _ := io.ReadAll(req.Body)
				posts <- string(body)
				if answered == 0 {
					_, _ = io.WriteString(conn, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
				}
			}
			_ = conn.Close()
		}
	}()
	c := local(t)
	header := courier.Signer{}.Headers(1, 1, time.UnixMilli(1), courier.NewSecrets("lk_1"), nil)
	for _, body := range []string{"first", "second"} {
		a, err := c.Send(t.Context(), courier.Request{Method: "POST", Owner: 1, URL: "http://" + l.Addr().String(), Header: header, Body: []byte(body), Repeatable: true})
		if err != nil || a.Body != "ok" {
			t.Fatalf("%s: %+v, %v", body, a, err)
		}
	}
	for i, want := range []string{"first", "second", "second"} {
		if got := <-posts; got != want {
			t.Errorf("post %d was %q, want %q", i+1, got, want)
		}
	}
}

// TestText compares Text with the bytes that a server receives.
func TestText(t *testing.T) {
	received := make(chan string, 1)
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		conn, err := l.Accept()
		if err != nil {
			return
		}
		b := make([]byte, 4096)
		n, _ := conn.Read(b)
		_, _ = io.WriteString(conn, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
		_ = conn.Close()
		received <- string(b[:n])
	}()
	c := local(t)
	body := courier.Body(benchEvent)
	r := courier.Request{
		Method: "POST", URL: "http://" + l.Addr().String() + "/hook?a=b", Body: body,
		Header: courier.Signer{Brand: "AppStore"}.Headers(7, 2, benchEvent.At, courier.NewSecrets("lk_1"), body),
	}
	if _, err := c.Send(t.Context(), r); err != nil {
		t.Fatal(err)
	}
	sent := <-received
	if got := c.Text(r); got != strings.ReplaceAll(sent, "\r\n", "\n") {
		t.Errorf("shown:\n%s\nreceived:\n%s", got, sent)
	}
	for _, line := range []string{
		"POST /hook?a=b HTTP/1.1\r\n", "\r\nwebhook-id: evt_7\r\n", "\r\nX-AppStore-Timestamp: 1772625600123\r\n", "\r\nX-AppStore-Attempt: 2\r\n",
		"\r\nUser-Agent: tests/1\r\n", "\r\nContent-Type: application/json; charset=UTF-8\r\n", "\r\n\r\n" + string(body),
	} {
		if !strings.Contains(sent, line) {
			t.Errorf("%q was not sent in\n%s", line, sent)
		}
	}
	if got := c.Text(courier.Request{Method: "GET", URL: "http://a.example/"}); got != "GET / HTTP/1.1\nHost: a.example\nUser-Agent: tests/1" {
		t.Errorf("a bare GET is shown as %q", got)
	}
	if got := c.Text(courier.Request{Method: "GET", URL: "://"}); got != "" {
		t.Errorf("no request is shown as %q", got)
	}
}

func TestSendLeavesTheHeaderAlone(t *testing.T) {
	url := serve(t, func(http.ResponseWriter, *http.Request) {})
	header := http.Header{"X-Test": {"yes"}}
	if _, err := local(t).Send(t.Context(), courier.Request{Method: "POST", URL: url, Header: header}); err != nil {
		t.Fatal(err)
	}
	if len(header) != 1 {
		t.Errorf("the header became %v", header)
	}
}

// BenchmarkSend compares Send, with signing, to a bare http.Client that posts the same bytes, 64 at
// a time.
func BenchmarkSend(b *testing.B) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		_, _ = io.WriteString(w, `{"success":true}`)
	}))
	b.Cleanup(s.Close)
	client := courier.New(courier.Options{AllowPrivate: true})
	b.Cleanup(client.Close)
	signer := courier.Signer{UserAgent: "claviger"}
	secrets := courier.NewSecrets("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSwMfKQ9r8GKYo=")
	body := courier.Body(benchEvent)
	bare := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 64}}
	b.Cleanup(bare.CloseIdleConnections)

	for name, post := range map[string]func(context.Context) error{
		"courier": func(ctx context.Context) error {
			a, err := client.Send(ctx, courier.Request{
				Method: "POST", Owner: 1, URL: s.URL, Body: body,
				Header: signer.Headers(1, 1, benchEvent.At, secrets, body),
			})
			if ok, why := courier.Delivered(a.Status, a.Body, false); err == nil && !ok {
				return fmt.Errorf("not delivered: %s", why)
			}
			return err
		},
		"bare": func(ctx context.Context) error {
			r, err := http.NewRequestWithContext(ctx, "POST", s.URL, strings.NewReader(string(body)))
			if err != nil {
				return err
			}
			r.Header.Set("Content-Type", "application/json")
			resp, err := bare.Do(r)
			if err != nil {
				return err
			}
			_, _ = io.Copy(io.Discard, resp.Body)
			return resp.Body.Close()
		},
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			b.SetParallelism(32)
			b.RunParallel(func(pb *testing.PB) {
				for pb.Next() {
					if err := post(b.Context()); err != nil {
						b.Error(err)
						return
					}
				}
			})
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "posts/s")
		})
	}
}
