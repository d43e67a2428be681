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

// proxy opens connections through a proxy. The proxy gets an address that the guard has checked,
// never a name: the name could resolve to another address by then.
type proxy struct {
	url   *url.URL
	tls   *tls.Config
	guard func(network, address string, _ syscall.RawConn) error // nil: every address may be called

	lookup func(ctx context.Context, network, host string) ([]netip.Addr, error)
}

// ErrProxy marks failures at the proxy, before the server was reached.
var ErrProxy = errors.New("the proxy failed")

// ProxyStatus is the error of a proxy that answered another status than 200.
type ProxyStatus int

func (s ProxyStatus) Error() string { return fmt.Sprintf("the proxy answered %d", int(s)) }

// maxProxyHeader limits the bytes read of a proxy's answer.
const maxProxyHeader = 16 << 10

// dial connects to the host of an address. It tries the addresses of the host one after another,
// like a dialer without a proxy: the proxy may not reach all of them, for example without IPv6. If
// all fail, it returns the first error.
func (p *proxy) dial(ctx context.Context, _, address string) (net.Conn, error) {
	list, err := p.resolve(ctx, address)
	if err != nil {
		return nil, err
	}
	var first error
	for i, to := range list {
		conn, err := p.reach(ctx)
		if err == nil {
			err = p.open(ctx, conn, to, len(list)-i)
		}
		if err == nil {
			return conn, nil
		}
		if first == nil {
			first = fmt.Errorf("%w: %w", ErrProxy, err)
		}
		if conn == nil || errors.Is(err, ProxyStatus(http.StatusProxyAuthRequired)) || ctx.Err() != nil {
			break // not because of the address
		}
	}
	return nil, first
}

// open asks the proxy for a tunnel to an address over conn, and closes conn on failure. It may use
// its share of the remaining time for this number of addresses.
func (p *proxy) open(ctx context.Context, conn net.Conn, to netip.AddrPort, addresses int) error {
	if until, ok := ctx.Deadline(); ok {
		_ = conn.SetDeadline(until.Add(-time.Until(until) / time.Duration(addresses) * time.Duration(addresses-1)))
	}
	if err := p.connect(conn, to); err != nil {
		_ = conn.Close()
		return err
	}
	_ = conn.SetDeadline(time.Time{})
	return nil
}

// resolve returns the addresses of a host that may be called. The guard checks each of them.
func (p *proxy) resolve(ctx context.Context, address string) ([]netip.AddrPort, error) {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return nil, err
	}
	number, err := net.DefaultResolver.LookupPort(ctx, "tcp", port)
	if err != nil {
		return nil, err
	}
	found, err := p.lookup(ctx, "ip", host)
	if err != nil {
		return nil, err
	}
	var list []netip.AddrPort
	var refused error
	for _, ip := range found {
		to := netip.AddrPortFrom(ip.Unmap(), uint16(number)) //nolint:gosec // a port
		if err := p.check(to); err != nil {
			refused = err
			continue
		}
		list = append(list, to)
	}
	switch {
	case len(list) > 0:
		return list, nil
	case refused != nil:
		return nil, refused
	}
	return nil, &net.DNSError{Err: "no address", Name: host, IsNotFound: true}
}

// check returns an error for an address that must not be called.
func (p *proxy) check(to netip.AddrPort) error {
	if p.guard == nil {
		return nil
	}
	network := "tcp6"
	if to.Addr().Is4() {
		network = "tcp4"
	}
	return p.guard(network, to.String(), nil)
}

// reach connects to the proxy, which may have any address.
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

// connect asks the proxy for a tunnel to an address.
func (p *proxy) connect(conn net.Conn, to netip.AddrPort) error {
	text := fmt.Sprintf("CONNECT %[1]s HTTP/1.1\r\nHost: %[1]s\r\n", to)
	if u := p.url.User; u != nil {
		password, _ := u.Password()
		text += "Proxy-Authorization: Basic " + base64.StdEncoding.EncodeToString([]byte(u.Username()+":"+password)) +
			"\r\n"
	}
	if _, err := io.WriteString(conn, text+"\r\n"); err != nil {
		return err
	}
	// A server sends nothing before we do, so none of its data is read here.
	read := bufio.NewReader(io.LimitReader(conn, maxProxyHeader))
	//nolint:bodyclose // the body is the tunnel
	resp, err := http.ReadResponse(read, &http.Request{Method: http.MethodConnect})
	switch {
	case err != nil:
		return err
	case resp.StatusCode != http.StatusOK:
		return ProxyStatus(resp.StatusCode)
	case read.Buffered() > 0:
		return ErrNotHTTP
	}
	return nil
}
