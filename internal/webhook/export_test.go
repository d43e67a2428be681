package webhook

import (
	"context"
	"time"

	"claviger/internal/cluster"
)

// Refused is a refused event, for tests of the superseding rule.
type Refused struct {
	Times       int
	Since       time.Time
	Alone       bool
	EventID     int64
	NewestEvent int64
}

// Applies calls the superseding rule.
func (s Supersede) Applies(r Refused, now time.Time) bool {
	return s.applies(head{
		Item: Item{EventID: r.EventID}, refusals: refusals{n: r.Times, since: r.Since, alone: r.Alone, newest: r.NewestEvent},
	}, now)
}

// After adds a refusal one second after a request sent at at. At that time the endpoint was known
// to have accepted an event at known; it last accepted one at taken.
func (r Refused) After(at, known, taken time.Time) Refused {
	a := &Attempt{At: at, Took: time.Second, To: &Destination{Health: Health{takenAt: known}}}
	after := refusals{n: r.Times, since: r.Since, alone: r.Alone, newest: r.NewestEvent}.after(a, taken)
	return Refused{Times: after.n, Since: after.since, Alone: after.alone, EventID: r.EventID, NewestEvent: after.newest}
}

// SupersedeBehind reads the first pending events of licenses, calls between, and then supersedes
// those that qualify by the earlier read.
func (s *Store) SupersedeBehind(ctx context.Context, claim cluster.Claim, licenses []int64, between func()) error {
	heads, err := s.headsOf(ctx, licenses)
	if err != nil {
		return err
	}
	between()
	return s.supersedeWaiting(ctx, claim, heads, s.Now())
}

// Row is the stored health of an endpoint.
type Row struct {
	FailingSince, ParkedAt, ProbeAt, TakenAt, ErrorAt time.Time
	Failures                                          int
	Probed                                            int64
	Error                                             string
	Draining                                          int
}

// Deliveries that an endpoint gets early.
const (
	DrainNothing = int(drainNothing)
	DrainWaiting = int(drainWaiting)
	DrainAll     = int(drainAll)
)

// After returns the health of the endpoint after a batch of answers.
func (r Row) After(now time.Time, p Policy, attempts ...*Attempt) Row {
	t := &tally{}
	for _, a := range attempts {
		t.add(a)
	}
	h := Health{
		failingSince: r.FailingSince, parkedAt: r.ParkedAt, probeAt: r.ProbeAt, takenAt: r.TakenAt, errorAt: r.ErrorAt,
		failures: r.Failures, probed: r.Probed, error: r.Error, draining: drain(r.Draining),
	}.after(t, now, p)
	return Row{
		FailingSince: h.failingSince, ParkedAt: h.parkedAt, ProbeAt: h.probeAt, TakenAt: h.takenAt, ErrorAt: h.errorAt,
		Failures: h.failures, Probed: h.probed, Error: h.error, Draining: int(h.draining),
	}
}
