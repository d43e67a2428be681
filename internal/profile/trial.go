package profile

import (
	"context"
	"strings"
	"time"

	"claviger/internal/courier"
	"claviger/internal/fault"
	"claviger/internal/secret"
)

// TestLicense is the key of the license that the posts of a check are about.
const TestLicense = "00000000-0000-4000-8000-000000000000"

// acts are the events of a check.
var acts = []courier.Event{
	{Kind: "purchase", Status: "inactive", Reason: "purchased"},
	{Kind: "activate", Status: "active", Reason: "redeemed"},
	{Kind: "deactivate", Status: "deactivated", Reason: "refunded"},
}

// trial is the check of one webhook URL by posts. The ids of its events come from the
// clock: they are far above those of real events, rise from check to check, and
// still fit into 32 bits.
type trial struct {
	client      *courier.Client
	url         string
	signer      courier.Signer
	marketBrand string // the brand of partners that have none of their own
	secrets     courier.Secrets
	strict      bool
	newSecrets  bool
	now         func() time.Time
	start       time.Time
	posts       int   // that were made
	owner       int64 // 0: a partner that is not created yet
	tell        func(step Check, answered bool)
}

func (b *Book) newTrial(url string, p checkedPartner) *trial {
	var marketBrand string
	if b.Partners != nil {
		marketBrand = b.Partners.Brand
	}
	return &trial{
		marketBrand: marketBrand, client: b.Check.Client, url: url, strict: p.Strict, newSecrets: p.newSecrets, owner: p.ID, now: b.Now, start: b.Now(),
		signer:  courier.Signer{Brand: p.Brand, UserAgent: b.Check.Client.UserAgent()},
		secrets: courier.NewSecrets(p.secrets...), tell: p.tell,
	}
}

// result is one step with the answer that decides it.
type result struct {
	Check
	answer   courier.Answer
	answered bool
}

// run sends the posts that a webhook URL must accept. If it accepts one, a post
// follows that it must refuse; if it accepts none, posts that find out why.
func (t *trial) run(ctx context.Context) []Check {
	var results []*result
	accepted := 0
	for _, act := range acts {
		r := t.try(ctx, "POST "+webhookField+": "+act.Kind, act, nil)
		results = append(results, r)
		if !r.answered {
			break // The others would take as long and show nothing new.
		}
		if r.OK {
			accepted++
		}
	}
	switch {
	case accepted > 0:
		results = append(results, t.wrong(ctx)...)
	case refusesSignature(results):
		results = t.diagnose(ctx, results)
	}
	checks := make([]Check, len(results))
	for i, r := range results {
		checks[i] = r.Check
	}
	return checks
}

// try makes one post about a new event. sign, if there is one, makes its
// signatures instead of the right ones.
func (t *trial) try(ctx context.Context, step string, act courier.Event, sign func(*courier.Forgery)) *result {
	return t.post(ctx, step, t.event(act), sign)
}

func (t *trial) post(ctx context.Context, step string, e courier.Event, sign func(*courier.Forgery)) *result {
	at, body := t.now(), courier.Body(e)
	header := t.signer.Headers(e.EventID, 1, at, t.secrets, body)
	texts := courier.Texts(e.EventID, at, body)
	if sign != nil {
		f := courier.NewForgery(e.EventID, at, t.secrets, body)
		sign(f)
		texts = t.signer.Forge(header, f)
	}
	request := courier.Request{Method: "POST", URL: t.url, Header: header, Body: body, Owner: t.owner}
	r := &result{Check: Check{
		URL: t.url, Step: step, Sent: t.client.Text(request),
		Signed: []fault.Signature{
			{Header: t.signer.SignatureHeader(), Text: texts.Brand},
			{Header: courier.HeaderSignature, Text: texts.Standard},
		},
	}}
	t.tell(r.Check, false)
	defer func() { t.tell(r.Check, true) }()
	var err error
	if r.answer, err = t.client.Send(ctx, request); err != nil {
		r.Text, r.Likely = noAnswer(ctx, err)
		return r
	}
	r.answered, r.Answer = true, r.answer.Text(maxShown)
	if r.OK, r.Text = courier.Delivered(r.answer.Status, r.answer.Body, t.strict); r.OK {
		r.Text = "it was delivered"
	}
	r.Likely = t.signer.Likely(r.answer, t.strict)
	r.Warning = r.OK && len(r.Likely) > 0
	return r
}

// event is the next event to post.
func (t *trial) event(act courier.Event) courier.Event {
	act.LicenseKey, act.Test, act.Sentence, act.Tier = TestLicense, true, courier.TestSentence, 1
	act.PlanName = courier.TestPlan
	act.EventID = t.start.Unix() + int64(t.posts)
	act.At = t.start.Add(time.Duration(t.posts) * time.Millisecond)
	act.CreatedAt = act.At
	t.posts++
	return act
}

// wrong sends the post that must be refused: only its signatures are wrong, made by
// another secret. It is a deactivate: a server that accepts it locks somebody out and
// discloses nothing. A refusal may have another reason, so the same post follows with
// its right signature, which must be accepted.
func (t *trial) wrong(ctx context.Context) []*result {
	e := t.event(acts[2])
	r := t.post(ctx, "POST "+webhookField+": deactivate with a wrong signature", e, func(f *courier.Forgery) {
		f.BrandKey, f.Key = []byte(secret.MakeWebhook()), []byte(secret.MakeWebhook())
	})
	switch {
	case !r.answered:
		r.Warning = true
		return []*result{r}
	case r.OK:
		r.OK, r.Warning, r.Text = false, true, "it accepted a post whose signature is wrong"
		r.Likely = append([]string{"Anybody who knows the URL could send you events: verify the signature, and answer 401 when it is wrong."}, r.Likely...)
		return []*result{r}
	}
	same := t.post(ctx, "POST "+webhookField+": the same deactivate with its right signature", e, nil)
	if same.OK {
		r.OK, r.Text, r.Likely = true, "it was refused, as it must be: "+r.Text, nil
		if r.answer.Status >= 500 {
			r.Warning, r.Likely = true, []string{"Refuse a wrong signature with 401: as it is, your server fails over it."}
		}
		return []*result{r, same}
	}
	const unproven = "it was refused, which proves nothing: the same post with its right signature was refused too; "
	if s := r.answer.Status; s == same.answer.Status && s >= 400 && s < 500 {
		r.Text = unproven + "both got " + strings.TrimPrefix(r.Text, "it answered ")
	} else {
		r.Text = unproven + r.Text + " here, and there: " + same.Text
	}
	r.Warning, same.Warning = true, true
	r.Likely = append([]string{"Your server refuses this post for another reason than its signature. It must accept a deactivate of any license, also if it is deactivated already."}, same.Likely...)
	return []*result{r, same}
}
