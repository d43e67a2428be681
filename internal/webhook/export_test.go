package webhook

import "time"

// Refused is an event that was refused, for the rule of superseding.
type Refused struct {
	Times       int
	Since       time.Time
	Alone       bool
	EventID     int64
	NewestEvent int64
}

// Applies is the rule of superseding.
func (s Supersede) Applies(r Refused, now time.Time) bool {
	return s.applies(head{
		Item: Item{EventID: r.EventID}, refusals: refusals{n: r.Times, since: r.Since, alone: r.Alone, newest: r.NewestEvent},
	}, now)
}
