package webhook

import (
	"time"

	"claviger/internal/cluster"
	"claviger/internal/courier"
)

// Attempt is what came of sending a delivery once.
type Attempt struct {
	*Item
	Claim  cluster.Claim // under which it was sent
	To     *Destination  // as it was known when it was sent
	At     time.Time     // when the request was made
	Took   time.Duration
	Timing courier.Timing
	Header string // as sent
	URL    string
	Outcome
	Next     NextAttempt
	Finished bool // delivered, or no attempt is left

	CertificateUntil time.Time // of the endpoint, if it was seen

	unsure  bool // it may be on record: the last transaction that wrote it failed
	dropped int  // how much of it the database would not take; see DropDetails
}

// Outcome is how an endpoint answered.
type Outcome struct {
	Status    int // 0: no HTTP answer
	Answer    string
	Broke     string // why there was no whole answer; "": there was
	Diagnosis string // the likely mistake, when it failed
	OK        bool
	Refused   bool // the endpoint answered that it does not want this event; see Refuses
}

// NextAttempt is when a failed delivery is tried again.
type NextAttempt struct {
	Wait      time.Duration
	Due       time.Time
	NotBefore time.Time // the endpoint asked to wait until then
}

// statusGone is how an endpoint asks to be left alone.
const statusGone = 410

// gone reports whether the endpoint asked to be left alone.
func (o *Outcome) gone() bool { return o.Broke == "" && o.Status == statusGone }

// Cause says in words what a failed attempt met; it quotes nothing of an answer.
func (o *Outcome) Cause() string {
	_, why := courier.Delivered(o.Status, "", false)
	switch {
	case o.Broke != "":
		return o.Broke
	case why == "":
		return "it answered with a 2xx that does not say success"
	}
	return why
}

// DropDetails drops from an attempt that the database does not take first the texts that
// came from outside, then the public record as such: the delivery matters more. False
// means that nothing is left to drop.
func (a *Attempt) DropDetails() bool {
	a.dropped++
	if a.dropped == 1 {
		a.Header, a.Answer, a.Diagnosis = "", "The answer could not be stored.", ""
	}
	return a.dropped <= 2
}
