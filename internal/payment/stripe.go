package payment

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/stripe/stripe-go/v85"
)

// callTimeout is the timeout of a call to Stripe. A buyer may be waiting for it.
const callTimeout = 10 * time.Second

// refKey is the only metadata member that we send: the name of our checkout.
const refKey = "checkout"

// requestKey names our request on a refund, so that the refund can be found after a lost answer.
const requestKey = "request"

// Stripe calls Stripe's API. Only this file, stripe_dispute.go, stripe_fee.go, subscription.go and
// event.go use Stripe's types.
type Stripe struct {
	client  *stripe.Client
	secrets []string
	live    bool
}

// StripeConfig has the credentials and address of an account.
type StripeConfig struct {
	Key            string
	WebhookSecrets []string     // one or two
	URL            string       // "": Stripe's own
	Client         *http.Client // nil: a client with callTimeout
}

// NewStripe returns the client of an account. Telemetry, logging and retries of the library are
// off; the job retries.
func NewStripe(c StripeConfig) *Stripe {
	httpClient := c.Client
	if httpClient == nil {
		httpClient = &http.Client{Timeout: callTimeout}
	}
	cfg := &stripe.BackendConfig{
		EnableTelemetry: stripe.Bool(false), HTTPClient: httpClient, MaxNetworkRetries: stripe.Int64(0),
		LeveledLogger: &stripe.LeveledLogger{Level: stripe.LevelNull},
	}
	if c.URL != "" {
		cfg.URL = stripe.String(c.URL)
	}
	return &Stripe{
		client:  stripe.NewClient(c.Key, stripe.WithBackends(stripe.NewBackendsWithConfig(cfg))),
		secrets: c.WebhookSecrets, live: LiveKey(c.Key),
	}
}

// LiveKey reports whether a key moves real money.
func LiveKey(key string) bool {
	return strings.HasPrefix(key, "sk_live_") || strings.HasPrefix(key, "rk_live_")
}

// Live reports whether the account's key moves real money.
func (s *Stripe) Live() bool { return s.live }

// createSession creates the payment page of a checkout. Parameters come from the row and from its
// buyer, so a repeat is the same request, or Stripe refuses it and the checkout ends.
func (s *Stripe) createSession(
	ctx context.Context, c Checkout, email, successURL, cancelURL string,
) (sessionFact, error) {
	units, ok := stripeAmount(c.Amount, c.Currency)
	if !ok {
		return sessionFact{}, errCurrency(c.Currency)
	}
	params := &stripe.CheckoutSessionCreateParams{
		Mode:              stripe.String(string(stripe.CheckoutSessionModePayment)),
		ClientReferenceID: stripe.String(c.Ref),
		SuccessURL:        stripe.String(successURL),
		CancelURL:         stripe.String(cancelURL),
		ExpiresAt:         stripe.Int64(c.ExpiresAt.Unix()),
		AdaptivePricing:   &stripe.CheckoutSessionCreateAdaptivePricingParams{Enabled: stripe.Bool(false)},
		LineItems: []*stripe.CheckoutSessionCreateLineItemParams{{
			Quantity: stripe.Int64(1),
			PriceData: &stripe.CheckoutSessionCreateLineItemPriceDataParams{
				Currency: stripe.String(strings.ToLower(c.Currency)), UnitAmount: stripe.Int64(units),
				ProductData: &stripe.CheckoutSessionCreateLineItemPriceDataProductDataParams{
					Name: stripe.String(c.Item),
				},
			},
		}},
		Metadata: map[string]string{refKey: c.Ref},
		PaymentIntentData: &stripe.CheckoutSessionCreatePaymentIntentDataParams{
			Metadata: map[string]string{refKey: c.Ref},
		},
	}
	if email != "" {
		params.CustomerEmail = stripe.String(email)
	}
	params.SetIdempotencyKey(c.Ref)
	return checkedSession(s.client.V1CheckoutSessions.Create(ctx, params))
}

