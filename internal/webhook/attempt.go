package webhook

import (
	"cmp"
	"time"

	"claviger/internal/cluster"
	"claviger/internal/courier"
)

// Attempt is the result of sending a delivery once.
type Attempt struct {
	*Item
	Claim  cluster.Claim // held when it was sent
	To     *Destination  // as known when it was sent
	At     time.Time     // when the request was made
	Took   time.Duration
	Timing courier.Timing
	Header string // as sent
	URL    string
	Outcome
	Next     NextAttempt
	Finished bool // delivered, or no attempt is left

	CertificateUntil time.Time // certificate of the endpoint, if seen

	unsure  bool // may already be stored: the last transaction that wrote it failed
	dropped int  // calls of DropDetails
}

// Outcome is how an endpoint answered.
type Outcome struct {
	Status    int // 0: no HTTP answer
	Answer    string
	Broke     string // why there was no complete answer; "": it was complete
	Diagnosis string // the likely mistake, if it failed
	OK        bool
	Refused   bool // the endpoint rejected this event; see Refuses
}

// NextAttempt is the time of the next attempt of a failed delivery.
type NextAttempt struct {
	Wait      time.Duration
	Due       time.Time
	NotBefore time.Time // the endpoint asked to wait until then
}

// statusGone (410 Gone) asks us to stop sending.
const statusGone = 410

// gone reports whether the endpoint asked us to stop sending.
func (o *Outcome) gone() bool { return o.Broke == "" && o.Status == statusGone }

// Cause describes why an attempt failed. It quotes nothing from the answer.
func (o *Outcome) Cause() string {
	_, why := courier.Delivered(o.Status, "", false)
	return cmp.Or(o.Broke, why, "it answered with a 2xx that does not say success")
}

// DropDetails reduces an attempt that the database rejects: first by the texts from outside, then
// by the whole public record, because the delivery matters more. It returns false if nothing is
// left to drop.
func (a *Attempt) DropDetails() bool {
	a.dropped++
	if a.dropped == 1 {
		a.Header = ""
		a.Answer = "The answer could not be stored."
		a.Diagnosis = ""
	}
	return a.dropped <= 2
}
