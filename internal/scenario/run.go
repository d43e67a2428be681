package scenario

import (
	"context"
	"fmt"
	"sync"
	"time"

	"claviger/internal/courier"
	"claviger/internal/diagnose"
	"claviger/internal/secret"
)

// Timeout limits a whole run, with any number of scenarios.
const Timeout = 5 * time.Minute

// Runner runs scenarios.
type Runner struct {
	diagnose.Runner
	Tiers []Tier // the partner's own plans; none: test plans

	// FirstID is the id of the first event; 0: the current Unix time. Such ids are far above those
	// of real events and still fit into 32 bits.
	FirstID int64

	// Before is called before an event is sent that the endpoint must accept, with the license as
	// the event leaves it; nil: not called. An error ends the run.
	Before func(context.Context, License) error

	// After is called with each result as soon as it exists; nil: not called. An error ends the
	// run.
	After func(context.Context, diagnose.Result) error
}

// Run runs scenarios one after another and returns one result per step. A step without an HTTP
// answer ends the run, because the others would take as long and show nothing new. They are
// skipped, as are those after Timeout.
func (r *Runner) Run(ctx context.Context, list ...Scenario) ([]diagnose.Result, error) {
	p := &play{Runner: *r, id: r.FirstID, tiers: tiers(r.Tiers)}
	bounded, cancel := p.Bound(ctx, "run", Timeout)
	defer cancel()
	if p.id == 0 {
		p.id = r.Now().Unix()
	}
	var results []diagnose.Result
	for _, s := range list {
		p.licenses = nil
		p.sent = nil
		for i, st := range s.steps {
			begun := diagnose.Result{Scenario: s.Name, Title: st.title, Expected: st.expect.words(r.Target.Strict)}
			result, err := p.Step(bounded, begun, func(ctx context.Context, result *diagnose.Result) error {
				return p.step(ctx, result, i, st)
			})
			if err == nil && ctx.Err() != nil {
				err = context.Cause(ctx)
			}
			if err == nil {
				results = append(results, *result)
				if r.After != nil {
					err = r.After(ctx, *result)
				}
			}
			if err != nil {
				return results, fmt.Errorf("run the scenario %s: %w", s.Name, err)
			}
		}
	}
	return results, nil
}

// play is a running Run.
type play struct {
	Runner
	tiers    []Tier
	id       int64             // of the next event
	at       time.Time         // of the last event
	licenses map[int]*License  // of the scenario
	sent     map[int]*envelope // by the step, from 1, that sent it first

	delivered bool   // the endpoint accepted something, so it knows the secret
	diagnosed bool   // the mistake was looked for
	mistake   string // the mistake that was found
	doubt     bool   // none was found
}

// envelope is an event with its body.
type envelope struct {
	id       int64
	body     []byte
	license  License // after the event
	attempts int
}

// step runs one step.
func (p *play) step(ctx context.Context, result *diagnose.Result, i int, s step) error {
	if s.get != nil {
		p.visit(ctx, result, s)
		return nil
	}
	events, err := p.events(ctx, i, s)
	if err != nil {
		return err
	}
	replies := make([]diagnose.Result, len(events))
	var all sync.WaitGroup
	for n, e := range events {
		replies[n] = *result
		all.Go(func() { p.post(ctx, &replies[n], s, e) })
	}
	all.Wait()
	first := replies[0]
	p.judge(result, s, replies)
	if result.Verdict == diagnose.Fail && p.refusesAll(s, first) {
		p.advise(ctx, result, s, events[0])
	}
	return nil
}

// events returns the events of a step: new ones, or an earlier one.
func (p *play) events(ctx context.Context, i int, s step) ([]*envelope, error) {
	var events []*envelope
	switch {
	case s.again > 0:
		events = []*envelope{p.sent[s.again]}
	case s.raw != nil:
		events = []*envelope{{id: s.raw.id, body: s.raw.body, license: licenseIn(s.raw.body, p.Now())}}
	default:
		for n := range s.count() {
			events = append(events, p.event(s, s.license+n))
		}
	}
	if p.sent == nil {
		p.sent = map[int]*envelope{}
	}
	p.sent[i+1] = events[0]
	for _, e := range events {
		e.attempts++
		if p.Before == nil || s.expect == refused || s.expect == betterNot || e.license.Key == "" || p.newer(e) {
			continue
		}
		if err := p.Before(ctx, e.license); err != nil {
			return nil, err
		}
	}
	return events, nil
}

// newer reports whether the license has had another event since e.
func (p *play) newer(e *envelope) bool {
	for _, other := range p.sent {
		if other.license.Key == e.license.Key && other.id > e.id {
			return true
		}
	}
	return false
}

// event creates the next event of a license.
func (p *play) event(s step, license int) *envelope {
	if p.licenses == nil {
		p.licenses = map[int]*License{}
	}
	at := p.Now().Truncate(time.Millisecond)
	if !at.After(p.at) {
		at = p.at.Add(time.Millisecond)
	}
	p.at = at
	l := p.licenses[license]
	if l == nil {
		l = &License{Key: secret.UUID(), CreatedAt: at}
		p.licenses[license] = l
	}
	tier := p.tiers[s.tier]
	l.Status = s.act.status
	l.Tier = tier.Number
	l.UpdatedAt = at
	e := courier.Event{
		LicenseKey: l.Key, Kind: s.act.kind, Status: l.Status, At: at, EventID: p.id, Tier: l.Tier,
		Reason: s.act.reason, Sentence: diagnose.TestSentence, Test: true, CreatedAt: at, PlanName: tier.Name,
	}
	if s.before > 0 {
		e.PreviousTier = p.tiers[s.before-1].Number
	}
	p.id++
	body := courier.Body(e)
	if s.body != nil {
		body = s.body(body)
	}
	return &envelope{id: e.EventID, body: body, license: *l}
}

// post sends one event.
func (p *play) post(ctx context.Context, to *diagnose.Result, s step, e *envelope) {
	p.Post(ctx, to, diagnose.Post{ID: e.id, Attempt: e.attempts, Body: e.body, Age: s.age, Forge: s.forge})
}
