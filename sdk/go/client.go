package claviger

import (
	"context"
	"iter"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"claviger/sdk/go/internal/rest"
)

// Config configures a client: the service's URL, your API key, and options.
type Config = rest.Config

// Error is a refusal by the service, found by errors.As.
type Error = rest.Error

// Page is one page of a list.
type Page[T any] = rest.Page[T]

// Response is an unprocessed answer, from Send.
type Response = rest.Response

// Request is a request for Send.
type Request = rest.Request

// Client calls /v2 with an API key. It is safe for concurrent use.
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

// LicenseFilter narrows a list of licenses. Zero fields are ignored.
type LicenseFilter struct {
	Status       Status
	UpdatedSince time.Time // inclusive; the list is then in the order of changes
	OldestFirst  bool
	Limit        int // items on a page; 0: 100
}

func (f LicenseFilter) target() string {
	q := url.Values{"status": {string(f.Status)}, "order": {order(f.OldestFirst)}, "limit": {rest.Number(f.Limit)}}
	if !f.UpdatedSince.IsZero() {
		q.Set("updated_since", f.UpdatedSince.UTC().Format(time.RFC3339Nano))
	}
	return rest.Target("/v2/licenses", q)
}

func order(oldestFirst bool) string {
	if oldestFirst {
		return "asc"
	}
	return ""
}

// Licenses lists all licenses, page by page.
func (c *Client) Licenses(ctx context.Context, f LicenseFilter) iter.Seq2[License, error] {
	return rest.All[License](ctx, c.rest, f.target())
}

// LicensePage reads the first page of licenses, or the one at a page's Next.
func (c *Client) LicensePage(ctx context.Context, f LicenseFilter, next string) (Page[License], error) {
	if next == "" {
		next = f.target()
	}
	return rest.GetPage[License](ctx, c.rest, next)
}

// License reads a license.
func (c *Client) License(ctx context.Context, key string) (License, error) {
	return get[License](ctx, c, "/v2/licenses/"+url.PathEscape(key))
}

// Explain returns why a license has its status and tier.
func (c *Client) Explain(ctx context.Context, key string) (Explanation, error) {
	return get[Explanation](ctx, c, "/v2/licenses/"+url.PathEscape(key)+"/explain")
}

// EventFilter narrows a list of events. Zero fields are ignored.
type EventFilter struct {
	Status      Status // current status of the license; not for the events of one license
	Kind        EventKind
	After       *int64 // only events with a larger id; 0 is before the first
	OldestFirst bool
	Limit       int // items on a page; 0: 100
}

func (f EventFilter) target(path string) string {
	q := url.Values{
		"status": {string(f.Status)}, "event": {string(f.Kind)}, "order": {order(f.OldestFirst)},
		"limit": {rest.Number(f.Limit)},
	}
	if f.After != nil {
		q.Set("after", strconv.FormatInt(*f.After, 10))
	}
	return rest.Target(path, q)
}

// Events lists the events of all licenses, page by page.
func (c *Client) Events(ctx context.Context, f EventFilter) iter.Seq2[Event, error] {
	return rest.All[Event](ctx, c.rest, f.target("/v2/licenses/events"))
}

// LicenseEvents lists the events of one license, page by page.
func (c *Client) LicenseEvents(ctx context.Context, key string, f EventFilter) iter.Seq2[Event, error] {
	return rest.All[Event](ctx, c.rest, f.target("/v2/licenses/"+url.PathEscape(key)+"/events"))
}

// ResponseFilter narrows a list of webhook responses. Zero fields are ignored.
type ResponseFilter struct {
	Success     *bool
	OldestFirst bool
	Limit       int // items on a page; 0: 100
}

// WebhookResponses lists the delivery attempts of a license's events.
func (c *Client) WebhookResponses(ctx context.Context, key string, f ResponseFilter) iter.Seq2[WebhookResponse, error] {
	q := url.Values{"order": {order(f.OldestFirst)}, "limit": {rest.Number(f.Limit)}}
	if f.Success != nil {
		q.Set("success", strconv.FormatBool(*f.Success))
	}
	return rest.All[WebhookResponse](ctx, c.rest,
		rest.Target("/v2/licenses/"+url.PathEscape(key)+"/webhook-responses", q))
}

// Redeliver sends the webhook of an event again.
func (c *Client) Redeliver(ctx context.Context, eventID int64) error {
	_, err := c.rest.Do(ctx, Request{Method: http.MethodPost, Path: "/v2/events/" + strconv.FormatInt(eventID, 10) +
		"/redeliver"}, nil)
	return err
}

// Profile reads your application's URLs and contacts.
func (c *Client) Profile(ctx context.Context) (Profile, error) {
	return get[Profile](ctx, c, "/v2/profile")
}

// UpdateProfile changes the fields that are not nil. New URLs are checked first, which takes up to
// half a minute.
func (c *Client) UpdateProfile(ctx context.Context, u ProfileUpdate) (UpdatedProfile, error) {
	return send[UpdatedProfile](ctx, c, http.MethodPatch, "/v2/profile", u)
}

// AddContact adds a person who is notified when webhooks fail.
func (c *Client) AddContact(ctx context.Context, n NewContact) (Contact, error) {
	return send[Contact](ctx, c, http.MethodPost, "/v2/profile/contact", n)
}

// DeleteContact removes a contact.
func (c *Client) DeleteContact(ctx context.Context, id int64) error {
	_, err := c.rest.Do(ctx, Request{
		Method: http.MethodDelete, Path: "/v2/profile/contact/" + strconv.FormatInt(id, 10),
	}, nil)
	return err
}

func get[T any](ctx context.Context, c *Client, path string) (out T, err error) {
	_, err = c.rest.Do(ctx, Request{Method: http.MethodGet, Path: path}, &out)
	return out, err
}

func send[T any](ctx context.Context, c *Client, method, path string, body any) (out T, err error) {
	_, err = c.rest.Do(ctx, Request{Method: method, Path: path, Body: body}, &out)
	return out, err
}
