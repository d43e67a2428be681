package scenario

import (
	"context"
	"errors"
	"fmt"
	"time"

	"claviger/internal/courier"
	"claviger/internal/fault"
	"claviger/internal/secret"
)

// Timeout bounds a whole run, however many scenarios it has.
const Timeout = 5 * time.Minute

// errBound is the cause of a run that took too long.
var errBound = errors.New("the whole run took longer than " + Timeout.String())

// maxShown is how many bytes of an answer's headers, and of its body, a result has.
const maxShown = 2 << 10

// Target is the endpoint that a scenario is run against.
type Target struct {
	URL      string
	Redirect string // the redirect URL; only RedirectURL needs it
	Brand    string // "": Licensing
	Secrets  courier.Secrets
	Strict   bool
	Owner    int64  // the partner, for courier's connections; 0: none
	Tiers    []Tier // the partner's own plans; none: test plans
}

// Runner runs scenarios.
type Runner struct {
	Client *courier.Client
	Now    func() time.Time
	Target Target

	// FirstID is the id of the first event; 0: the seconds of the clock. Such ids are far
	// above those of real events and still fit into 32 bits.
	FirstID int64

	// Before is called before an event is sent that the endpoint must accept, with the
	// license as the event leaves it; nil: not called. An error ends the run.
	Before func(context.Context, License) error

	// After is called with each result, as soon as there is one; nil: not called. An
	// error ends the run.
	After func(context.Context, Result) error
}

// Run runs scenarios one after another and returns the results, one for each step. A
// step that gets no HTTP answer ends the run: the others would take as long and show
// nothing new. They are skipped, as are those that come after Timeout.
func (r *Runner) Run(ctx context.Context, list ...Scenario) ([]Result, error) {
	bounded, cancel := context.WithTimeoutCause(ctx, Timeout, errBound)
	defer cancel()
	p := &play{Runner: r, id: r.FirstID, tiers: tiers(r.Target.Tiers), signer: courier.Signer{Brand: r.Target.Brand, UserAgent: r.Client.UserAgent()}}
	if p.id == 0 {
		p.id = r.Now().Unix()
	}
	var results []Result
	for _, s := range list {
		p.scenario, p.licenses, p.sent = s, nil, nil
		for i, st := range s.steps {
			result, err := p.step(bounded, i, st)
			if err == nil && ctx.Err() != nil {
				err = context.Cause(ctx)
			}
			if err != nil {
				return results, fmt.Errorf("run the scenario %s: %w", s.Name, err)
			}
			results = append(results, result)
			if r.After != nil {
				if err := r.After(ctx, result); err != nil {
					return results, fmt.Errorf("run the scenario %s: %w", s.Name, err)
				}
			}
		}
	}
	return results, nil
}

// play is a run under way.
type play struct {
	*Runner
	signer   courier.Signer
	tiers    []Tier
	scenario Scenario
	id       int64             // of the next event
	at       time.Time         // of the last event
	licenses map[int]*License  // of the scenario
	sent     map[int]*envelope // by the step, from 1, of which they were the event
	silent   bool              // there was no answer: what follows is skipped

	delivered bool   // the endpoint accepted something, so it knows the secret
	diagnosed bool   // it was tried to find out why the endpoint accepts nothing
	mistake   string // what it does wrong
	doubt     string // what to do where that was not found
}

// envelope is an event with its body.
type envelope struct {
	id       int64
	body     []byte
	license  License // after the event
	attempts int
}

// reply is what came of one post.
type reply struct {
	request courier.Request
	signed  courier.Signed
	answer  courier.Answer
	err     error
	took    time.Duration
}

// step runs one step.
func (p *play) step(ctx context.Context, i int, s step) (Result, error) {
	result := Result{Scenario: p.scenario.Name, Title: s.title, Expected: s.expect.words(p.Target.Strict), At: p.Now()}
	if p.silent {
		result.Verdict, result.Text = Skipped, "it was not sent: an earlier step got no answer"
		return result, nil
	}
	if ctx.Err() != nil {
		p.silent = true
		result.Verdict, result.Text = Fail, errBound.Error()+", so this was not sent"
		result.Do = []string{doQuick}
		return result, nil
	}
	if s.get != nil {
		p.visit(ctx, &result, s)
		return result, nil
	}
	events, err := p.events(ctx, i, s)
	if err != nil {
		return result, err
	}
	replies := make([]reply, len(events))
	done := make(chan struct{})
	for n, e := range events {
		go func() {
			replies[n] = p.post(ctx, s, e)
			done <- struct{}{}
		}()
	}
	for range events {
		<-done
	}
	p.judge(&result, s, replies)
	if result.Verdict == Fail && p.refusesAll(s, replies[0]) {
		if !p.diagnosed {
			p.diagnose(ctx, s, events[0])
		}
		if p.mistake != "" {
			result.Do = []string{p.mistake}
		} else if p.doubt != "" {
			result.Do = append(result.Do, p.doubt)
		}
	}
	return result, nil
}

// events are what a step sends: new events, or one from before.
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

// event makes the next event of a license.
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
	l.Status, l.Tier, l.UpdatedAt = s.act.status, tier.Number, at
	e := courier.Event{
		LicenseKey: l.Key, Kind: s.act.kind, Status: l.Status, At: at, EventID: p.id, Tier: l.Tier,
		Reason: s.act.reason, Sentence: courier.TestSentence, Test: true, CreatedAt: at, PlanName: tier.Name,
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

// post signs and sends one event.
func (p *play) post(ctx context.Context, s step, e *envelope) reply {
	at := p.Now().Add(-s.age)
	header := p.signer.Headers(e.id, e.attempts, at, p.Target.Secrets, e.body)
	r := reply{signed: courier.Texts(e.id, at, e.body)}
	if s.forge != nil {
		f := courier.NewForgery(e.id, at, p.Target.Secrets, e.body)
		s.forge(f)
		r.signed = p.signer.Forge(header, f)
	}
	if s.header != nil {
		s.header(p.signer, header)
		r.signed = courier.Signed{}
	}
	r.request = courier.Request{Method: "POST", URL: p.Target.URL, Header: header, Body: e.body, Owner: p.Target.Owner}
	r.answer, r.err = p.Client.Send(ctx, r.request)
	r.took = r.answer.Took
	return r
}

// show puts into a result what was sent and answered.
func (p *play) show(result *Result, r reply) {
	result.Sent, result.Took = p.Client.Text(r.request), r.took
	if r.signed != (courier.Signed{}) {
		result.Signed = []fault.Signature{
			{Header: p.signer.SignatureHeader(), Text: r.signed.Brand},
			{Header: courier.HeaderSignature, Text: r.signed.Standard},
		}
	}
	if r.err == nil {
		result.Answer = r.answer.Text(maxShown)
	}
}
