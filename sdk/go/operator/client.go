// Package operator is the client of the marketplace: it sells, refunds and holds licenses, and
// manages partners and users.
//
// Purchases, refunds and plan changes are sent with an idempotency key, generated unless you set it
// with WithIdempotencyKey: a repeated request is not executed twice.
package operator

import (
	"context"
	"crypto/rand"
	"net/http"
	"net/url"
	"strconv"

	"claviger/sdk/go/internal/rest"
)

// Config configures a client: the service's URL, an operator token, and options.
type Config = rest.Config

// Error is a refusal by the service, found by errors.As.
type Error = rest.Error

// Page is one page of a list.
type Page[T any] = rest.Page[T]

// Response is an unprocessed answer, from Send.
type Response = rest.Response

// Request is a request for Send.
type Request = rest.Request

// Time is a time that may be missing, and is zero then.
type Time = rest.Time

// Client calls /operator/v1 with an operator token. It is safe for concurrent use.
type Client struct{ rest *rest.Client }

// NewClient returns a client.
func NewClient(c Config) (*Client, error) {
	r, err := rest.New(c)
	if err != nil {
		return nil, err
	}
	return &Client{r}, nil
}

// Send sends any request once and returns the answer with any status. Prefer the methods below.
func (c *Client) Send(ctx context.Context, r Request) (*Response, error) { return c.rest.Send(ctx, r) }

// Option changes one request.
type Option func(*Request)

// WithIdempotencyKey sends your own idempotency key, which also works across restarts of your
// program.
func WithIdempotencyKey(key string) Option { return func(r *Request) { r.IdempotencyKey = key } }

// once sends a POST that must not be executed twice.
func once[T any](ctx context.Context, c *Client, path string, body any, options []Option) (out T, err error) {
	r := Request{Method: http.MethodPost, Path: path, Body: body, IdempotencyKey: rand.Text()}
	for _, o := range options {
		o(&r)
	}
	_, err = c.rest.Do(ctx, r, &out)
	return out, err
}

func call[T any](ctx context.Context, c *Client, method, path string, body any) (out T, err error) {
	_, err = c.rest.Do(ctx, Request{Method: method, Path: path, Body: body}, &out)
	return out, err
}

func get[T any](ctx context.Context, c *Client, path string) (T, error) {
	return call[T](ctx, c, http.MethodGet, path, nil)
}

func post[T any](ctx context.Context, c *Client, path string, body any) (T, error) {
	return call[T](ctx, c, http.MethodPost, path, body)
}

const base = "/operator/v1/"

func partnerPath(id int64, rest string) string {
	return base + "partners/" + strconv.FormatInt(id, 10) + rest
}

func licensePath(key, rest string) string { return base + "licenses/" + url.PathEscape(key) + rest }

func userPath(id int64, rest string) string {
	return base + "users/" + strconv.FormatInt(id, 10) + rest
}

func planPath(partnerID int64, tier int) string {
	return partnerPath(partnerID, "/plans/"+strconv.Itoa(tier))
}

// Order is the order and the page size of a list.
type Order struct {
	OldestFirst bool
	Limit       int // items on a page; 0: 100
}

func (o Order) query() url.Values {
	q := url.Values{"limit": {rest.Number(o.Limit)}}
	if o.OldestFirst {
		q.Set("order", "asc")
	}
	return q
}
