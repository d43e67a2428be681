package payment

import (
	"context"
	"slices"

	"github.com/stripe/stripe-go/v85"
)

// Subscription is a webhook endpoint at Stripe, as an operator may have changed it there.
type Subscription struct {
	Enabled bool
	Missing []string // events that we need and it does not get
}

// Subscription returns the endpoint for a URL, an enabled one first, or nil if there is none. It is
// one request, so it also shows whether the key works.
func (s *Stripe) Subscription(ctx context.Context, url string) (*Subscription, error) {
	params := &stripe.WebhookEndpointListParams{}
	params.Limit = stripe.Int64(pageSize)
	list := s.client.V1WebhookEndpoints.List(ctx, params)
	if err := list.Err(); err != nil {
		return nil, callError(err)
	}
	var found *Subscription
	for _, o := range list.Data() {
		if o.URL != url || found != nil && found.Enabled {
			continue
		}
		found = &Subscription{Enabled: o.Status == "enabled"}
		for _, t := range eventTypes {
			if !slices.Contains(o.EnabledEvents, t) && !slices.Contains(o.EnabledEvents, "*") {
				found.Missing = append(found.Missing, t)
			}
		}
	}
	return found, nil
}
