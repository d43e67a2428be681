package courier

import (
	"strconv"
	"time"
	"unicode/utf8"
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

// Body is the body of the event's webhook: compact JSON whose members keep their
// order. It depends on nothing but the event, so that every attempt sends the
// same bytes.
func Body(e Event) []byte {
	const fixed = 288 // the names, the numbers and the punctuation
	b := make([]byte, 0, fixed+len(e.LicenseKey)+len(e.Kind)+len(e.Status)+len(e.Reason)+len(e.Sentence)+len(e.PlanName))
	b = appendString(append(b, `{"license_key":`...), e.LicenseKey)
	b = appendString(append(b, `,"event":`...), e.Kind)
	b = appendString(append(b, `,"license_status":`...), e.Status)
	b = strconv.AppendInt(append(b, `,"event_timestamp":`...), e.At.UnixMilli(), 10)
	b = strconv.AppendInt(append(b, `,"event_id":`...), e.EventID, 10)
	b = strconv.AppendInt(append(b, `,"tier":`...), int64(e.Tier), 10)
	b = appendString(append(b, `,"reason":`...), e.Reason)
	b = strconv.AppendBool(append(b, `,"test":`...), e.Test)
	b = strconv.AppendInt(append(b, `,"created_at":`...), e.CreatedAt.UnixMilli(), 10)
	b = appendString(append(b, `,"extra":{"reason":`...), e.Sentence)
	b = append(b, '}')
	if e.PreviousTier != 0 {
		b = strconv.AppendInt(append(b, `,"previous_tier":`...), int64(e.PreviousTier), 10)
	}
	b = appendString(append(b, `,"partner_plan_name":`...), e.PlanName)
	return append(b, '}')
}

// appendString appends s in quotes. Only what JSON forbids inside a string is
// escaped: the quote, the backslash and control characters; what is not UTF-8
// becomes U+FFFD.
func appendString(b []byte, s string) []byte {
	b = append(b, '"')
	from := 0
	for i := 0; i < len(s); {
		c := s[i]
		if c >= utf8.RuneSelf {
			r, size := utf8.DecodeRuneInString(s[i:])
			if r == utf8.RuneError && size == 1 {
				b = utf8.AppendRune(append(b, s[from:i]...), utf8.RuneError)
				from = i + 1
			}
			i += size
			continue
		}
		if c < ' ' || c == '"' || c == '\\' {
			b = appendEscape(append(b, s[from:i]...), c)
			from = i + 1
		}
		i++
	}
	return append(append(b, s[from:]...), '"')
}

// appendEscape appends the shortest escape of an ASCII character.
func appendEscape(b []byte, c byte) []byte {
	const hex = "0123456789abcdef"
	switch c {
	case '"', '\\':
		return append(b, '\\', c)
	case '\b':
		return append(b, `\b`...)
	case '\f':
		return append(b, `\f`...)
	case '\n':
		return append(b, `\n`...)
	case '\r':
		return append(b, `\r`...)
	case '\t':
		return append(b, `\t`...)
	}
	return append(b, '\\', 'u', '0', '0', hex[c>>4], hex[c&15])
}
