package mail

import (
	"fmt"
	"slices"
	"strings"
)

// Kind is the subject of an email to a buyer that the operator can switch off.
type Kind string

// The kinds of emails that can be switched off.
const (
	LicenseReady   Kind = "license-ready"
	Receipt        Kind = "receipt"
	PlanChanged    Kind = "plan-changed"
	Refunded       Kind = "refunded"
	RefundRequest  Kind = "refund-request"
	OnHold         Kind = "on-hold"
	Reinstated     Kind = "reinstated"
	NewSignIn      Kind = "new-sign-in"
	EmailChanged   Kind = "email-changed"
	AccountDeleted Kind = "account-deleted"
)

// Kinds lists the kinds of emails that can be switched off.
var Kinds = []Kind{
	LicenseReady,
	Receipt,
	PlanChanged,
	Refunded,
	RefundRequest,
	OnHold,
	Reinstated,
	NewSignIn,
	EmailChanged,
	AccountDeleted,
}

// ParseKinds parses a comma-separated list of kinds.
func ParseKinds(text string) ([]Kind, error) {
	var list []Kind
	for word := range strings.SplitSeq(text, ",") {
		switch k := Kind(strings.TrimSpace(word)); {
		case k == "":
		case !slices.Contains(Kinds, k):
			return nil, fmt.Errorf("must be a list of %s; %q is none of them", KindNames(), string(k))
		default:
			list = append(list, k)
		}
	}
	return list, nil
}

// KindNames returns the names of all kinds for a sentence.
func KindNames() string {
	names := make([]string, len(Kinds))
	for i, k := range Kinds {
		names[i] = string(k)
	}
	last := len(names) - 1
	return strings.Join(names[:last], ", ") + " and " + names[last]
}

// Sends reports whether emails of a kind are sent: there is an outbox, and they are not switched
// off.
func (o *Outbox) Sends(k Kind) bool { return o != nil && !slices.Contains(o.Off, k) }
