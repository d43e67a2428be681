package webhook

import (
	"context"
	"time"

	"claviger/internal/cluster"
)

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

// After counts one more refusal, a second after a request that was made at that time, when
// the endpoint was known to have taken an event at known. It last took one at taken.
func (r Refused) After(at, known, taken time.Time) Refused {
	a := &Attempt{At: at, Took: time.Second, To: &Destination{Health: Health{takenAt: known}}}
	after := refusals{n: r.Times, since: r.Since, alone: r.Alone, newest: r.NewestEvent}.after(a, taken)
	return Refused{Times: after.n, Since: after.since, Alone: after.alone, EventID: r.EventID, NewestEvent: after.newest}
}

// SupersedeBehind reads the first open events of licenses, calls between, and ends those
// that by what it read make way.
func (s *Store) SupersedeBehind(ctx context.Context, claim cluster.Claim, licenses []int64, between func()) error {
	heads, err := s.headsOf(ctx, licenses)
	if err != nil {
		return err
	}
	between()
	return s.supersedeWaiting(ctx, claim, heads, s.Now())
}

// Row is how an endpoint does, as its row tells.
type Row struct {
	FailingSince, ParkedAt, ProbeAt, TakenAt, ErrorAt time.Time
	Failures                                          int
	Probed                                            int64
	Error                                             string
	Draining                                          int
}

// What an endpoint sends before its time.
const (
	DrainNothing = int(drainNothing)
	DrainWaiting = int(drainWaiting)
	DrainAll     = int(drainAll)
)

// After is how the endpoint does after a batch of answers.
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
