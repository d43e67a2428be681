package courier

import (
	"strconv"
	"time"

	"claviger/internal/jsontext"
)

// Event is what a webhook tells: an act on a license, in the words of the wire.
type Event struct {
	LicenseKey   string
	Kind         string // purchase, activate or deactivate
	Status       string // of the license after the event
	At           time.Time
	EventID      int64
	Tier         int
	PreviousTier int // 0 unless the event changed the tier
	Reason       string
	Sentence     string // the reason in words, from a fixed table
	Test         bool
	CreatedAt    time.Time
	PlanName     string // of the tier's plan at that moment; "" if the tier is sold no more
}

// TestSentence is the reason in the events of checks and scenarios. It has the
// characters that change when a body is parsed and written again, so that a server that
// does so does not pass.
const TestSentence = "This is a test & changes nothing; it has <characters> that are often escaped: / “é” 東."

// TestPlan is the name of the plan in such events, where no plan of the partner is known.
const TestPlan = "Test plan"

// Body is the body of the event's webhook: compact JSON whose members keep their
// order. It depends on nothing but the event, so that every attempt sends the
// same bytes.
func Body(e Event) []byte {
	const fixed = 288 // the names, the numbers and the punctuation
	b := make([]byte, 0, fixed+len(e.LicenseKey)+len(e.Kind)+len(e.Status)+len(e.Reason)+len(e.Sentence)+len(e.PlanName))
	b = jsontext.AppendString(append(b, `{"license_key":`...), e.LicenseKey)
	b = jsontext.AppendString(append(b, `,"event":`...), e.Kind)
	b = jsontext.AppendString(append(b, `,"license_status":`...), e.Status)
	b = strconv.AppendInt(append(b, `,"event_timestamp":`...), e.At.UnixMilli(), 10)
	b = strconv.AppendInt(append(b, `,"event_id":`...), e.EventID, 10)
	b = strconv.AppendInt(append(b, `,"tier":`...), int64(e.Tier), 10)
	b = jsontext.AppendString(append(b, `,"reason":`...), e.Reason)
	b = strconv.AppendBool(append(b, `,"test":`...), e.Test)
	b = strconv.AppendInt(append(b, `,"created_at":`...), e.CreatedAt.UnixMilli(), 10)
	b = jsontext.AppendString(append(b, `,"extra":{"reason":`...), e.Sentence)
	b = append(b, '}')
	if e.PreviousTier != 0 {
		b = strconv.AppendInt(append(b, `,"previous_tier":`...), int64(e.PreviousTier), 10)
	}
	b = jsontext.AppendString(append(b, `,"partner_plan_name":`...), e.PlanName)
	return append(b, '}')
}
