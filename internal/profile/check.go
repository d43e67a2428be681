package profile

import (
	"context"
	"errors"
	"fmt"
	neturl "net/url"
	"strings"
	"time"

	"claviger/internal/courier"
	"claviger/internal/fault"
	"claviger/internal/partner"
	"claviger/internal/secret"
	"claviger/internal/validate"
)

// The names of the URLs in requests.
const (
	webhookField  = "webhook_url"
	redirectField = "redirect_url"
)

// CheckTimeout bounds the whole check of a profile's URLs.
const CheckTimeout = 30 * time.Second

// errBound is the cause of a check that took too long.
var errBound = errors.New("the whole check took longer than " + CheckTimeout.String())

// maxShown is how many bytes of an answer's headers, and of its body, a transcript
// shows.
const maxShown = 2 << 10

// Checker calls URLs to see whether they work. Client also says whether http and
// private addresses are acceptable.
type Checker struct {
	Client *courier.Client
	Often  bool // no limit on how often a partner's URLs are checked; still one check at a time
}

// Check is one step of the transcript of a check: what was sent, what was answered
// and what that means.
type Check = fault.Check

// urlUpdate is what is new about a profile, read and, if asked for, checked.
type urlUpdate struct {
	webhook, redirect *string
	connection        Connection
	checkedAt         time.Time // zero: they were not checked
}

// checkedPartner is the partner whose URLs are checked, as far as the check knows it.
type checkedPartner struct {
	partner.Partner
	secrets    []string
	newSecrets bool // the secrets are so new that the partner cannot have them

	// progress is told of each step when it begins, and again when it was answered; nil:
	// nobody looks. The transcript may judge the steps otherwise when it is whole.
	progress func(step Check, answered bool)
}

// tell reports a step.
func (p checkedPartner) tell(step Check, answered bool) {
	if p.progress == nil {
		return
	}
	if !answered {
		step.Warning, step.Text = true, "it was sent, and its answer is awaited"
	}
	p.progress(step, answered)
}

// checkedPartner reads what the check of a partner's URLs needs. No server is called
// for a partner that does not exist.
func (b *Book) checkedPartner(ctx context.Context, id int64) (p checkedPartner, err error) {
	if p.Partner, err = b.Partners.Get(ctx, id); err != nil {
		return p, err
	}
	p.secrets, err = b.Partners.WebhookSecrets(ctx, id)
	return p, err
}

// after is the party as a change will leave it.
func (p checkedPartner) after(c partner.Change) checkedPartner {
	if c.Brand != nil {
		p.Brand = *c.Brand
	}
	if c.Strict != nil {
		p.Strict = *c.Strict
	}
	return p
}

// newPartner is a partner that is yet to be made, with the secret that it will
// have: the check signs with it.
func newPartner(d partner.Draft, given partner.Credentials) (checkedPartner, partner.Credentials) {
	p := checkedPartner{Partner: partner.Partner{Brand: d.Brand, Strict: d.Strict}}
	own := &given.WebhookSecret
	if d.SingleKey {
		own = &given.APIKey
	}
	switch {
	case *own != "":
	case d.SingleKey:
		*own, p.newSecrets = secret.Make(string(secret.APIKey)), true
	default:
		*own, p.newSecrets = secret.MakeWebhook(), true
	}
	p.secrets = []string{*own}
	return p, given
}

// read checks the form of a change.
func (b *Book) read(c URLChange) (n urlUpdate, err error) {
	if n.webhook, err = b.Check.read(webhookField, c.Webhook); err != nil {
		return n, err
	}
	if n.redirect, err = b.Check.read(redirectField, c.Redirect); err != nil {
		return n, err
	}
	n.connection, err = b.Check.readConnection(c.Connection)
	return n, err
}

// read checks the form of a URL. An empty one unsets it and is none to check.
func (c Checker) read(name string, value *string) (*string, error) {
	if value == nil || *value == "" {
		return value, nil
	}
	read, err := validate.URL(name, *value, c.Client.AllowsPrivate())
	return &read, err
}

