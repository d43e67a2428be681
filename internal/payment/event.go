package payment

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/stripe/stripe-go/v85"
	"github.com/stripe/stripe-go/v85/webhook"

	"claviger/internal/fault"
)

// eventTypes are the events that are needed.
var eventTypes = []string{
	"checkout.session.completed", "checkout.session.async_payment_succeeded", "checkout.session.async_payment_failed", "checkout.session.expired",
	"refund.created", "refund.updated", "refund.failed",
	"charge.dispute.created", "charge.dispute.updated", "charge.dispute.closed", "charge.dispute.funds_reinstated",
}

// sessionFact is what is known of a session.
type sessionFact struct {
	id, url, ref, intent string
	paid                 bool // or nothing was to be paid
	complete             bool // the buyer is done
	failed               bool // the bank refused, or the session ended unpaid
	amount               int64
	currency             string
}

func sessionOf(o *stripe.CheckoutSession) sessionFact {
	f := sessionFact{
		id: o.ID, url: o.URL, ref: o.ClientReferenceID, complete: o.Status == stripe.CheckoutSessionStatusComplete,
		failed: o.Status == stripe.CheckoutSessionStatusExpired, currency: strings.ToUpper(string(o.Currency)),
	}
	if f.ref == "" {
		f.ref = o.Metadata[refKey]
	}
	f.paid = f.complete && o.PaymentStatus != "" && o.PaymentStatus != stripe.CheckoutSessionPaymentStatusUnpaid
	f.amount = OwnAmount(o.AmountTotal, f.currency)
	if o.PaymentIntent != nil {
		f.intent = o.PaymentIntent.ID
		// Retrieved later, a session whose bank refused is complete and unpaid for ever, and
		// only its payment tells.
		if f.complete && !f.paid && (o.PaymentIntent.Status == stripe.PaymentIntentStatusRequiresPaymentMethod || o.PaymentIntent.Status == stripe.PaymentIntentStatusCanceled) {
			f.failed = true
		}
	}
	return f
}

// refundFact is what is known of a refund.
type refundFact struct {
	id, intent, request string
	amount              int64
	currency            string
	status              RefundStatus
	failure             string
}

func refundOf(o *stripe.Refund) refundFact {
	f := refundFact{id: o.ID, request: o.Metadata[requestKey], currency: strings.ToUpper(string(o.Currency)), failure: string(o.FailureReason)}
	f.amount = OwnAmount(o.Amount, f.currency)
	if o.PaymentIntent != nil {
		f.intent = o.PaymentIntent.ID
	}
	switch o.Status {
	case stripe.RefundStatusSucceeded:
		f.status = RefundSucceeded
	case stripe.RefundStatusFailed, stripe.RefundStatusCanceled:
		f.status = RefundFailed
	default:
		f.status = RefundPending
	}
	return f
}

// disputeFact is what is known of a dispute.
type disputeFact struct {
	id, intent, status string
	amount             int64
	currency           string
}

func disputeOf(o *stripe.Dispute) disputeFact {
	f := disputeFact{id: o.ID, status: string(o.Status), currency: strings.ToUpper(string(o.Currency))}
	f.amount = OwnAmount(o.Amount, f.currency)
	if o.PaymentIntent != nil {
		f.intent = o.PaymentIntent.ID
	}
	return f
}

// incoming is an event that Stripe signed, with one of the facts or, in a version that is
// not ours or of a kind that is not needed, none.
type incoming struct {
	id, objectID string
	kind         string
	live         bool
	foreign      bool // of another version
	at           time.Time
	session      *sessionFact
	refund       *refundFact
	dispute      *disputeFact
}

// train is the part of a version that says what objects look like.
func train(version string) string {
	_, name, _ := strings.Cut(version, ".")
	return name
}

// body is what is read of an event, in one go. The library's own types cost as much as the
// sale: they have every member that Stripe knows, and the object is read three times.
type body struct {
	ID         string
	Type       string
	APIVersion string `json:"api_version"`
	Created    int64
	Livemode   bool
	Data       struct{ Object object }
}

