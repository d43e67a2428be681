package operator

import (
	"context"
	"iter"
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

// PartnerLicenses finds licenses, newest first.
func (c *Client) PartnerLicenses(ctx context.Context, partnerID int64, f SearchFilter) iter.Seq2[License, error] {
	q := url.Values{
		"key": {f.Key}, "status": {f.Status}, "tier": {rest.Number(f.Tier)}, "limit": {rest.Number(f.Limit)},
	}
	setTime(q, "from", f.From)
	setTime(q, "to", f.To)
	return rest.All[License](ctx, c.rest, rest.Target(partnerPath(partnerID, "/licenses"), q))
}

// AllDeliveries lists the deliveries of all partners, or of one if partnerID is not 0, with their
// last attempts, newest event first.
func (c *Client) AllDeliveries(
	ctx context.Context, partnerID int64, f DeliveryFilter,
) iter.Seq2[PartnerDelivery, error] {
	q := f.query()
	if partnerID != 0 {
		q.Set("partner_id", strconv.FormatInt(partnerID, 10))
	}
	return rest.All[PartnerDelivery](ctx, c.rest, rest.Target(base+"deliveries", q))
}

// Deliveries lists deliveries with their last attempts, newest event first.
func (c *Client) Deliveries(ctx context.Context, partnerID int64, f DeliveryFilter) iter.Seq2[Delivery, error] {
	return rest.All[Delivery](ctx, c.rest, rest.Target(partnerPath(partnerID, "/deliveries"), f.query()))
}

// Delivery reads the delivery of an event with its attempts.
func (c *Client) Delivery(ctx context.Context, partnerID, eventID int64) (DeliveryDetail, error) {
	return get[DeliveryDetail](ctx, c, partnerPath(partnerID, "/deliveries/"+strconv.FormatInt(eventID, 10)))
}

// Attempt reads one attempt with its request and response.
func (c *Client) Attempt(ctx context.Context, partnerID, eventID, attemptID int64) (DeliveryAttempt, error) {
	return get[DeliveryAttempt](ctx, c, partnerPath(partnerID, "/deliveries/"+strconv.FormatInt(eventID,
		10)+"/attempts/"+strconv.FormatInt(attemptID, 10)))
}

// EstimateRedelivery counts the events of a redelivery, and returns its duration at a rate; 0 is
// the usual one.
func (c *Client) EstimateRedelivery(
	ctx context.Context, partnerID int64, f DeliveryFilter, rate int,
) (RedeliveryEstimate, error) {
	q := f.query()
	q.Del("limit")
	q.Set("rate", rest.Number(rate))
	return get[RedeliveryEstimate](ctx, c, rest.Target(partnerPath(partnerID, "/redeliveries/estimate"), q))
}

// BeginRedelivery starts to send many events again.
func (c *Client) BeginRedelivery(ctx context.Context, partnerID int64, o RedeliveryOrder) (RedeliveryJob, error) {
	return post[RedeliveryJob](ctx, c, partnerPath(partnerID, "/redeliveries"), o)
}

// Redeliveries lists redeliveries, newest first.
func (c *Client) Redeliveries(ctx context.Context, partnerID int64) iter.Seq2[RedeliveryJob, error] {
	return rest.All[RedeliveryJob](ctx, c.rest, partnerPath(partnerID, "/redeliveries"))
}

// Redelivery returns the progress of a redelivery.
func (c *Client) Redelivery(ctx context.Context, partnerID, id int64) (RedeliveryJob, error) {
	return get[RedeliveryJob](ctx, c, partnerPath(partnerID, "/redeliveries/"+strconv.FormatInt(id, 10)))
}

// PauseRedelivery pauses a redelivery.
func (c *Client) PauseRedelivery(ctx context.Context, partnerID, id int64) (RedeliveryJob, error) {
	return post[RedeliveryJob](ctx, c, partnerPath(partnerID, "/redeliveries/"+strconv.FormatInt(id, 10)+"/pause"), nil)
}

// ResumeRedelivery continues a redelivery.
func (c *Client) ResumeRedelivery(ctx context.Context, partnerID, id int64) (RedeliveryJob, error) {
	return post[RedeliveryJob](ctx, c, partnerPath(partnerID, "/redeliveries/"+strconv.FormatInt(id, 10)+"/resume"),
		nil)
}

// CancelRedelivery ends a redelivery.
func (c *Client) CancelRedelivery(ctx context.Context, partnerID, id int64) (RedeliveryJob, error) {
	return post[RedeliveryJob](ctx, c, partnerPath(partnerID, "/redeliveries/"+strconv.FormatInt(id, 10)+"/cancel"),
		nil)
}