func (s *Stripe) session(ctx context.Context, id string) (sessionFact, error) {
	params := &stripe.CheckoutSessionRetrieveParams{}
	params.AddExpand("payment_intent") // shows whether a bank refused
	return checkedSession(s.client.V1CheckoutSessions.Retrieve(ctx, id, params))
}

func (s *Stripe) expireSession(ctx context.Context, id string) (sessionFact, error) {
	return checkedSession(s.client.V1CheckoutSessions.Expire(ctx, id, nil))
}

// checkedSession refuses an answer without an id: the library accepts {} as a session.
func checkedSession(o *stripe.CheckoutSession, err error) (sessionFact, error) {
	if err == nil && (o == nil || o.ID == "") {
		err = errNoObject
	}
	if err != nil {
		return sessionFact{}, callError(err)
	}
	return sessionOf(o), nil
}

var errNoObject = errors.New("the answer has no object")

// refund requests a refund.
func (s *Stripe) refund(ctx context.Context, f Refund) (refundFact, error) {
	units, ok := stripeAmount(f.Amount, f.Currency)
	if !ok {
		return refundFact{}, errCurrency(f.Currency)
	}
	params := &stripe.RefundCreateParams{
		PaymentIntent: stripe.String(f.IntentID), Amount: stripe.Int64(units),
		Metadata: map[string]string{requestKey: f.request},
	}
	params.SetIdempotencyKey(f.request)
	return checkedRefund(s.client.V1Refunds.Create(ctx, params))
}

func (s *Stripe) refundByID(ctx context.Context, id string) (refundFact, error) {
	return checkedRefund(s.client.V1Refunds.Retrieve(ctx, id, nil))
}

func checkedRefund(o *stripe.Refund, err error) (refundFact, error) {
	if err == nil && (o == nil || o.ID == "") {
		err = errNoObject
	}
	if err != nil {
		return refundFact{}, callError(err)
	}
	return refundOf(o), nil
}

// refundOfRequest finds the refund that a request created.
func (s *Stripe) refundOfRequest(ctx context.Context, intentID, request string) (refundFact, bool, error) {
	params := &stripe.RefundListParams{PaymentIntent: stripe.String(intentID)}
	params.Limit = stripe.Int64(100)
	for o, err := range s.client.V1Refunds.List(ctx, params).All(ctx) {
		if err != nil {
			return refundFact{}, false, callError(err)
		}
		if o.Metadata[requestKey] == request {
			return refundOf(o), true, nil
		}
	}
	return refundFact{}, false, nil
}

// refOfIntent returns the ref of a payment's checkout, or "".
func (s *Stripe) refOfIntent(ctx context.Context, id string) (string, error) {
	o, err := s.client.V1PaymentIntents.Retrieve(ctx, id, nil)
	if err == nil && (o == nil || o.ID == "") {
		err = errNoObject
	}
	if err != nil {
		return "", callError(err)
	}
	return o.Metadata[refKey], nil
}

// intentOfCharge returns the payment of a charge, or "".
func (s *Stripe) intentOfCharge(ctx context.Context, id string) (string, error) {
	o, err := s.client.V1Charges.Retrieve(ctx, id, nil)
	if err == nil && (o == nil || o.ID == "") {
		err = errNoObject
	}
	if err != nil {
		return "", callError(err)
	}
	if o.PaymentIntent == nil {
		return "", nil
	}
	return o.PaymentIntent.ID, nil
}

// listed is an event of a list; ref names its checkout.
type listed struct{ id, objectID, ref string }

// page is a part of the list of events, newest first.
type page struct {
	events []listed
	next   string // cursor of the next page; "": this is the last one
}

// pageSize is the maximum page size of Stripe.
const pageSize = 100

