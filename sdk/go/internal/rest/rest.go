// Package rest has the shared parts of both API clients: requests, answers, errors, retries and
// pages.
package rest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// Default limits of a client.
const (
	defaultTimeout = time.Minute // the check of a webhook URL takes half of it
	defaultRetries = 3
	maxWait        = 30 * time.Second
	maxBody        = 64 << 20 // the largest page of events is half of it
)

// Config configures a client.
type Config struct {
	// URL is the service's URL, such as https://licenses.example.com.
	URL string
	// Secret is sent as Authorization: Bearer.
	Secret string
	// HTTP sends the requests. Nil: a client that follows no redirects, with a timeout of a minute.
	HTTP *http.Client
	// Retries is the number of retries after 429 or 503, for requests that are safe to repeat.
	// Zero: three; negative: none.
	Retries int
	// Wait waits before a retry. Nil: wait for d, or until ctx ends.
	Wait func(ctx context.Context, d time.Duration) error
}

// Client sends requests.
type Client struct{ config Config }

// New returns a client.
func New(c Config) (*Client, error) {
	u, err := url.Parse(c.URL)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return nil, fmt.Errorf("claviger: the URL %q is not that of a service; it is such as "+
			"https://licenses.example.com", c.URL)
	}
	if c.Secret == "" {
		return nil, errors.New("claviger: there is no key or token; every request needs one")
	}
	c.URL = strings.TrimSuffix(c.URL, "/")
	if c.HTTP == nil {
		c.HTTP = &http.Client{
			Timeout: defaultTimeout,
			// a redirect would send the key elsewhere
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		}
	}
	if c.Retries == 0 {
		c.Retries = defaultRetries
	}
	if c.Wait == nil {
		c.Wait = wait
	}
	return &Client{c}, nil
}

// Request is one request.
type Request struct {
	Method string
	Path   string // with its leading slash
	Query  url.Values
	Body   any // sent as JSON; nil: none

	// Text is sent unchanged, with its content type, instead of Body; nil: none.
	Text        []byte
	ContentType string

	// IdempotencyKey makes a POST safe to repeat.
	IdempotencyKey string

	// Repeatable means that a POST is safe to repeat without a key.
	Repeatable bool
}

// Response is an answer with any status.
type Response struct {
	Status int
	Header http.Header
	Body   []byte
}

// Do sends a request and decodes the answer into out, unless that is nil. An answer other than 2xx
// is an *Error. A request that is safe to repeat is sent again after 429 and 503, when the service
// allows it.
func (c *Client) Do(ctx context.Context, r Request, out any) (*Response, error) {
	safe := r.Method == http.MethodGet || r.Method == http.MethodPost && (r.Repeatable || r.IdempotencyKey != "")
	for try := 0; ; try++ {
		resp, err := c.Send(ctx, r)
		if err != nil {
			return nil, err
		}
		if resp.Status/100 == 2 {
			return resp, decode(r, resp, out)
		}
		failed := errorOf(r, resp)
		if !safe || try >= c.config.Retries || resp.Status != http.StatusTooManyRequests &&
			resp.Status != http.StatusServiceUnavailable {
			return resp, failed
		}
		if err := c.config.Wait(ctx, pause(resp.Header, try)); err != nil {
			return resp, errors.Join(failed, err)
		}
	}
}

// Open sends a request once and returns its answer as a stream of any length; the caller closes it.
// An answer other than 2xx is an *Error. The client's timeout, if any, limits the whole answer.
func (c *Client) Open(ctx context.Context, r Request) (io.ReadCloser, error) {
	resp, err := c.send(ctx, r)
	if err != nil {
		return nil, err
	}
	if resp.StatusCode/100 == 2 {
		return resp.Body, nil
	}
	got, err := readAll(r, resp)
	if err != nil {
		return nil, err
	}
	return nil, errorOf(r, got)
}

// Send sends a request once and returns the answer with any status.
func (c *Client) Send(ctx context.Context, r Request) (*Response, error) {
	resp, err := c.send(ctx, r)
	if err != nil {
		return nil, err
	}
	return readAll(r, resp)
}

// send sends a request once. The caller closes the body.
func (c *Client) send(ctx context.Context, r Request) (*http.Response, error) {
	var body io.Reader = http.NoBody
	if r.Body != nil {
		text, err := json.Marshal(r.Body)
		if err != nil {
			return nil, fmt.Errorf("claviger: encode the body of %s %s: %w", r.Method, r.Path, err)
		}
		body = bytes.NewReader(text)
	} else if r.Text != nil {
		body = bytes.NewReader(r.Text)
	}
	target := c.config.URL + r.Path
	if len(r.Query) > 0 {
		target += "?" + r.Query.Encode()
	}
	req, err := http.NewRequestWithContext(ctx, r.Method, target, body)
	if err != nil {
		return nil, fmt.Errorf("claviger: %w", err)
	}
	req.Header.Set("Authorization", "Bearer "+c.config.Secret)
	req.Header.Set("Accept", "application/json")
	if r.Body != nil {
		req.Header.Set("Content-Type", "application/json")
	} else if r.Text != nil {
		req.Header.Set("Content-Type", r.ContentType)
	}
	if r.IdempotencyKey != "" {
		req.Header.Set("Idempotency-Key", r.IdempotencyKey)
	}
	resp, err := c.config.HTTP.Do(req)
	if err != nil {
		return nil, fmt.Errorf("claviger: %w", err)
	}
	return resp, nil
}

// readAll reads a whole answer.
func readAll(r Request, resp *http.Response) (*Response, error) {
	defer resp.Body.Close() //nolint:errcheck // it was read, or is abandoned
	text, err := io.ReadAll(io.LimitReader(resp.Body, maxBody+1))
	if err == nil && len(text) > maxBody {
		err = errors.New("it is larger than 64 MiB")
	}
	if err != nil {
		return nil, fmt.Errorf("claviger: read the answer to %s %s: %w", r.Method, r.Path, err)
	}
	return &Response{Status: resp.StatusCode, Header: resp.Header, Body: text}, nil
}

func decode(r Request, resp *Response, out any) error {
	if out == nil || len(resp.Body) == 0 {
		return nil
	}
	if err := json.Unmarshal(resp.Body, out); err != nil {
		return fmt.Errorf("claviger: decode the answer to %s %s: %w", r.Method, r.Path, err)
	}
	return nil
}

// pause returns the time before the next try: as long as the service demands, or longer each time.
func pause(h http.Header, try int) time.Duration {
	d := time.Second << min(try, 4)
	if seconds, err := strconv.Atoi(h.Get("Retry-After")); err == nil && seconds >= 0 {
		d = time.Duration(seconds) * time.Second
	}
	return min(d, maxWait) + rand.N(100*time.Millisecond) //nolint:gosec // so that clients do not retry simultaneously
}

func wait(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
