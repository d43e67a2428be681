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

// DeliveryFilter narrows a list of deliveries. Zero fields are ignored.
type DeliveryFilter struct {
	State      string // delivered, waiting, failing, exhausted, superseded, or failed for the last three
	Event      string // purchase, activate or deactivate
	StatusCode string // such as 404, 4xx, none for no answer, or its cause such as timeout
	From, To   time.Time
	EventID    int64
	LicenseKey string
	Limit      int // items on a page; 0: 100
}

func (f DeliveryFilter) query() url.Values {
	q := url.Values{
		"state": {f.State}, "event": {f.Event}, "status_code": {f.StatusCode}, "license_key": {f.LicenseKey},
		"limit": {rest.Number(f.Limit)},
	}
	setTime(q, "from", f.From)
	setTime(q, "to", f.To)
	if f.EventID != 0 {
		q.Set("event_id", strconv.FormatInt(f.EventID, 10))
	}
	return q
}

func setTime(q url.Values, name string, at time.Time) {
	if !at.IsZero() {
		q.Set(name, at.UTC().Format(time.RFC3339Nano))
	}
}

// SearchFilter narrows a search for licenses. Zero fields are ignored.
type SearchFilter struct {
	Key      string // or its end, of four characters or more
	Status   string
	Tier     int
	From, To time.Time
	Limit    int // items on a page; 0: 100
}

// SearchLicenses finds licenses, newest first.
func (c *Client) SearchLicenses(ctx context.Context, f SearchFilter) iter.Seq2[License, error] {
	q := url.Values{
		"key": {f.Key}, "status": {f.Status}, "tier": {rest.Number(f.Tier)}, "limit": {rest.Number(f.Limit)},
	}
	setTime(q, "from", f.From)
	setTime(q, "to", f.To)
	return rest.All[License](ctx, c.rest, rest.Target("/v2/licenses/search", q))
}

// Deliveries lists deliveries with their last attempts, newest event first.
func (c *Client) Deliveries(ctx context.Context, f DeliveryFilter) iter.Seq2[Delivery, error] {
	return rest.All[Delivery](ctx, c.rest, rest.Target("/v2/deliveries", f.query()))
}

// Delivery reads the delivery of an event with its attempts.
func (c *Client) Delivery(ctx context.Context, eventID int64) (DeliveryDetail, error) {
	return get[DeliveryDetail](ctx, c, "/v2/deliveries/"+strconv.FormatInt(eventID, 10))
}

// Attempt reads one attempt with its request and response.
func (c *Client) Attempt(ctx context.Context, eventID, attemptID int64) (DeliveryAttempt, error) {
	return get[DeliveryAttempt](ctx, c, "/v2/deliveries/"+strconv.FormatInt(eventID,
		10)+"/attempts/"+strconv.FormatInt(attemptID, 10))
}

// EstimateRedelivery counts the events of a redelivery, and returns its duration at a rate; 0 is
// the usual one.
func (c *Client) EstimateRedelivery(ctx context.Context, f DeliveryFilter, rate int) (RedeliveryEstimate, error) {
	q := f.query()
	q.Del("limit")
	q.Set("rate", rest.Number(rate))
	return get[RedeliveryEstimate](ctx, c, rest.Target("/v2/redeliveries/estimate", q))
}

// BeginRedelivery starts to send many events again.
func (c *Client) BeginRedelivery(ctx context.Context, o RedeliveryOrder) (RedeliveryJob, error) {
	return send[RedeliveryJob](ctx, c, http.MethodPost, "/v2/redeliveries", o)
}

// Redeliveries lists redeliveries, newest first.
func (c *Client) Redeliveries(ctx context.Context) iter.Seq2[RedeliveryJob, error] {
	return rest.All[RedeliveryJob](ctx, c.rest, "/v2/redeliveries")
}

// Redelivery returns the progress of a redelivery.
func (c *Client) Redelivery(ctx context.Context, id int64) (RedeliveryJob, error) {
	return get[RedeliveryJob](ctx, c, "/v2/redeliveries/"+strconv.FormatInt(id, 10))
}

// PauseRedelivery pauses a redelivery.
func (c *Client) PauseRedelivery(ctx context.Context, id int64) (RedeliveryJob, error) {
	return send[RedeliveryJob](ctx, c, http.MethodPost, "/v2/redeliveries/"+strconv.FormatInt(id, 10)+"/pause", nil)
}

// ResumeRedelivery continues a redelivery.
func (c *Client) ResumeRedelivery(ctx context.Context, id int64) (RedeliveryJob, error) {
	return send[RedeliveryJob](ctx, c, http.MethodPost, "/v2/redeliveries/"+strconv.FormatInt(id, 10)+"/resume", nil)
}

// CancelRedelivery ends a redelivery.
func (c *Client) CancelRedelivery(ctx context.Context, id int64) (RedeliveryJob, error) {
	return send[RedeliveryJob](ctx, c, http.MethodPost, "/v2/redeliveries/"+strconv.FormatInt(id, 10)+"/cancel", nil)
}
