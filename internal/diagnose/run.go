package diagnose

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"claviger/internal/courier"
	"claviger/internal/fault"
)

// Verdict is the result of a step.
type Verdict string

// The verdicts, from the best to the worst.
const (
	Pass    Verdict = "pass"
	Warn    Verdict = "warn"    // deliveries work, but something should be fixed
	Skipped Verdict = "skipped" // not sent, because of an earlier step
	Fail    Verdict = "fail"
)

var order = []Verdict{"", Pass, Warn, Skipped, Fail}

// Worst returns the worst of verdicts; "" if there is none.
func Worst(verdicts ...Verdict) Verdict {
	var worst Verdict
	for _, v := range verdicts {
		if slices.Index(order, v) > slices.Index(order, worst) {
			worst = v
		}
	}
	return worst
}

// Result is the result of one step: expectation, request, answer and advice.
type Result struct {
	Scenario string // "" outside scenarios
	Title    string
	Expected string
	Verdict  Verdict
	Extra    bool     // the step only looks for a mistake: its failure is a warning
	Text     string   // description
	Do       []string // advice, the likeliest first
	Sent     string   // request line, headers and body; "" if it was skipped
	Signed   []fault.Signature
	Answer   string // status, headers and body, shortened; "" if none came
	At       time.Time
	Took     time.Duration // from sending the request until the answer was read
	Cause    Cause         // reason for no HTTP answer; "" if one came, or nothing was sent

	Reply     courier.Answer // the whole answer; not stored
	Delivered bool           // the answer accepts a webhook; not stored
}

// Target is the endpoint of a run.
type Target struct {
	URL      string
	Redirect string // the redirect URL, for steps that call it
	Brand    string // "": Licensing
	Secrets  courier.Secrets
	Strict   bool
	Owner    int64 // the partner, for courier's connections; 0: none

	NewSecrets  bool   // the partner cannot have the secrets yet
	MarketBrand string // brand of partners without their own
}

// Runner runs steps against an endpoint, one after another: it bounds the whole run, measures each
// step and records its request and answer. Its callers differ in their steps, and in how they show
// the results. A Runner serves one run.
type Runner struct {
	Client *courier.Client
	Now    func() time.Time
	Target Target

	// Progress is called with a step when its request is sent, and again with its result; nil: not
	// called.
	Progress func(r Result, ended bool)

	bound   error  // cause of a run that took too long; nil: it has no limit
	skipped string // reason to skip the remaining steps; "": none
}

// maxShown is the maximum size in bytes of an answer's headers, and of its body, in a result.
const maxShown = 2 << 10

// Advice to endpoints that take too long.
const (
	doSoon  = "Answer as soon as the event is stored, and do the work afterwards."
	DoQuick = "Answer as soon as the event is stored, and do slow work afterwards, in a queue."
)

// Bound limits the time of the whole run. name is its name in sentences.
func (r *Runner) Bound(ctx context.Context, name string, limit time.Duration) (context.Context, context.CancelFunc) {
	r.bound = fmt.Errorf("the whole %s took longer than %s", name, limit)
	return context.WithTimeoutCause(ctx, limit, r.bound)
}

// Skip skips the remaining steps.
func (r *Runner) Skip(why string) { r.skipped = why }

const unanswered = "it was not sent: an earlier step got no answer"

// SkipUnanswered skips the remaining steps if this one got no answer: they would take as long and
// show nothing new.
func (r *Runner) SkipUnanswered(result *Result) {
	if result.Answer == "" {
		r.Skip(unanswered)
	}
}

// Step runs one step, which do completes, unless it is skipped or the time is over. An error means
// that the run must end.
func (r *Runner) Step(ctx context.Context, result Result, do func(context.Context, *Result) error) (*Result, error) {
	result.At = r.Now()
	switch {
	case r.skipped != "":
		result.Verdict = Skipped
		result.Text = r.skipped
		return &result, nil
	case r.bound != nil && ctx.Err() != nil:
		r.Skip(unanswered)
		result.Verdict = Fail
		result.Text = r.bound.Error() + ", so this was not sent"
		result.Do = []string{DoQuick}
		return &result, nil
	}
	err := do(ctx, &result)
	if result.Took == 0 {
		result.Took = r.Now().Sub(result.At)
	}
	if r.Progress != nil {
		r.Progress(result, true)
	}
	return &result, err
}

// Signer returns the signer of the target's webhooks.
func (r *Runner) Signer() courier.Signer {
	return courier.Signer{Brand: r.Target.Brand, UserAgent: r.Client.UserAgent()}
}

// Post is an event to post.
type Post struct {
	ID      int64
	Attempt int
	Body    []byte
	Age     time.Duration  // of its timestamps
	Forge   func(*Forgery) // changes the signatures; nil: they are right
}

// Post posts an event for a step. It judges the answer as that to a webhook.
func (r *Runner) Post(ctx context.Context, to *Result, p Post) {
	signer := r.Signer()
	at := r.Now().Add(-p.Age)
	header := signer.Headers(p.ID, p.Attempt, at, r.Target.Secrets, p.Body)
	signed := courier.Texts(p.ID, at, p.Body)
	if p.Forge != nil {
		f := NewForgery(p.ID, at, r.Target.Secrets, p.Body)
		p.Forge(f)
		signed = f.Sign(signer, header)
	}
	if signed != (courier.Signed{}) {
		to.Signed = Signatures(signer, signed)
	}
	r.send(ctx, to, courier.Request{Method: "POST", URL: r.Target.URL, Header: header, Body: p.Body})
}

// Get calls a URL for a step.
func (r *Runner) Get(ctx context.Context, to *Result, url string) {
	r.send(ctx, to, courier.Request{Method: "GET", URL: url})
}

func (r *Runner) send(ctx context.Context, to *Result, request courier.Request) {
	request.Owner = r.Target.Owner
	to.Sent = r.Client.Text(request)
	if r.Progress != nil {
		r.Progress(*to, false)
	}
	var err error
	to.Reply, err = r.Client.Send(ctx, request)
	to.Took = to.Reply.Took
	if err != nil {
		r.explain(ctx, to, err)
		return
	}
	to.Answer = to.Reply.Text(maxShown)
	to.Do = Likely(r.Signer(), to.Reply, r.Target.Strict)
	to.Delivered, to.Text = courier.Delivered(to.Reply.Status, to.Reply.Body, r.Target.Strict)
	switch {
	case !to.Delivered:
		to.Verdict = Fail
		return
	case len(to.Do) > 0:
		to.Verdict = Warn
	default:
		to.Verdict = Pass
	}
	to.Text = "it was delivered"
}

// explain records why a request has no answer.
func (r *Runner) explain(ctx context.Context, to *Result, err error) {
	to.Verdict = Fail
	text, remedy := Explain(err)
	to.Text = text
	to.Cause = CauseOf(text)
	if r.bound != nil && errors.Is(context.Cause(ctx), r.bound) {
		to.Text = r.bound.Error() + " and was ended"
		remedy = doSoon
	}
	if remedy != "" {
		to.Do = []string{remedy}
	}
}

// Signatures returns signed texts with the names of their headers.
func Signatures(s courier.Signer, signed courier.Signed) []fault.Signature {
	return []fault.Signature{
		{Header: s.SignatureHeader(), Text: signed.Brand},
		{Header: courier.HeaderSignature, Text: signed.Standard},
	}
}
