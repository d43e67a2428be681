package claviger

import (
	"context"
	"iter"
	"net/url"
	"time"

	"claviger/sdk/go/internal/rest"
)

// RequestFilter narrows a list of refused calls. Zero fields are ignored.
type RequestFilter struct {
	Status     int
	Code       string // or cause
	Path       string // a part of it
	RequestID  string
	LicenseKey string
	From, To   time.Time
	Limit      int // items on a page; 0: 100
}

func (f RequestFilter) query() url.Values {
	q := url.Values{
		"status": {rest.Number(f.Status)}, "code": {f.Code}, "path": {f.Path}, "request_id": {f.RequestID},
		"license_key": {f.LicenseKey},
		"limit":       {rest.Number(f.Limit)},
	}
	if !f.From.IsZero() {
		q.Set("from", f.From.UTC().Format(time.RFC3339Nano))
	}
	if !f.To.IsZero() {
		q.Set("to", f.To.UTC().Format(time.RFC3339Nano))
	}
	return q
}

// Requests lists your refused calls of the last seven days, newest first.
func (c *Client) Requests(ctx context.Context, f RequestFilter) iter.Seq2[RefusedRequest, error] {
	return rest.All[RefusedRequest](ctx, c.rest, rest.Target("/v2/requests", f.query()))
}
