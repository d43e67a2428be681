// Package courier carries requests to partners' servers: the guarded HTTP client
// through which the service calls addresses that others chose. It owns no table
// and decides nothing about what an answer means.
package courier

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"time"

	"code.dny.dev/ssrf"
)

// The bounds of one request.
const (
	ConnectTimeout = 3 * time.Second
	Timeout        = 10 * time.Second
	MaxBody        = 16 << 10 // of the answer; the rest is not read
	maxHeader      = 64 << 10 // of the answer; more is an error
)

// errSlow is the cause of a request that was given up.
var errSlow = errors.New("no answer within " + Timeout.String())

// Options are the settings of a client; the zero value calls public addresses.
type Options struct {
	AllowPrivate bool   // http, and addresses of the own machine and network, may be called
	UserAgent    string // "": claviger
}

// Client calls addresses that others chose. It follows no redirects, uses no
// proxy, and unless private addresses are allowed it refuses them when it dials,
// after the host name was resolved: what the name led to before does not matter.
type Client struct {
	transport *http.Transport
	options   Options
}

// New makes a client. It keeps connections open for use again; Close ends them.
func New(o Options) *Client {
	if o.UserAgent == "" {
		o.UserAgent = "claviger"
	}
	dialer := &net.Dialer{Timeout: ConnectTimeout}
	if !o.AllowPrivate {
		dialer.Control = ssrf.New(ssrf.WithAnyPort()).Safe
	}
	return &Client{
		options: o,
		transport: &http.Transport{
			DialContext:            dialer.DialContext,
			TLSHandshakeTimeout:    ConnectTimeout,
			MaxResponseHeaderBytes: maxHeader,
			MaxIdleConnsPerHost:    2,
			IdleConnTimeout:        30 * time.Second,
			DisableCompression:     true, // what is read is bounded as it was sent
		},
	}
}

// AllowsPrivate reports whether http and private addresses may be called. A
// client that is not there may not call them.
func (c *Client) AllowsPrivate() bool { return c != nil && c.options.AllowPrivate }

// Close ends the connections that are kept open.
func (c *Client) Close() { c.transport.CloseIdleConnections() }

// Request is what is sent. Header holds what to send beside the usual.
type Request struct {
	Method string
	URL    string
	Header map[string]string
	Body   []byte
}

// Answer is what came back: the status, the beginning of the body, and the time
// from sending to having read it.
type Answer struct {
	Status int
	Body   []byte
	Took   time.Duration
}

// Send sends one request and reads its answer, within Timeout. An error means
// that there was no HTTP answer; Explain puts it into words.
func (c *Client) Send(ctx context.Context, r Request) (Answer, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, Timeout, errSlow)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, r.Method, r.URL, bytes.NewReader(r.Body))
	if err != nil {
		return Answer{}, fmt.Errorf("make the request: %w", err)
	}
	req.Header.Set("User-Agent", c.options.UserAgent)
	for name, value := range r.Header {
		req.Header.Set(name, value)
	}
	start := time.Now()
	// The transport and not an http.Client: that would act on redirects.
	resp, err := c.transport.RoundTrip(req)
	if err != nil {
		return Answer{Took: time.Since(start)}, because(ctx, "send the request", err)
	}
	defer resp.Body.Close() //nolint:errcheck // the answer has been read
	body, err := io.ReadAll(io.LimitReader(resp.Body, MaxBody))
	a := Answer{Status: resp.StatusCode, Body: body, Took: time.Since(start)}
	if err != nil {
		return a, because(ctx, "read the answer", err)
	}
	return a, nil
}

// because wraps an error with the cause of the context's end, if it has ended.
func because(ctx context.Context, doing string, err error) error {
	if cause := context.Cause(ctx); cause != nil {
		return fmt.Errorf("%s: %w: %w", doing, cause, err)
	}
	return fmt.Errorf("%s: %w", doing, err)
}
