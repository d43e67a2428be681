package profile

import (
	"context"
	"fmt"
	"strings"
	"time"

	"claviger/internal/courier"
	"claviger/internal/diagnose"
	"claviger/internal/fault"
	"claviger/internal/partner"
	"claviger/internal/secret"
	"claviger/internal/validate"
)

// Names of the URLs in requests.
const (
	webhookField  = "webhook_url"
	redirectField = "redirect_url"
)

// CheckTimeout is the timeout for the whole check of a profile's URLs.
const CheckTimeout = 30 * time.Second

// Checker calls URLs to see whether they work. Client also decides whether http and private
// addresses are allowed.
type Checker struct {
	Client *courier.Client
	Often  bool // no limit on the number of checks of a partner's URLs; still one check at a time
}

// Check is one step of the transcript of a check: the request, the answer and its meaning.
type Check = fault.Check

// urlUpdate is an update of a profile, validated and, if requested, checked.
type urlUpdate struct {
	webhook, redirect *string
	connection        Connection
	checkedAt         time.Time // zero: not checked
}

// checkedPartner has the data of a partner that a check of its URLs needs.
type checkedPartner struct {
	partner.Partner
	secrets    []string
	newSecrets bool // the secrets are so new that the partner cannot have them

	// progress is called with each step when it begins, and again when it is answered; may be nil.
	// The complete transcript may judge the steps differently.
	progress func(step Check, answered bool)
}

// tell reports a step to progress.
func (p checkedPartner) tell(step Check, answered bool) {
	if p.progress == nil {
		return
	}
	if !answered {
		step.Warning = true
		step.Text = "it was sent, and its answer is awaited"
	}
	p.progress(step, answered)
}

// checkedPartner reads the data for a check of a partner's URLs. No server is called for a partner
// that does not exist.
func (b *Store) checkedPartner(ctx context.Context, id int64) (p checkedPartner, err error) {
	if p.Partner, err = b.Partners.Get(ctx, id); err != nil {
		return p, err
	}
	p.secrets, err = b.Partners.WebhookSecrets(ctx, id)
	return p, err
}

// after returns the partner after a change.
func (p checkedPartner) after(c partner.Change) checkedPartner {
	if c.Brand != nil {
		p.Brand = *c.Brand
	}
	if c.Strict != nil {
		p.Strict = *c.Strict
	}
	return p
}

// newPartner returns a partner that is not created yet, with its future secret: the check signs
// with it.
func newPartner(d partner.Draft, given partner.Credentials) (checkedPartner, partner.Credentials) {
	p := checkedPartner{Partner: partner.Partner{Brand: d.Brand, Strict: d.Strict}}
	own := &given.WebhookSecret
	if d.SingleKey {
		own = &given.APIKey
	}
	switch {
	case *own != "":
	case d.SingleKey:
		*own = secret.Make(string(secret.APIKey))
		p.newSecrets = true
	default:
		*own = secret.MakeWebhook()
		p.newSecrets = true
	}
	p.secrets = []string{*own}
	return p, given
}

// read validates the form of a change.
func (b *Store) read(c URLChange) (n urlUpdate, err error) {
	if n.webhook, err = b.Check.read(webhookField, c.Webhook); err != nil {
		return n, err
	}
	if n.redirect, err = b.Check.read(redirectField, c.Redirect); err != nil {
		return n, err
	}
	n.connection, err = b.Check.readConnection(c.Connection)
	return n, err
}

// read validates the form of a URL. An empty one unsets it and is not checked.
func (c Checker) read(name string, value *string) (*string, error) {
	if value == nil || *value == "" {
		return value, nil
	}
	read, err := validate.URL(name, *value, c.Client.AllowsPrivate())
	return &read, err
}

// check calls the URLs that are set and returns the transcript; all of them must pass. It runs
// before the transaction, because partners' servers may be slow.
func (b *Store) check(ctx context.Context, n *urlUpdate, p checkedPartner) ([]Check, error) {
	if !n.calls() {
		n.checkedAt = b.Now()
		return nil, nil
	}
	claim, err := b.BeginTest(ctx, p.ID)
	if err != nil {
		return nil, err
	}
	defer claim.End(ctx)
	return b.try(ctx, n, p)
}

