// Package courier signs and posts webhooks. It builds their bodies and headers. Its HTTP client for
// URLs chosen by others refuses private addresses. It decides which answer means that a webhook was
// delivered. It owns no table, and does not decide which webhooks are sent or when. Package diagnose
// explains its errors, and the answers that are no delivery.
package courier

import (
	"bytes"
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"sync"
	"syscall"
	"time"

	"code.dny.dev/ssrf"
)

// The limits of one request.
const (
	ConnectTimeout = 3 * time.Second
	Timeout        = 10 * time.Second
	MaxBody        = 16 << 10 // of the answer; the rest is not read
	maxHeader      = 64 << 10 // of the answer; more is an error
	maxDrain       = 256 << 10
)

// The limits of the connection pool.
const (
	defaultIdlePerHost = 64
	maxIdle            = 4096
	idleTimeout        = 90 * time.Second
	pruneEvery         = 15 * time.Second
)

// ErrSlow is the error of a request without a whole answer within Timeout.
var ErrSlow = errors.New("no answer within " + Timeout.String())

// URLError is a defect of a URL that must not be called.
type URLError string

func (e URLError) Error() string { return string(e) }

// The defects of URLs.
const (
	errPlain    URLError = "the URL does not begin with https://"
	errUserInfo URLError = "the URL carries a user name or password"
	errNoHost   URLError = "the URL names no host"
)

// Options contains the settings of a client; the zero value calls only public addresses.
type Options struct {
	AllowPrivate bool           // allow http and addresses of the own machine and network
	UserAgent    string         // "": claviger
	IdlePerHost  int            // idle connections kept per host and owner; 0: 64
	Proxy        *url.URL       // an http or https proxy for all requests; nil: none
	Roots        *x509.CertPool // certificate authorities for servers; nil: the system's

	// Dial is a hook: it replaces network connections, without address checks. Client calls it for
	// each new connection; app.Config.Dial of claviger dev and of tests answers. Nil: the network.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)

	lookup func(ctx context.Context, network, host string) ([]netip.Addr, error) // for Proxy; nil: the system's
}

// Client calls URLs chosen by others. It follows no redirects. Unless private addresses are
// allowed, it calls only https, and refuses private addresses when it dials, after the host name
// was resolved.
type Client struct {
	options Options
	pool    connPool
}

// New creates a client. It reuses connections; Close closes the idle ones. It speaks HTTP/1.1: the
// same posts over HTTP/2 cost 50% more.
func New(o Options) *Client {
	o.UserAgent = cmp.Or(o.UserAgent, "claviger")
	o.IdlePerHost = cmp.Or(o.IdlePerHost, defaultIdlePerHost)
	config := &tls.Config{
		MinVersion: tls.VersionTLS12, ClientSessionCache: tls.NewLRUClientSessionCache(1024), RootCAs: o.Roots,
	}
	if o.lookup == nil {
		o.lookup = net.DefaultResolver.LookupNetIP
	}
	if o.Dial == nil {
		o.Dial = o.dialer(config)
	}
	return &Client{options: o, pool: connPool{
		dial: o.Dial, perHost: o.IdlePerHost, max: maxIdle, idle: map[origin][]*conn{}, tls: config,
	}}
}

// dialer returns the dial function: through the proxy or directly, to private addresses only if
// they are allowed.
func (o Options) dialer(config *tls.Config) func(ctx context.Context, network, address string) (net.Conn, error) {
	var guard func(network, address string, _ syscall.RawConn) error
	if !o.AllowPrivate {
		guard = ssrf.New(ssrf.WithAnyPort()).Safe
	}
	if o.Proxy != nil {
		return (&proxy{url: o.Proxy, tls: config, guard: guard, lookup: o.lookup}).dial
	}
	return (&net.Dialer{Timeout: ConnectTimeout, Control: guard}).DialContext
}

// AllowsPrivate reports whether http and private addresses may be called. A nil client may not call
// them.
func (c *Client) AllowsPrivate() bool { return c != nil && c.options.AllowPrivate }

// UserAgent returns the User-Agent of the client.
func (c *Client) UserAgent() string { return c.options.UserAgent }

// Close closes the idle connections.
func (c *Client) Close() { c.pool.closeIdle(func(*conn) bool { return true }) }

// Request is one request. Header contains additional headers; Send does not change it.
type Request struct {
	Method string
	URL    string
	Header http.Header
	Body   []byte

	// Owner is the partner of the request. A connection is reused only for the same partner, and
	// never without an owner: the server of one partner must not be able to answer requests of
	// another at the same address.
	Owner int64

	// Repeatable means that the request may arrive twice: if a reused connection breaks before an
	// answer begins, it is sent again over a new one.
	Repeatable bool

	// Allowed is called right before the request is written, on an open connection; nil allows it.
	// If it returns false, nothing is sent and the error is ErrNotAllowed.
	Allowed func() bool
}

// ErrNotAllowed is the error of a request that Request.Allowed stopped.
var ErrNotAllowed = errors.New("the request is no longer allowed")