// check calls the URLs that are set and returns the transcript; all of them have to
// pass. It runs before the transaction, since partners' servers may be slow.
func (b *Book) check(ctx context.Context, n *urlUpdate, p checkedPartner) ([]Check, error) {
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

// try is check without its limits.
func (b *Book) try(ctx context.Context, n *urlUpdate, p checkedPartner) ([]Check, error) {
	bounded, cancel := context.WithTimeoutCause(ctx, CheckTimeout, errBound)
	defer cancel()
	transcript := b.transcript(bounded, *n, p)
	if ctx.Err() != nil {
		return nil, fmt.Errorf("check a partner's URLs: %w", context.Cause(ctx)) // The client has left.
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

// transcript checks both URLs at the same time, so that a slow one does not use up
// the time of the other.
func (b *Book) transcript(ctx context.Context, n urlUpdate, p checkedPartner) []Check {
	redirect := make(chan []Check, 1)
	go func() {
		if n.redirect == nil || *n.redirect == "" {
			redirect <- nil
			return
		}
		redirect <- []Check{b.Check.redirect(ctx, *n.redirect, p)}
	}()
	var webhook []Check
	if n.webhook != nil && *n.webhook != "" {
		webhook = b.newTrial(*n.webhook, p).run(ctx)
	}
	return append(<-redirect, webhook...)
}

// refusal is the fault for a URL whose step failed; saved says that the partner has
// a saved URL.
func refusal(c Check, transcript []Check, saved bool) *fault.Error {
	name, why := webhookField, c.Text
	if c.Step == redirectStep {
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
	f := fault.New(fault.Unprocessable, codeURLCheckFailed, "%s did not pass its check: %s %s", name, why, next).On(name)
	f.Checks = transcript
	return f
}

const redirectStep = "GET " + redirectField

// redirect calls the redirect URL as it is saved: it must answer 200.
func (c Checker) redirect(ctx context.Context, url string, p checkedPartner) (check Check) {
	r := courier.Request{Method: "GET", URL: url}
	check = Check{URL: url, Step: redirectStep, Sent: c.Client.Text(r)}
	p.tell(check, false)
	defer func() { p.tell(check, true) }()
	a, err := c.Client.Send(ctx, r)
	if err != nil {
		check.Text, check.Likely = noAnswer(ctx, err)
		return check
	}
	check.Answer = a.Text(maxShown)
	const bare = "Buyers come to this URL with a code behind it. A bare GET, without a code, must be answered 200 too: show a page that says what is missing"
	switch {
	case a.Status >= 300 && a.Status < 400:
		check.Text = fmt.Sprintf("it answered %d, a redirect, to a bare GET and must answer 200", a.Status)
		check.Likely = []string{bare + ", instead of redirecting."}
		if sameHandler(url, a.Header.Get("Location")) {
			check.Likely = courier.Moved(a)
		}
	case a.Status != 200:
		check.Text = fmt.Sprintf("it answered %d to a bare GET and must answer 200", a.Status)
		check.Likely = []string{bare + "."}
	default:
		check.OK, check.Text = true, "it answered 200"
	}
	return check
}

// sameHandler reports whether a redirect only changes how a URL is written: a slash
// at the end, the scheme, or www.
func sameHandler(from, to string) bool {
	base, err := neturl.Parse(from)
	if err != nil || to == "" {
		return false
	}
	target, err := base.Parse(to)
	if err != nil {
		return false
	}
	plain := func(u *neturl.URL) string {
		return strings.TrimPrefix(strings.ToLower(u.Hostname()), "www.") + "/" + strings.Trim(u.EscapedPath(), "/") + "?" + u.RawQuery
	}
	return plain(base) == plain(target)
}

// noAnswer explains why there was no HTTP answer, and what to do about it.
func noAnswer(ctx context.Context, err error) (text string, likely []string) {
	if errors.Is(context.Cause(ctx), errBound) {
		return errBound.Error() + " and was ended", []string{"Answer as soon as the event is stored, and do the work afterwards."}
	}
	if remedy := courier.Remedy(err); remedy != "" {
		likely = []string{remedy}
	}
	return courier.Explain(err), likely
}

// on is the profile with the new URLs. A URL that stays the same keeps its time of
// validation, unless it was checked again.
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
