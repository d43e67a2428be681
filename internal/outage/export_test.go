package outage

import (
	"context"
	"time"
)

// Once handles every outage once.
func (w *Watch) Once(ctx context.Context) (int, error) { return w.once(ctx) }

// Next returns the next step of an outage.
func Next(o Outage, exhaustedTold int64, exhaustedToldAt, now time.Time) string {
	o.exhaustedNotified, o.exhaustedNotifiedAt = exhaustedTold, exhaustedToldAt
	return o.next(now).String()
}

// Span and Roughly format durations.
var Span, Roughly = span, roughly
