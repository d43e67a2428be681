package payment

import (
	"cmp"
	"encoding/json"
	"errors"
	"strconv"
	"strings"
	"time"

	"github.com/stripe/stripe-go/v85"
	"github.com/stripe/stripe-go/v85/webhook"

	"claviger/internal/fault"
)

// eventTypes are the events that we subscribe to.
var eventTypes = []string{
	"checkout.session.completed", "checkout.session.async_payment_succeeded",
	"checkout.session.async_payment_failed", "checkout.session.expired",
	"refund.created", "refund.updated", "refund.failed",
	"charge.dispute.created", "charge.dispute.updated", "charge.dispute.closed", "charge.dispute.funds_reinstated",
}

// sessionFact is the state of a session.
type sessionFact struct {
	id, url, ref, intent, charge string
	paid                         bool // or nothing was due
	complete                     bool // the buyer has finished
	failed                       bool // the bank refused, or the session ended unpaid
	refused                      bool // the bank refused
	amount                       int64
	currency                     string
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
		f.charge = chargeID(o.PaymentIntent.LatestCharge)
		// A session retrieved after the bank refused stays complete and unpaid; only its payment
		// shows the refusal.
		if f.complete && !f.paid && (o.PaymentIntent.Status == stripe.PaymentIntentStatusRequiresPaymentMethod ||
			o.PaymentIntent.Status == stripe.PaymentIntentStatusCanceled) {
			f.failed = true
			f.refused = true
		}
	}
	return f
}

// chargeID returns the id of a charge, or "".
func chargeID(o *stripe.Charge) string {
	if o == nil {
		return ""
	}
	return o.ID
}

// refundFact is the state of a refund.
type refundFact struct {
	id, intent, request string
	charge              string
	amount              int64
	currency            string
	status              RefundStatus
	failure             string
}

