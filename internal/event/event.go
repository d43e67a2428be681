// Package event stores the events of licenses: append-only, each with a dense
// ordinal within its partner and an id that rises in commit order per partner. It
// owns the tables events and event_blocks. Each event adds a delivery to the webhook
// outbox in the same transaction. Package license decides which command makes which
// event.
package event

import (
	"time"

	"claviger/internal/fault"
	"claviger/internal/webhook/history"
)

// Status is the status of a license. It follows from an event's kind.
type Status int

// Statuses; the zero value means none.
const (
	Inactive Status = iota + 1
	Active
	Deactivated
)

func (s Status) String() string {
	switch s {
	case Inactive:
		return "inactive"
	case Active:
		return "active"
	case Deactivated:
		return "deactivated"
	default:
		return ""
	}
}

// ParseStatus parses a status from a query; "" is none.
func ParseStatus(s string) (Status, error) {
	for _, known := range []Status{0, Inactive, Active, Deactivated} {
		if s == known.String() {
			return known, nil
		}
	}
	return 0, fault.Parameter("status", "must be inactive, active or deactivated.")
}

// Kind is the kind of an event. Its numbers are those of the resulting status.
type Kind int

// Kinds.
const (
	Purchase   = Kind(Inactive)
	Activate   = Kind(Active)
	Deactivate = Kind(Deactivated)
)

func (k Kind) String() string {
	switch k {
	case Purchase:
		return "purchase"
	case Activate:
		return "activate"
	case Deactivate:
		return "deactivate"
	default:
		return ""
	}
}

// Status returns the status of the license after an event of this kind.
func (k Kind) Status() Status { return Status(k) }

// ParseKind parses a kind from a query; "" is none.
func ParseKind(s string) (Kind, error) {
	for _, known := range []Kind{0, Purchase, Activate, Deactivate} {
		if s == known.String() {
			return known, nil
		}
	}
	return 0, fault.Parameter("event", "must be purchase, activate or deactivate.")
}

// Reason is the reason of an event.
type Reason string

// Reasons. Partners see them; the list only grows.
const (
	Purchased      Reason = "purchased"
	Redeemed       Reason = "redeemed"
	PlanChanged    Reason = "plan_changed"
	Refunded       Reason = "refunded"
	RefundReversed Reason = "refund_reversed"
	Chargeback     Reason = "chargeback"
	Held           Reason = "held"
	Reinstated     Reason = "reinstated"
	Released       Reason = "released"
	Transferred    Reason = "transferred"
	UserErased     Reason = "user_erased"
	Operator       Reason = "operator"
)

// sentences are the reasons as partners read them. They are fixed, so that nothing about a buyer
// and none of an operator's notes can reach partners.
var sentences = map[Reason]string{
	Purchased:      "The license was purchased.",
	Redeemed:       "The buyer activated the license.",
	PlanChanged:    "The buyer changed the plan.",
	Refunded:       "A purchase of the license was refunded.",
	RefundReversed: "A refund of the license was reversed.",
	Chargeback:     "The payment is disputed, so the license is on hold.",
	Held:           "The marketplace put the license on hold.",
	Reinstated:     "The marketplace lifted the hold on the license.",
	Released:       "The buyer disconnected the license from the account it was used with.",
	Transferred:    "The license was transferred to another buyer.",
	UserErased:     "The buyer's account was erased.",
	Operator:       "The marketplace activated the license for the buyer.",
}

// Sentence returns the reason as a sentence.
func (r Reason) Sentence() string { return sentences[r] }

// ImportedSentence is the reason of the event of an import.
const ImportedSentence = "The marketplace brought the license in from elsewhere."

// Event is a full snapshot of a license's new state, so that a partner's handler is one upsert.
type Event struct {
	ID           int64
	PartnerID    int64
	LicenseID    int64
	LicenseKey   string
	Kind         Kind
	Tier         int
	PreviousTier int // 0 unless this event changed the tier
	Reason       Reason
	At           time.Time // milliseconds; rises strictly per license
	CreatedAt    time.Time
	Responses    []history.Response // the newest ten, newest first, if a list embeds them
}

// Imported reports whether the event is the import of a license that was made at that time. A sold
// license begins with a purchase, and its later events have later times.
func (e Event) Imported(made time.Time) bool {
	return e.Reason == Operator && e.At.Equal(Millis(made))
}
