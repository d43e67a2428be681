package courier_test

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"testing"

	"claviger/internal/courier"
)

const strayAnswer = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nstray"

// sharedOrigin runs a server of several partners. The handler of /hostile belongs to one of them
// and has taken over the connection: it answers the next request as soon as the first byte arrives,
// before any other handler can read it.
func sharedOrigin(t *testing.T) (url string) {
	t.Helper()
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	serve := func(conn net.Conn) {
		defer conn.Close() //nolint:errcheck // it served
		in := bufio.NewReader(conn)
		for hostile := false; ; {
			if _, err := in.Peek(1); err != nil {
				return
			}
			if hostile {
				_, _ = io.WriteString(conn, strayAnswer)
			}
			req, err := http.ReadRequest(in)
			if err != nil {
				return
			}
			_, _ = io.Copy(io.Discard, req.Body)
			hostile = hostile || req.URL.Path == "/hostile"
			_, _ = io.WriteString(conn, "HTTP/1.1 503 Service Unavailable\r\nContent-Length: 4\r\n\r\ndown")
		}
	}
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go serve(conn)
		}
	}()
	return "http://" + l.Addr().String()
}

// TestAnswersStayWithTheirOwner: data that one partner's handler writes on its connection is never
// read as the answer of another partner at the same address.
func TestAnswersStayWithTheirOwner(t *testing.T) {
	url := sharedOrigin(t)
	c := local(t)
	post := func(owner int64, path string) string {
		t.Helper()
		a, err := c.Send(t.Context(), courier.Request{Method: "POST", Owner: owner, URL: url + path, Body: []byte("{}")})
		if err != nil {
			t.Fatal(err)
		}
		return a.Body
	}
	for range 3 {
		post(1, "/hostile")
		if got := post(2, "/"); got != "down" {
			t.Errorf("partner 2 was answered %q", got)
		}
		if got := post(0, "/"); got != "down" {
			t.Errorf("a request without an owner was answered %q", got)
		}
	}
	// On its own connection, because the state of partner 1's depends on when the client notices
	// the two answers.
	post(3, "/hostile")
	if got := post(3, "/"); got != "stray" {
		t.Errorf("the attack does not work: partner 3 was answered %q", got)
	}
}

// TestNobodysConnectionsAreNotKept: requests without an owner may belong to different partners, so
// they share no connection.
func TestNobodysConnectionsAreNotKept(t *testing.T) {
	url := sharedOrigin(t)
	c := local(t)
	for _, path := range []string{"/hostile", "/"} {
		a, err := c.Send(t.Context(), courier.Request{Method: "POST", URL: url + path, Body: []byte("{}")})
		if err != nil || a.Body != "down" {
			t.Errorf("%s was answered %q, %v", path, a.Body, err)
		}
	}
}
