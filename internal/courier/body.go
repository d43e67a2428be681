package courier

import (
	"strconv"
	"time"

	"claviger/internal/jsontext"
)

// Event is the content of a webhook: a change of a license, in the terms of the API.
type Event struct {
	LicenseKey   string
	Kind         string // purchase, activate or deactivate
	Status       string // of the license after the event
	At           time.Time
	EventID      int64
	Tier         int
	PreviousTier int // 0 unless the event changed the tier
	Reason       string
	Sentence     string // the reason as a sentence, from a fixed table
	Test         bool
	CreatedAt    time.Time
	PlanName     string // of the tier's plan at that time; "" if the tier is no longer sold
}

// Body returns the body of the event's webhook: compact JSON with a fixed order of members. It
// depends only on the event, so every attempt sends the same bytes.
func Body(e Event) []byte {
	const fixed = 288 // names, numbers and punctuation
	b := make(
		[]byte,
		0,
		fixed+len(e.LicenseKey)+len(e.Kind)+len(e.Status)+len(e.Reason)+len(e.Sentence)+len(e.PlanName),
	)
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
