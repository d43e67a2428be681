package diagnose

import (
	"context"
	"fmt"
	"net/url"
	"strings"
	"time"

	"claviger/internal/courier"
	"claviger/internal/secret"
)

// TestLicense is the license key in the posts of a check.
const TestLicense = "00000000-0000-4000-8000-000000000000"

// The titles of steps name the member of the request that has the URL.
const (
	RedirectStep = "GET redirect_url"
	webhookStep  = "POST webhook_url: "
)

// acts are the events of a check.
var acts = []courier.Event{
	{Kind: "purchase", Status: "inactive", Reason: "purchased"},
	{Kind: "activate", Status: "active", Reason: "redeemed"},
	{Kind: "deactivate", Status: "deactivated", Reason: "refunded"},
}

// trial is the check of one webhook URL by posts. The ids of its events come from the clock: they
// are far above those of real events, rise from check to check, and still fit into 32 bits.
type trial struct {
	*Runner
	start   time.Time
	events  int // number of events made
	results []*Result
}

// CheckWebhook sends the posts that a webhook URL must accept. If it accepts one, a post follows
// that it must refuse. If it refuses all as wrongly signed, posts follow that find the mistake.
func (r *Runner) CheckWebhook(ctx context.Context) []*Result {
	t := &trial{Runner: r, start: r.Now()}
	accepted := 0
	for _, act := range acts {
		r := t.post(ctx, Result{Title: act.Kind}, t.event(act), nil)
		if r.Answer == "" {
			break // the others would take as long and show nothing new
		}
		if r.Delivered {
			accepted++
		}
	}
	switch {
	case accepted > 0:
		t.wrong(ctx)
	case refusesSignature(t.results):
		t.find(ctx)
	}
	return t.results
}

// post runs a step that posts an event. forge, if not nil, changes its signatures.
func (t *trial) post(ctx context.Context, result Result, e courier.Event, forge func(*Forgery)) *Result {
	result.Title = webhookStep + result.Title
	r, _ := t.Step(ctx, result, func(ctx context.Context, result *Result) error {
		t.Post(ctx, result, Post{ID: e.EventID, Attempt: 1, Body: courier.Body(e), Forge: forge})
		return nil
	})
	t.results = append(t.results, r)
	return r
}

// try runs a step that looks for the mistake of an endpoint.
func (t *trial) try(ctx context.Context, title string, forge func(*Forgery)) *Result {
	r := t.post(ctx, Result{Title: "purchase " + title + ", to find the mistake", Extra: true}, t.event(acts[0]), forge)
	r.Verdict = Fail
	r.Do = nil // this is not the refused post
	return r
}

// event returns the next event to post.
func (t *trial) event(act courier.Event) courier.Event {
	act.LicenseKey = TestLicense
	act.Test = true
	act.Sentence = TestSentence
	act.Tier = 1
	act.PlanName = TestPlan
	act.EventID = t.start.Unix() + int64(t.events)
	act.At = t.start.Add(time.Duration(t.events) * time.Millisecond)
	act.CreatedAt = act.At
	t.events++
	return act
}

// wrong sends a post that must be refused: only its signatures are wrong, made by another secret.
// It is a deactivate: a server that accepts it locks a user out and discloses nothing. A refusal
// may have another reason, so the same post follows with the right signature, which must be
// accepted.
func (t *trial) wrong(ctx context.Context) {
	e := t.event(acts[2])
	r := t.post(ctx, Result{Title: "deactivate with a wrong signature", Extra: true}, e, Stranger)
	switch {
	case r.Answer == "":
		return
	case r.Delivered:
		r.Verdict = Fail
		r.Text = "it accepted a post whose signature is wrong"
		r.Do = append(
			[]string{
				"Anybody who knows the URL could send you events: verify the signature, and answer 401 when it is " +
					"wrong.",
			},
			r.Do...)
		return
	}
	same := t.post(ctx, Result{Title: "the same deactivate with its right signature", Extra: true}, e, nil)
	if same.Delivered {
		r.Verdict = Pass
		r.Text = "it was refused, as it must be: " + r.Text
		r.Do = nil
		if r.Reply.Status >= 500 {
			r.Verdict = Warn
			r.Do = []string{"Refuse a wrong signature with 401: as it is, your server fails over it."}
		}
		return
	}
	const unproven = "it was refused, which proves nothing: the same post with its right signature was refused too; "
	if s := r.Reply.Status; s == same.Reply.Status && s >= 400 && s < 500 {
		r.Text = unproven + "both got " + strings.TrimPrefix(r.Text, "it answered ")
	} else {
		r.Text = unproven + r.Text + " here, and there: " + same.Text
	}
	r.Do = append(
		[]string{
			"Your server refuses this post for another reason than its signature. It must accept a deactivate of " +
				"any license, also if it is deactivated already.",
		},
		same.Do...)
}

// Stranger signs with the secret of another partner.
func Stranger(f *Forgery) {
	f.BrandKey = []byte(secret.MakeWebhook())
	f.Key = []byte(secret.MakeWebhook())
}

// CheckRedirect calls the redirect URL without a code: it must answer 200.
func (r *Runner) CheckRedirect(ctx context.Context) []*Result {
	result, _ := r.Step(ctx, Result{Title: RedirectStep}, func(ctx context.Context, result *Result) error {
		r.Get(ctx, result, r.Target.Redirect)
		if result.Answer != "" {
			judgeRedirect(result, r.Target.Redirect)
		}
		return nil
	})
	return []*Result{result}
}

func judgeRedirect(result *Result, from string) {
	const bare = "Buyers come to this URL with a code behind it. A bare GET, without a code, must be answered 200 " +
		"too: show a page that says what is missing"
	result.Verdict = Fail
	switch status := result.Reply.Status; {
	case status >= 300 && status < 400:
		result.Text = fmt.Sprintf("it answered %d, a redirect, to a bare GET and must answer 200", status)
		result.Do = []string{bare + ", instead of redirecting."}
		if sameHandler(from, result.Reply.Header.Get("Location")) {
			result.Do = Moved(result.Reply)
		}
	case status != 200:
		result.Text = fmt.Sprintf("it answered %d to a bare GET and must answer 200", status)
		result.Do = []string{bare + "."}
	default:
		result.Verdict = Pass
		result.Text = "it answered 200"
		result.Do = nil
	}
}

// sameHandler reports whether a redirect only changes the form of a URL: a trailing slash, the
// scheme, or www.
func sameHandler(from, to string) bool {
	base, err := url.Parse(from)
	if err != nil || to == "" {
		return false
	}
	target, err := base.Parse(to)
	if err != nil {
		return false
	}
	plain := func(u *url.URL) string {
		host := strings.TrimPrefix(strings.ToLower(u.Hostname()), "www.")
		return host + "/" + strings.Trim(u.EscapedPath(), "/") + "?" + u.RawQuery
	}
	return plain(base) == plain(target)
}
