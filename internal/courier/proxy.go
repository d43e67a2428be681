package courier

import (
	"bufio"
	"context"
	"crypto/tls"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"syscall"
	"time"
)

// proxy opens connections by way of a proxy. The proxy is told the address that the guard
// checked and never a name: what a name leads to could be another address by then.
type proxy struct {
	url   *url.URL
	tls   *tls.Config
	guard func(network, address string, _ syscall.RawConn) error // nil: every address may be called
}

// errProxy marks what failed at the proxy, before the server was reached.
var errProxy = errors.New("the proxy failed")

// statusError is a proxy's answer other than 200.
type statusError int

func (s statusError) Error() string { return fmt.Sprintf("the proxy answered %d", int(s)) }

// maxProxyHeader bounds what is read of a proxy's answer.
const maxProxyHeader = 16 << 10

// dial connects to the host of an address.
func (p *proxy) dial(ctx context.Context, _, address string) (net.Conn, error) {
	to, err := p.resolve(ctx, address)
	if err != nil {
		return nil, err
	}
	conn, err := p.reach(ctx)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errProxy, err)
	}
	if until, ok := ctx.Deadline(); ok {
		_ = conn.SetDeadline(until)
	}
	if err := p.connect(conn, to); err != nil {
		_ = conn.Close()
		return nil, fmt.Errorf("%w: %w", errProxy, err)
	}
	_ = conn.SetDeadline(time.Time{})
	return conn, nil
}

// resolve returns the first address of a host that may be called.
func (p *proxy) resolve(ctx context.Context, address string) (netip.AddrPort, error) {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return netip.AddrPort{}, err
	}
	number, err := net.DefaultResolver.LookupPort(ctx, "tcp", port)
	if err != nil {
		return netip.AddrPort{}, err
	}
	list, err := net.DefaultResolver.LookupNetIP(ctx, "ip", host)
	if err != nil {
		return netip.AddrPort{}, err
	}
	for _, ip := range list {
		to := netip.AddrPortFrom(ip.Unmap(), uint16(number)) //nolint:gosec // a port
		network := "tcp6"
		if to.Addr().Is4() {
			network = "tcp4"
		}
		if p.guard == nil {
			return to, nil
		}
		if err = p.guard(network, to.String(), nil); err == nil {
			return to, nil
		}
	}
	if err == nil {
		err = &net.DNSError{Err: "no address", Name: host, IsNotFound: true}
	}
	return netip.AddrPort{}, err
}

// reach connects to the proxy itself, which may have any address.
func (p *proxy) reach(ctx context.Context) (net.Conn, error) {
	port := p.url.Port()
	if port == "" {
		port = map[string]string{"http": "80", "https": "443"}[p.url.Scheme]
	}
	conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", net.JoinHostPort(p.url.Hostname(), port))
	if err != nil || p.url.Scheme != "https" {
		return conn, err
	}
	config := p.tls.Clone()
	config.ServerName = p.url.Hostname()
	secure := tls.Client(conn, config)
	if err := secure.HandshakeContext(ctx); err != nil {
		_ = conn.Close()
		return nil, err
	}
	return secure, nil
}

// connect has the proxy open the way to an address.
func (p *proxy) connect(conn net.Conn, to netip.AddrPort) error {
	text := fmt.Sprintf("CONNECT %[1]s HTTP/1.1\r\nHost: %[1]s\r\n", to)
	if u := p.url.User; u != nil {
		password, _ := u.Password()
		text += "Proxy-Authorization: Basic " + base64.StdEncoding.EncodeToString([]byte(u.Username()+":"+password)) + "\r\n"
	}
	if _, err := io.WriteString(conn, text+"\r\n"); err != nil {
		return err
	}
	// A server speaks only after we did, so nothing of it is read here.
	read := bufio.NewReader(io.LimitReader(conn, maxProxyHeader))
	resp, err := http.ReadResponse(read, &http.Request{Method: http.MethodConnect}) //nolint:bodyclose // what follows is the connection
	switch {
	case err != nil:
		return err
	case resp.StatusCode != http.StatusOK:
		return statusError(resp.StatusCode)
	case read.Buffered() > 0:
		return errNotHTTP
	}
	return nil
}

// explainProxy says what is wrong with the proxy. Those who read it do not run it, and it
// has addresses of the inner network.
func explainProxy(err error) (text, remedy string) {
	if !errors.Is(err, errProxy) {
		return "", ""
	}
	status, answered := errors.AsType[statusError](err)
	switch {
	case answered && (status == http.StatusBadGateway || status == http.StatusServiceUnavailable || status == http.StatusGatewayTimeout):
		return fmt.Sprintf("no connection could be made: the marketplace's proxy did not reach the server (it answered %d)", int(status)),
			"Check that the server listens at the address that DNS gives for the host, and lets our requests through its firewall."
	case answered && status == http.StatusProxyAuthRequired:
		return "the marketplace's proxy did not let the request out: it does not know the user name and password (407)",
			"The marketplace has to mend this: egress-proxy must carry the user name and password of the proxy."
	case answered:
		return fmt.Sprintf("the marketplace's proxy did not let the request out (it answered %d)", int(status)),
			"The marketplace has to mend this: its proxy must allow CONNECT to this address."
	}
	return "the marketplace's proxy could not be reached", "The marketplace has to mend this: its proxy must run where egress-proxy says."
}