// Answer is the server's response: the status, the headers and the beginning of the body. Took is
// the time from sending the request until the body was read.
type Answer struct {
	Status int
	Header http.Header
	Body   string
	Took   time.Duration
	Timing Timing

	// CertificateUntil is the expiry of the server's certificate; zero unless the request opened a
	// TLS connection.
	CertificateUntil time.Time
}

// Send sends one request and reads its answer, within Timeout. An error means that there was no
// complete HTTP answer, even if a status came before the connection broke.
func (c *Client) Send(ctx context.Context, r Request) (a Answer, err error) {
	req, err := c.request(&r)
	if err != nil {
		return a, err
	}
	begun := time.Now()
	if err = c.exchange(ctx, req, &r, begun, &a); err == nil {
		return a, nil
	}
	a.Took = time.Since(begun)
	switch {
	case ctx.Err() != nil:
		err = fmt.Errorf("%w: %w", context.Cause(ctx), err)
	case a.Took >= Timeout:
		err = fmt.Errorf("%w: %w", ErrSlow, err)
	}
	return a, fmt.Errorf("send the request: %w", err)
}

// exchange sends the request over an idle connection or a new one. The server may close an idle one
// at the same moment; a repeatable request is then sent again. Request and answer are passed by
// pointer: copies would make the stack of each delivery grow, which costs more than the copies.
func (c *Client) exchange(ctx context.Context, req *http.Request, r *Request, begun time.Time, a *Answer) error {
	for anew := false; ; anew = true {
		*a = Answer{}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		cn, err := c.pool.get(ctx, r.Owner, req.URL, anew, begun.Add(Timeout), &a.Timing)
		if err != nil {
			return err
		}
		if r.Allowed != nil && !r.Allowed() {
			c.pool.put(cn)
			return ErrNotAllowed
		}
		reusable, err := cn.exchange(ctx, req, r.Body, begun, a)
		a.Timing.FirstByte = cn.firstByte
		if !a.Timing.Reused {
			a.CertificateUntil = cn.certificateUntil
		}
		if reusable {
			c.pool.put(cn)
			return nil
		}
		if err != nil {
			cn.abort()
		} else {
			_ = cn.Close() // its answer was read
		}
		if err == nil || !r.Repeatable || !cn.stale(err) {
			return err
		}
		req.Body = io.NopCloser(bytes.NewReader(r.Body))
	}
}

// request builds the request for net/http, unless its URL must not be called.
func (c *Client) request(r *Request) (*http.Request, error) {
	//nolint:noctx // conn.exchange watches the context
	req, err := http.NewRequest(r.Method, r.URL, bytes.NewReader(r.Body))
	switch {
	case err != nil:
		return nil, fmt.Errorf("make the request: %w", err)
	case req.URL.Scheme != "https" && (req.URL.Scheme != "http" || !c.options.AllowPrivate):
		return nil, errPlain
	case req.URL.User != nil:
		return nil, errUserInfo
	case req.URL.Host == "":
		return nil, errNoHost
	}
	if req.Header = r.Header; r.Header["User-Agent"] == nil {
		if req.Header = r.Header.Clone(); req.Header == nil {
			req.Header = make(http.Header, 1)
		}
		req.Header["User-Agent"] = []string{c.options.UserAgent}
	}
	return req, nil
}

// Text formats a request as Send sends it: request line, headers and body, but with plain line
// ends.
func (c *Client) Text(r Request) string {
	req, err := c.request(&r)
	if err != nil {
		return ""
	}
	var b bytes.Buffer
	if err := req.Write(&b); err != nil {
		return ""
	}
	head, body, _ := strings.Cut(b.String(), "\r\n\r\n")
	return strings.TrimSuffix(strings.ReplaceAll(head, "\r\n", "\n")+"\n\n"+body, "\n\n")
}

// bodyBuffers holds buffers for bodies of unknown length.
var bodyBuffers = sync.Pool{New: func() any { return new([MaxBody]byte) }}

// read reads the beginning of an answer's body, and reports whether it was complete.
func read(resp *http.Response) (body string, whole bool, err error) {
	buf := bodyBuffers.Get().(*[MaxBody]byte)
	defer bodyBuffers.Put(buf)
	for n := 0; ; {
		m, err := resp.Body.Read(buf[n:])
		n += m
		switch {
		case errors.Is(err, io.EOF):
			return string(buf[:n]), true, nil
		case err != nil || n == MaxBody:
			return string(buf[:n]), false, err
		}
	}
}

// drain reads the rest of a body longer than MaxBody, because a connection can only be reused after
// its answer was read. It reports whether it succeeded. It gives up on bodies that are much longer
// or have no Content-Length.
func drain(resp *http.Response, n int) bool {
	if resp.ContentLength < 0 || resp.ContentLength > maxDrain {
		return false
	}
	_, err := io.CopyN(io.Discard, resp.Body, resp.ContentLength-int64(n))
	return err == nil
}
