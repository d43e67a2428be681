package outage

import (
	"context"
	"time"
)

// Once does one round.
func (w *Watch) Once(ctx context.Context) (int, error) { return w.once(ctx) }

// Next is what would be done about an outage.
func Next(o Outage, exhaustedTold int64, exhaustedToldAt, now time.Time) string {
	o.exhaustedNotified, o.exhaustedNotifiedAt = exhaustedTold, exhaustedToldAt
	return o.next(now).String()
}

// Span and Roughly are the words for times.
var Span, Roughly = span, roughly
