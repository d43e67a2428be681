package courier_test

import (
	"context"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"

	"golang.org/x/sys/unix"

	"claviger/internal/courier"
)

// TestUnacknowledgedDataIsGivenUp: the socket option is set.
func TestUnacknowledgedDataIsGivenUp(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	defer s.Close()
	var conn *net.TCPConn
	c := courier.New(courier.Options{AllowPrivate: true, Dial: func(ctx context.Context, network, address string) (net.Conn, error) {
		dialed, err := (&net.Dialer{}).DialContext(ctx, network, address)
		conn, _ = dialed.(*net.TCPConn)
		return dialed, err
	}})
	defer c.Close()
	if _, err := c.Send(t.Context(), courier.Request{Method: http.MethodPost, Owner: 1, URL: s.URL, Body: []byte("{}")}); err != nil {
		t.Fatal(err)
	}
	raw, err := conn.SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	var got int
	if cerr := raw.Control(func(fd uintptr) { got, err = unix.GetsockoptInt(int(fd), unix.IPPROTO_TCP, unix.TCP_USER_TIMEOUT) }); cerr != nil || err != nil {
		t.Fatal(cerr, err)
	}
	if want := int(courier.Timeout.Milliseconds()); got != want {
		t.Errorf("TCP_USER_TIMEOUT is %d ms, want %d", got, want)
	}
}
