package courier_test

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"claviger/internal/courier"
)

// answering runs a server that answers requests from a script: the outer list is by connection, the
// inner one by request. After its last line, or at "", a connection is closed.
func answering(t *testing.T, script ...[]string) (url string, requests <-chan string) {
	t.Helper()
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	got := make(chan string, 100)
	go func() {
		for _, answers := range script {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			in := bufio.NewReader(conn)
			for _, answer := range answers {
				req, err := http.ReadRequest(in)
				if err != nil {
					break
				}
				body, _ := io.ReadAll(req.Body)
				got <- string(body)
				_, _ = io.WriteString(conn, answer)
			}
			_ = conn.Close()
		}
	}()
	return "http://" + l.Addr().String(), got
}

const ok = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"

// TestSendReadsTheRightAnswer: other data before, after and instead of an answer counts neither as
// this answer nor as the next.
func TestSendReadsTheRightAnswer(t *testing.T) {
	const interim = "HTTP/1.1 103 Early Hints\r\nLink: </a.css>\r\n\r\n"
	const wrong = "HTTP/1.1 500 No\r\nContent-Length: 0\r\n\r\n"
	for name, c := range map[string]struct {
		script [][]string
		want   []int
	}{
		"interim answers":         {[][]string{{"HTTP/1.1 100 Continue\r\n\r\n" + interim + ok, ok}}, []int{200, 200}},
		"many interim answers":    {[][]string{{strings.Repeat(interim, 100) + ok, ok}}, []int{200, 200}},
		"interim without end":     {[][]string{{strings.Repeat(interim, 2000) + ok}, {ok}}, []int{0, 200}},
		"a strange status":        {[][]string{{"HTTP/1.1 099 What\r\nContent-Length: 0\r\n\r\n", ok}}, []int{99, 200}},
		"another protocol":        {[][]string{{"HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\n\r\n", wrong}, {ok}}, []int{101, 200}},
		"closed after the answer": {[][]string{{"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\nok", wrong}, {ok}}, []int{200, 200}},
		"HTTP/1.0":                {[][]string{{"HTTP/1.0 200 OK\r\n\r\nuntil it ends"}, {ok}}, []int{200, 200}},
		"two answers to one":      {[][]string{{ok + wrong, ok}, {ok}}, []int{200, 200}},
		"no body by its status":   {[][]string{{"HTTP/1.1 204 No Content\r\n\r\n", ok}}, []int{204, 200}},
		"no HTTP":                 {[][]string{{"SSH-2.0-x\r\n"}, {ok}}, []int{0, 200}},
		"cut off in the body":     {[][]string{{"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nok"}, {ok}}, []int{-1, 200}},
	} {
		t.Run(name, func(t *testing.T) {
			url, _ := answering(t, c.script...)
			client := local(t)
			for i, want := range c.want {
				a, err := client.Send(t.Context(), courier.Request{Method: "POST", Owner: 1, URL: url, Body: []byte("{}")})
				if (err != nil) != (want <= 0) || want >= 0 && a.Status != want {
					t.Errorf("answer %d: %d %q, %v; want %d", i+1, a.Status, a.Body, err, want)
				}
			}
		})
	}
}

// TestSendPassesOverClosedConnections: an idle connection that the server has closed, possibly with
// a last message, is not used. So unrepeatable requests arrive, too.
func TestSendPassesOverClosedConnections(t *testing.T) {
	for _, goodbye := range []string{"", "HTTP/1.1 408 Request Timeout\r\nContent-Length: 0\r\n\r\n"} {
		l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = l.Close() })
		client := local(t)
		send := func() (courier.Answer, error) {
			return client.Send(t.Context(), courier.Request{Method: "POST", Owner: 1, URL: "http://" + l.Addr().String(), Body: []byte("{}")})
		}
		serveOne := func() net.Conn {
			conn, err := l.Accept()
			if err != nil {
				t.Error(err)
				return nil
			}
			if _, err := http.ReadRequest(bufio.NewReader(conn)); err != nil {
				t.Error(err)
			}
			_, _ = io.WriteString(conn, ok)
			return conn
		}
		first := make(chan net.Conn, 1)
		go func() { first <- serveOne() }()
		if _, err := send(); err != nil {
			t.Fatal(err)
		}
		conn := <-first
		_, _ = io.WriteString(conn, goodbye)
		_ = conn.Close()
		go serveOne()
		if a, err := send(); err != nil || a.Status != 200 {
			t.Errorf("after %q: %+v, %v", goodbye, a, err)
		}
	}
}