// try does the same as check, without its limits.
func (b *Store) try(ctx context.Context, n *urlUpdate, p checkedPartner) ([]Check, error) {
	transcript := b.transcript(ctx, *n, p)
	if ctx.Err() != nil {
		return nil, fmt.Errorf("check a partner's URLs: %w", context.Cause(ctx)) // the client has left
	}
	for _, c := range transcript {
		if !c.OK && !c.Warning {
			return transcript, refusal(c, transcript, p.ID != 0)
		}
	}
	n.checkedAt = b.Now()
	return transcript, nil
}

// calls reports whether there is a URL to call.
func (n urlUpdate) calls() bool {
	return n.webhook != nil && *n.webhook != "" || n.redirect != nil && *n.redirect != ""
}

// transcript checks both URLs concurrently, so that a slow one does not use up the time of the
// other.
func (b *Store) transcript(ctx context.Context, n urlUpdate, p checkedPartner) []Check {
	redirect := make(chan []Check, 1)
	go func() { redirect <- b.run(ctx, n.redirect, p, (*diagnose.Runner).CheckRedirect) }()
	webhook := b.run(ctx, n.webhook, p, (*diagnose.Runner).CheckWebhook)
	return append(<-redirect, webhook...)
}

// run checks one URL, if there is one.
func (b *Store) run(
	ctx context.Context,
	url *string,
	p checkedPartner,
	check func(*diagnose.Runner, context.Context) []*diagnose.Result,
) []Check {
	if url == nil || *url == "" {
		return nil
	}
	r := &diagnose.Runner{
		Client: b.Check.Client, Now: b.Now,
		Target: diagnose.Target{
			URL: *url, Redirect: *url, Brand: p.Brand, Strict: p.Strict, Owner: p.ID,
			Secrets: courier.NewSecrets(p.secrets...), NewSecrets: p.newSecrets,
		},
		Progress: func(r diagnose.Result, ended bool) { p.tell(checkOf(*url, r), ended) },
	}
	if b.Partners != nil {
		r.Target.MarketBrand = b.Partners.Brand
	}
	ctx, cancel := r.Bound(ctx, "check", CheckTimeout)
	defer cancel()
	var list []Check
	for _, result := range check(r, ctx) {
		list = append(list, checkOf(*url, *result))
	}
	return list
}

// checkOf returns the result of a step for the transcript.
func checkOf(url string, r diagnose.Result) Check {
	return Check{
		URL: url, Step: r.Title, OK: r.Verdict == diagnose.Pass || r.Verdict == diagnose.Warn,
		Warning: r.Verdict == diagnose.Warn || r.Extra && r.Verdict == diagnose.Fail,
		Text:    r.Text, Likely: r.Do, Sent: r.Sent, Signed: r.Signed, Answer: r.Answer,
	}
}

// refusal returns the fault for a URL with a failed step; saved means that the partner has a saved
// URL.
func refusal(c Check, transcript []Check, saved bool) *fault.Error {
	name := webhookField
	why := c.Text
	if c.Step == diagnose.RedirectStep {
		name = redirectField
	}
	if !strings.HasSuffix(why, "?") {
		why += "."
	}
	if len(c.Likely) > 0 {
		why += " " + c.Likely[0]
	}
	next := "Fix this and send it again."
	if saved {
		next = "The saved URL stays in use; fix this and send the new one again."
	}
	f := fault.New(fault.Unprocessable, codeURLCheckFailed, "%s did not pass its check: %s %s", name, why, next).
		On(name)
	f.Checks = transcript
	return f
}

// on returns the profile with the new URLs. An unchanged URL keeps its time of validation, unless
// it was checked again.
func (n urlUpdate) on(p Profile) Profile {
	if n.webhook != nil {
		p.WebhookValidAt = n.validAt(*n.webhook, p.WebhookURL, p.WebhookValidAt)
		p.WebhookURL = *n.webhook
	}
	if n.redirect != nil {
		p.RedirectValidAt = n.validAt(*n.redirect, p.RedirectURL, p.RedirectValidAt)
		if *n.redirect != p.RedirectURL {
			p.RedirectEpoch++
		}
		p.RedirectURL = *n.redirect
	}
	return p
}

func (n urlUpdate) validAt(url, old string, oldAt time.Time) time.Time {
	switch {
	case url == "":
		return time.Time{}
	case url == old && n.checkedAt.IsZero():
		return oldAt
	}
	return n.checkedAt
}
