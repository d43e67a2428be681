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

// read checks a signature and reads the event.
func (s *Stripe) read(body []byte, header string) (incoming, error) {
	var e stripe.Event
	err := errors.New("no webhook secret is set")
	for _, key := range s.secrets {
		if key == "" {
			continue // it would verify what anybody signed with nothing
		}
		e, err = webhook.ConstructEventWithOptions(body, header, key, webhook.ConstructEventOptions{IgnoreAPIVersionMismatch: true})
		if err == nil {
			break
		}
	}
	if err != nil {
		return incoming{}, signatureError(err)
	}
	in := incoming{id: e.ID, kind: string(e.Type), live: e.Livemode, at: time.Unix(e.Created, 0).UTC(), foreign: train(e.APIVersion) != train(stripe.APIVersion)}
	if e.Data == nil {
		return in, nil
	}
	in.objectID, _ = e.Data.Object["id"].(string)
	if in.foreign {
		return in, nil
	}
	return in, in.readObject(e.Data.Raw)
}

func (in *incoming) readObject(raw json.RawMessage) error {
	var err error
	switch {
	case strings.HasPrefix(in.kind, "checkout.session."):
		var o stripe.CheckoutSession
		if err = json.Unmarshal(raw, &o); err == nil {
			f := sessionOf(&o)
			f.failed = f.failed || in.kind == "checkout.session.async_payment_failed"
			in.session = &f
		}
	case strings.HasPrefix(in.kind, "refund."):
		var o stripe.Refund
		if err = json.Unmarshal(raw, &o); err == nil {
			f := refundOf(&o)
			in.refund = &f
		}
	case strings.HasPrefix(in.kind, "charge.dispute."):
		var o stripe.Dispute
		if err = json.Unmarshal(raw, &o); err == nil {
			f := disputeOf(&o)
			in.dispute = &f
		}
	}
	if err != nil {
		return fmt.Errorf("read the object of a signed event: %w", err)
	}
	return nil
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