// TestSendRepeatsOnlyWhatMayBe: if a connection breaks while it is used, the server may or may not
// have seen the request.
func TestSendRepeatsOnlyWhatMayBe(t *testing.T) {
	for name, c := range map[string]struct {
		repeatable bool
		script     [][]string
		want       []string // requests that arrive
		fails      bool
	}{
		"must not be":             {false, [][]string{{ok, ""}, {ok}}, []string{"first", "second"}, true},
		"may be":                  {true, [][]string{{ok, ""}, {ok}}, []string{"first", "second", "second"}, false},
		"once":                    {true, [][]string{{ok, ""}, {""}, {ok}}, []string{"first", "second", "second"}, true},
		"not after half a header": {true, [][]string{{ok, "HTTP/1.1 200 OK\r\nCont"}, {ok}}, []string{"first", "second"}, true},
	} {
		t.Run(name, func(t *testing.T) {
			url, requests := answering(t, c.script...)
			client := local(t)
			var err error
			for _, body := range []string{"first", "second"} {
				_, err = client.Send(t.Context(), courier.Request{Method: "POST", Owner: 1, URL: url, Body: []byte(body), Repeatable: c.repeatable})
			}
			if (err != nil) != c.fails {
				t.Errorf("the second request: %v", err)
			}
			var got []string
			for len(requests) > 0 {
				got = append(got, <-requests)
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("requests (-want +got):\n%s", diff)
			}
		})
	}
}

// TestConnectionsEnd: idle connections are closed after a time, and with the client; no more are
// kept than configured.
func TestConnectionsEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		made := make(chan net.Conn, 10)
		client := courier.New(courier.Options{AllowPrivate: true, IdlePerHost: 2, Dial: func(context.Context, string, string) (net.Conn, error) {
			ours, theirs := net.Pipe()
			made <- theirs
			return ours, nil
		}})
		answer := func(conn net.Conn) {
			if _, err := http.ReadRequest(bufio.NewReader(conn)); err != nil {
				t.Error(err)
			}
			_, _ = io.WriteString(conn, ok)
		}
		ended := func(conn net.Conn) bool {
			_ = conn.SetReadDeadline(time.Now().Add(time.Millisecond))
			_, err := conn.Read(make([]byte, 1))
			return errors.Is(err, io.EOF)
		}
		const requests = 3
		for range requests { // concurrently, so that each has a connection
			go func() {
				if _, err := client.Send(t.Context(), courier.Request{Method: "POST", Owner: 1, URL: "http://a.example/"}); err != nil {
					t.Error(err)
				}
			}()
		}
		conns := []net.Conn{<-made, <-made, <-made}
		synctest.Wait()
		for _, conn := range conns {
			answer(conn)
			synctest.Wait()
		}
		if got := []bool{ended(conns[0]), ended(conns[1]), ended(conns[2])}; !cmp.Equal(got, []bool{false, false, true}) {
			t.Errorf("ended: %v, want the third, which is more than is kept", got)
		}
		time.Sleep(3 * time.Minute)
		synctest.Wait()
		if !ended(conns[0]) || !ended(conns[1]) {
			t.Error("an idle connection is open after minutes")
		}
		last := make(chan net.Conn, 1)
		go func() {
			conn := <-made
			answer(conn)
			last <- conn
		}()
		if _, err := client.Send(t.Context(), courier.Request{Method: "POST", Owner: 1, URL: "http://a.example/"}); err != nil {
			t.Error(err)
		}
		client.Close()
		if conn := <-last; !ended(conn) {
			t.Error("a connection is open after the client was closed")
		}
	})
}

// TestSendInTime: unneeded data does not delay the sender, and a request that was given up before
// is not sent.
func TestSendInTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		made := make(chan net.Conn, 10)
		client := courier.New(courier.Options{AllowPrivate: true, Dial: func(context.Context, string, string) (net.Conn, error) {
			ours, theirs := net.Pipe()
			made <- theirs
			return ours, nil
		}})
		defer client.Close()
		request := courier.Request{Method: "POST", Owner: 1, URL: "http://a.example/", Repeatable: true}
		const long = "HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n"
		requests := make(chan string, 10)
		go func() { // a long answer that never ends
			conn := <-made
			_, _ = http.ReadRequest(bufio.NewReader(conn))
			_, _ = io.WriteString(conn, long+strings.Repeat("x", courier.MaxBody))
		}()
		begun := time.Now()
		if a, err := client.Send(t.Context(), request); err != nil || len(a.Body) != courier.MaxBody || a.Took != 0 || time.Since(begun) > time.Second {
			t.Errorf("a long answer: %d bytes in %s, %v; it took %s in all", len(a.Body), a.Took, err, time.Since(begun))
		}
		go func() { // an answer, then a request that is processed for a while without one
			conn := <-made
			in := bufio.NewReader(conn)
			for _, answer := range []string{ok, ""} {
				_, _ = http.ReadRequest(in)
				requests <- "request"
				if answer == "" {
					time.Sleep(2 * time.Second)
				}
				_, _ = io.WriteString(conn, answer)
			}
			_ = conn.Close()
		}()
		if _, err := client.Send(t.Context(), request); err != nil {
			t.Error(err)
		}
		if _, err := client.Send(t.Context(), request); err == nil || len(made) != 0 || len(requests) != 2 {
			t.Errorf("a request that the server worked on was sent again: %v", err)
		}
		ended, end := context.WithCancel(t.Context())
		end()
		if _, err := client.Send(ended, request); !errors.Is(err, context.Canceled) || len(made) != 0 {
			t.Errorf("a request that was given up was sent: %v", err)
		}
	})
}