func refundOf(o *stripe.Refund) refundFact {
	f := refundFact{
		id: o.ID, request: o.Metadata[requestKey], currency: strings.ToUpper(string(o.Currency)),
		failure: string(o.FailureReason), charge: chargeID(o.Charge),
	}
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

// disputeFact is the state of a dispute.
type disputeFact struct {
	id, intent, charge string
	status, reason     string
	amount             int64
	currency           string
	dueBy              time.Time
	hasEvidence        bool
	pastDue            bool
	submissions        int
	fees               []feeFact // only in answers to calls
}

func disputeOf(o *stripe.Dispute) disputeFact {
	f := disputeFact{
		id: o.ID, status: string(o.Status), reason: string(o.Reason), currency: strings.ToUpper(string(o.Currency)),
		charge: chargeID(o.Charge), fees: feesOf(o),
	}
	f.amount = OwnAmount(o.Amount, f.currency)
	if o.PaymentIntent != nil {
		f.intent = o.PaymentIntent.ID
	}
	if e := o.EvidenceDetails; e != nil {
		f.hasEvidence = e.HasEvidence
		f.pastDue = e.PastDue
		f.submissions = int(e.SubmissionCount)
		if e.DueBy != 0 {
			f.dueBy = time.Unix(e.DueBy, 0).UTC()
		}
	}
	return f
}

// incoming is an event that Stripe signed. It has one of the facts, or none if its version or kind
// is not ours.
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

// train returns the part of a version that determines the format of objects.
func train(version string) string {
	_, name, _ := strings.Cut(version, ".")
	return name
}

// body is the part of an event that is decoded, in one pass. The library's types cost as much as
// the sale: they have every member that Stripe knows, and they decode the object three times.
type body struct {
	ID         string
	Type       string
	APIVersion string `json:"api_version"`
	Created    int64
	Livemode   bool
	Data       struct{ Object object }
}

// object is the decoded part of an event's object: a session, a refund or a dispute.
type object struct {
	ID                string
	ClientReferenceID string `json:"client_reference_id"`
	Status            string
	PaymentStatus     string `json:"payment_status"`
	AmountTotal       int64  `json:"amount_total"`
	Amount            int64
	Currency          stripe.Currency
	Metadata          map[string]string
	PaymentIntent     json.RawMessage `json:"payment_intent"` // an error in it must not stop decoding
	Charge            json.RawMessage
	FailureReason     string `json:"failure_reason"`
	Reason            string
	EvidenceDetails   *stripe.DisputeEvidenceDetails `json:"evidence_details"`
}

// intent decodes a payment intent, which is an id or an object.
func (o *object) intent() (*stripe.PaymentIntent, error) {
	if len(o.PaymentIntent) == 0 || string(o.PaymentIntent) == "null" {
		return nil, nil //nolint:nilnil // there is none, as in the library's types
	}
	if id, ok := stripe.ParseID(o.PaymentIntent); ok {
		return &stripe.PaymentIntent{ID: id}, nil
	}
	var members struct {
		ID           string
		Status       stripe.PaymentIntentStatus
		LatestCharge json.RawMessage `json:"latest_charge"`
	}
	if err := json.Unmarshal(o.PaymentIntent, &members); err != nil {
		return nil, err
	}
	return &stripe.PaymentIntent{ID: members.ID, Status: members.Status, LatestCharge: chargeIn(members.LatestCharge)},
		nil
}

// chargeIn decodes a charge, which is an id or an object. It only helps people to find a payment,
// so one that cannot be read counts as missing.
func chargeIn(text json.RawMessage) *stripe.Charge {
	var o struct{ ID string }
	if id, ok := stripe.ParseID(text); ok {
		return &stripe.Charge{ID: id}
	}
	if err := json.Unmarshal(text, &o); err != nil || o.ID == "" {
		return nil
	}
	return &stripe.Charge{ID: o.ID}
}

// verified checks the signature and decodes the event.
func (s *Stripe) verified(text []byte, header string) (incoming, error) {
	if err := s.verify(text, header); err != nil {
		return incoming{}, signatureError(err)
	}
	var e body
	err := json.Unmarshal(text, &e)
	in := incoming{
		id: e.ID, objectID: e.Data.Object.ID, kind: e.Type, live: e.Livemode, at: time.Unix(e.Created, 0).UTC(),
		foreign: train(e.APIVersion) != train(stripe.APIVersion),
	}
	switch {
	case in.id == "" || in.kind == "": // also if the body is no JSON
		return incoming{}, &unreadable{in.id, cmp.Or(err, errIncomplete)}
	case in.foreign, !in.needed():
		return in, nil // only its ids matter; wrong types of other members are ignored
	case err != nil:
		return incoming{}, &unreadable{in.id, err}
	}
	if err := in.addObject(&e.Data.Object); err != nil {
		return incoming{}, &unreadable{in.id, err}
	}
	return in, nil
}

// errTooNew is returned for a signature with a time in the future.
var errTooNew = errors.New("the timestamp is too far in the future")

// verify checks a signature. The library accepts times in the future, so a copied request would
// stay valid until then.
func (s *Stripe) verify(text []byte, header string) error {
	err := errors.New("no webhook secret is set")
	for _, key := range s.secrets {
		if key == "" {
			continue // an empty key verifies anything signed with an empty key
		}
		if err = webhook.ValidatePayload(text, header, key); err == nil {
			break
		}
	}
	if err == nil && time.Until(signedAt(header)) > webhook.DefaultTolerance {
		return errTooNew
	}
	return err
}

// signedAt returns the timestamp of a verified header. Like the library it uses the last one.
func signedAt(header string) (at time.Time) {
	for pair := range strings.SplitSeq(header, ",") {
		if text, ok := strings.CutPrefix(pair, "t="); ok {
			seconds, _ := strconv.ParseInt(text, 10, 64) // the library has refused anything else
			at = time.Unix(seconds, 0)
		}
	}
	return at
}

// unreadable is the error for a signed event that does not match Stripe's description. A repeat
// would fail, too.
type unreadable struct {
	event string // its id, if it could be decoded
	cause error
}

func (e *unreadable) Error() string { return "read a signed event: " + e.cause.Error() }

func (e *unreadable) Unwrap() error { return e.cause }

// errIncomplete is returned for an event without an id, a type or an object id.
var errIncomplete = errors.New("it has no id, no type, or an object without an id")

const (
	sessionKind = "checkout.session."
	refundKind  = "refund."
	disputeKind = "charge.dispute."
)

// needed reports whether an event is about an object that concerns payments.
func (in *incoming) needed() bool {
	return strings.HasPrefix(in.kind, sessionKind) || strings.HasPrefix(in.kind, refundKind) ||
		strings.HasPrefix(in.kind, disputeKind)
}

// addObject stores the facts of an object.
func (in *incoming) addObject(o *object) error {
	intent, err := o.intent()
	if err == nil && o.ID == "" {
		err = errIncomplete
	}
	if err != nil {
		return err
	}
	switch {
	case strings.HasPrefix(in.kind, sessionKind):
		f := sessionOf(&stripe.CheckoutSession{
			ID: o.ID, ClientReferenceID: o.ClientReferenceID, Status: stripe.CheckoutSessionStatus(o.Status),
			PaymentStatus: stripe.CheckoutSessionPaymentStatus(o.PaymentStatus), AmountTotal: o.AmountTotal,
			Currency: o.Currency,
			Metadata: o.Metadata, PaymentIntent: intent,
		})
		f.refused = f.refused || in.kind == "checkout.session.async_payment_failed"
		f.failed = f.failed || f.refused
		in.session = &f
	case strings.HasPrefix(in.kind, refundKind):
		f := refundOf(&stripe.Refund{
			ID: o.ID, Status: stripe.RefundStatus(o.Status), Amount: o.Amount, Currency: o.Currency,
			Metadata:      o.Metadata,
			PaymentIntent: intent, FailureReason: stripe.RefundFailureReason(o.FailureReason),
			Charge: chargeIn(o.Charge),
		})
		in.refund = &f
	case strings.HasPrefix(in.kind, disputeKind):
		f := disputeOf(
			&stripe.Dispute{
				ID: o.ID, Status: stripe.DisputeStatus(o.Status), Amount: o.Amount, Currency: o.Currency,
				Reason: stripe.DisputeReason(o.Reason), EvidenceDetails: o.EvidenceDetails,
				PaymentIntent: intent, Charge: chargeIn(o.Charge),
			},
		)
		in.dispute = &f
	}
	return nil
}

func signatureError(err error) error {
	text := "The signature is not Stripe's. Set stripe-webhook-secret to the signing secret of this endpoint, as " +
		"its page at Stripe shows it."
	switch {
	case errors.Is(err, webhook.ErrTooOld):
		text = "The signature is more than five minutes old. If Stripe sent this just now, the clock of this " +
			"machine is ahead: set it right."
	case errors.Is(err, errTooNew):
		text = "The signature is dated more than five minutes ahead. If Stripe sent this just now, the clock of " +
			"this machine is behind: set it right."
	case errors.Is(err, webhook.ErrNotSigned), errors.Is(err, webhook.ErrInvalidHeader):
		text = "The request has no valid Stripe-Signature header. Only Stripe posts to this address."
	}
	return fault.New(fault.Invalid, codeSignature, "%s", text)
}