// events returns a page of payment events since a time. An event is only a hint: it has the version
// of its creation, and its object may be outdated.
func (s *Stripe) events(ctx context.Context, since time.Time, after string) (page, error) {
	params := &stripe.EventListParams{CreatedRange: &stripe.RangeQueryParams{GreaterThanOrEqual: since.Unix()}}
	params.Limit = stripe.Int64(pageSize)
	if after != "" {
		params.StartingAfter = stripe.String(after)
	}
	for _, t := range eventTypes {
		params.Types = append(params.Types, stripe.String(t))
	}
	list := s.client.V1Events.List(ctx, params)
	if err := list.Err(); err != nil {
		return page{}, callError(err)
	}
	var p page
	for _, o := range list.Data() {
		if list.Meta().HasMore {
			p.next = o.ID
		}
		if e := listedOf(o); e.objectID != "" {
			p.events = append(p.events, e)
		}
	}
	return p, nil
}

func listedOf(o *stripe.Event) listed {
	e := listed{id: o.ID}
	if o.Data != nil {
		e.objectID, _ = o.Data.Object["id"].(string)
		e.ref, _ = o.Data.Object["client_reference_id"].(string)
	}
	return e
}

// Endpoint is a webhook endpoint at Stripe.
type Endpoint struct {
	ID     string
	URL    string
	Secret string // only set when it was created
}

// MakeEndpoint subscribes a URL to the needed events, in the version that this program reads. An
// existing endpoint for the URL is returned without its secret.
func (s *Stripe) MakeEndpoint(ctx context.Context, url string) (e Endpoint, made bool, err error) {
	params := &stripe.WebhookEndpointListParams{}
	params.Limit = stripe.Int64(100)
	for o, err := range s.client.V1WebhookEndpoints.List(ctx, params).All(ctx) {
		if err != nil {
			return Endpoint{}, false, callError(err)
		}
		if o.URL == url && o.Status == "enabled" {
			return Endpoint{ID: o.ID, URL: o.URL}, false, nil
		}
	}
	create := &stripe.WebhookEndpointCreateParams{
		URL: stripe.String(url), APIVersion: stripe.String(stripe.APIVersion),
		Description: stripe.String("Claviger"),
	}
	for _, t := range eventTypes {
		create.EnabledEvents = append(create.EnabledEvents, stripe.String(t))
	}
	o, err := s.client.V1WebhookEndpoints.Create(ctx, create)
	if err == nil && (o == nil || o.Secret == "") {
		err = errNoObject
	}
	if err != nil {
		return Endpoint{}, false, callError(err)
	}
	return Endpoint{ID: o.ID, URL: o.URL, Secret: o.Secret}, true, nil
}

// CallError is a call that Stripe refused or that did not reach it. The library's error contains
// the whole response body, which must not be logged.
type CallError struct {
	Code      string // Stripe's; "" when there was no answer
	Status    int
	RequestID string
	cause     error
}

func (e *CallError) Error() string {
	if e.Status == 0 {
		return "Stripe was not reached: " + e.cause.Error()
	}
	return fmt.Sprintf("Stripe answered %d %s (request %s)", e.Status, e.Code, e.RequestID)
}

func (e *CallError) Unwrap() error { return e.cause }

// final reports whether a repeat would be refused, too.
func (e *CallError) final() bool {
	return e.Status >= 400 && e.Status < 500 && e.Status != http.StatusTooManyRequests &&
		e.Status != http.StatusConflict && e.Status != http.StatusUnauthorized && e.Status != http.StatusForbidden
}

// unreached reports whether err means that the provider gave no answer.
func unreached(err error) bool {
	e, ok := errors.AsType[*CallError](err)
	return ok && e.Status == 0
}

func callError(err error) error {
	if se, ok := errors.AsType[*stripe.Error](err); ok {
		return &CallError{
			Code: string(se.Code), Status: se.HTTPStatusCode, RequestID: se.RequestID,
			cause: errors.New("refused"),
		}
	}
	return &CallError{cause: err}
}

// refusesKey reports whether the provider refused our key, or a permission of it.
func refusesKey(err error) bool {
	e, ok := errors.AsType[*CallError](err)
	return ok && (e.Status == http.StatusUnauthorized || e.Status == http.StatusForbidden)
}

// finally reports whether err is a final refusal, and its code.
func finally(err error) (code string, ok bool) {
	e, ok := errors.AsType[*CallError](err)
	if !ok || !e.final() {
		return "", false
	}
	return e.Code, true
}