// object is what is read of the object of an event: a session, a refund or a dispute.
type object struct {
	ID                string
	ClientReferenceID string `json:"client_reference_id"`
	Status            string
	PaymentStatus     string `json:"payment_status"`
	AmountTotal       int64  `json:"amount_total"`
	Amount            int64
	Currency          stripe.Currency
	Metadata          map[string]string
	PaymentIntent     *intent `json:"payment_intent"`
	FailureReason     string  `json:"failure_reason"`
}

// intent is what is read of a payment intent: its id alone, or the object.
type intent struct {
	ID     string
	Status stripe.PaymentIntentStatus
}

// UnmarshalJSON implements json.Unmarshaler.
func (i *intent) UnmarshalJSON(text []byte) error {
	if id, ok := stripe.ParseID(text); ok {
		i.ID = id
		return nil
	}
	type members intent
	return json.Unmarshal(text, (*members)(i))
}

// whole is the library's form of it.
func (i *intent) whole() *stripe.PaymentIntent {
	if i == nil {
		return nil
	}
	return &stripe.PaymentIntent{ID: i.ID, Status: i.Status}
}

// read checks a signature and reads the event.
func (s *Stripe) read(text []byte, header string) (incoming, error) {
	err := errors.New("no webhook secret is set")
	for _, key := range s.secrets {
		if key == "" {
			continue // it would verify what anybody signed with nothing
		}
		if err = webhook.ValidatePayload(text, header, key); err == nil {
			break
		}
	}
	if err != nil {
		return incoming{}, signatureError(err)
	}
	var e body
	err = json.Unmarshal(text, &e)
	in := incoming{
		id: e.ID, objectID: e.Data.Object.ID, kind: e.Type, live: e.Livemode, at: time.Unix(e.Created, 0).UTC(),
		foreign: train(e.APIVersion) != train(stripe.APIVersion),
	}
	// In another version members may be of other types; then the rest was read.
	if _, other := errors.AsType[*json.UnmarshalTypeError](err); err != nil && (!other || !in.foreign) {
		return incoming{}, fmt.Errorf("read a signed event: %w", err)
	}
	if !in.foreign {
		in.take(&e.Data.Object)
	}
	return in, nil
}

// take keeps what an object of ours says.
func (in *incoming) take(o *object) {
	switch {
	case strings.HasPrefix(in.kind, "checkout.session."):
		f := sessionOf(&stripe.CheckoutSession{
			ID: o.ID, ClientReferenceID: o.ClientReferenceID, Status: stripe.CheckoutSessionStatus(o.Status),
			PaymentStatus: stripe.CheckoutSessionPaymentStatus(o.PaymentStatus), AmountTotal: o.AmountTotal, Currency: o.Currency,
			Metadata: o.Metadata, PaymentIntent: o.PaymentIntent.whole(),
		})
		f.failed = f.failed || in.kind == "checkout.session.async_payment_failed"
		in.session = &f
	case strings.HasPrefix(in.kind, "refund."):
		f := refundOf(&stripe.Refund{
			ID: o.ID, Status: stripe.RefundStatus(o.Status), Amount: o.Amount, Currency: o.Currency, Metadata: o.Metadata,
			PaymentIntent: o.PaymentIntent.whole(), FailureReason: stripe.RefundFailureReason(o.FailureReason),
		})
		in.refund = &f
	case strings.HasPrefix(in.kind, "charge.dispute."):
		f := disputeOf(&stripe.Dispute{ID: o.ID, Status: stripe.DisputeStatus(o.Status), Amount: o.Amount, Currency: o.Currency, PaymentIntent: o.PaymentIntent.whole()})
		in.dispute = &f
	}
}

func signatureError(err error) error {
	text := "The signature is not Stripe's. Set stripe-webhook-secret to the signing secret of this endpoint, as its page at Stripe shows it."
	switch {
	case errors.Is(err, webhook.ErrTooOld):
		text = "The signature is more than five minutes old. If Stripe sent this just now, the clock of this machine is ahead: set it right."
	case errors.Is(err, webhook.ErrNotSigned), errors.Is(err, webhook.ErrInvalidHeader):
		text = "The request has no valid Stripe-Signature header. Only Stripe posts to this address."
	}
	return fault.New(fault.Invalid, codeSignature, "%s", text)
}
