package courier_test

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"claviger/internal/courier"
)

// TestTiming: each part of a request is measured: a new connection has all parts, a reused one only
// the wait for the answer.
func TestTiming(t *testing.T) {
	handler := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusOK) })
	plain, secure := httptest.NewServer(handler), httptest.NewTLSServer(handler)
	defer plain.Close()
	defer secure.Close()
	client := courier.New(courier.Options{AllowPrivate: true})
	defer client.Close()
	byName := strings.Replace(plain.URL, "127.0.0.1", "localhost", 1)
	send := func(url string) courier.Timing {
		t.Helper()
		a, _ := client.Send(t.Context(), courier.Request{Method: "POST", URL: url, Body: []byte("{}"), Owner: 1})
		return a.Timing
	}
	first := send(byName)
	if first.DNS <= 0 || first.Connect <= 0 || first.TLS != 0 || first.FirstByte <= 0 || first.Reused {
		t.Errorf("a new connection: %+v", first)
	}
	if again := send(byName); again.DNS != 0 || again.Connect != 0 || again.FirstByte <= 0 || !again.Reused {
		t.Errorf("a reused connection: %+v", again)
	}
	if literal := send(plain.URL); literal.DNS != 0 || literal.Connect <= 0 {
		t.Errorf("an address without a name: %+v", literal)
	}
	// The certificate is not trusted: the handshake fails, and its time is measured.
	if failed := send(secure.URL); failed.Connect <= 0 || failed.TLS <= 0 || failed.FirstByte != 0 {
		t.Errorf("a failed handshake: %+v", failed)
	}
}

// TestTimingOfAFailedDial: a failed dial has the time until the failure.
func TestTimingOfAFailedDial(t *testing.T) {
	client := courier.New(courier.Options{AllowPrivate: true, Dial: func(context.Context, string, string) (net.Conn, error) {
		return nil, errors.New("no way")
	}})
	defer client.Close()
	a, err := client.Send(t.Context(), courier.Request{Method: "POST", URL: "http://127.0.0.1:1/", Body: []byte("{}")})
	if err == nil || a.Timing.Connect <= 0 || a.Timing.FirstByte != 0 {
		t.Errorf("got %+v, %v", a.Timing, err)
	}
}
