package outage

import (
	"fmt"
	"net/url"
	"strconv"
	"time"

	"claviger/internal/mail"
	"claviger/internal/plural"
	"claviger/internal/profile"
)

// facts contains the data of an email about an outage. It contains nothing about a buyer.
type facts struct {
	Counts
	known   bool // Counts is set
	failing bool // the partner cannot be reached now
	paused  bool // nothing is sent to it
	step    step
	outage  Outage
	now     time.Time
	service string
	partner string
	url     string
	lasts   time.Duration
	links   Links
}

// bare returns a URL without the parts that may be secret: user, query and fragment.
func bare(raw string) string {
	u, err := url.Parse(raw)
	if err != nil || u.Host == "" {
		return ""
	}
	return u.Scheme + "://" + u.Host + u.EscapedPath()
}

// message returns the email to one contact. Its cause is unique for the outage, the step and the
// number of the notice; its thread is the outage.
func (f facts) message(c profile.Contact) mail.Message {
	l := f.content()
	l.Hello = "Hello " + c.Name + ","
	text, html := l.Render()
	notice := int64(f.outage.Notices)
	if f.step == exhausted {
		notice = f.outage.exhaustedNotified
	}
	return mail.Message{
		Lasting: true,
		Cause:   fmt.Sprintf("outage:%d:%s:%d:contact:%d", f.outage.ID, f.step, notice, c.ID),
		Thread:  fmt.Sprintf("outage:%d:%d", f.outage.ID, f.outage.OpenedAt.UnixMicro()),
		To:      c.Email,
		Subject: l.Title, Text: text, HTML: html,
	}
}

// content returns the text of the email.
func (f facts) content() mail.Content {
	l := mail.Content{Facts: f.state(), Ask: "What you can do", Foot: f.foot()}
	switch f.step {
	case opened:
		l.Title = fmt.Sprintf("%s: webhooks have been failing since %s", f.partner, shortTime(f.outage.OpenedAt))
		l.Opening = []string{fmt.Sprintf("Since %s, every webhook that %s sent to %s has failed. Until they get "+
			"through, %s does not learn of purchases, activations and deactivations.",
			longTime(f.outage.OpenedAt), f.service, f.partner, f.partner), safe}
		l.Steps, l.Closing = f.repair(), []string{f.outlook()}
	case still:
		l.Title = fmt.Sprintf("%s: webhooks have been failing for %s", f.partner, span(f.now.Sub(f.outage.OpenedAt)))
		l.Opening = []string{fmt.Sprintf("Webhooks from %s to %s are still failing, for %s now. Until they get "+
			"through, %s does not learn of purchases, activations and deactivations.",
			f.service, f.partner, span(f.now.Sub(f.outage.OpenedAt)), f.partner), safe}
		l.Steps, l.Closing = f.repair(), []string{f.outlook()}
	case exhausted:
		l.Title = fmt.Sprintf(
			"%s: %s given up", f.partner,
			plural.Of(f.outage.Exhausted, "webhook event was", "webhook events were"),
		)
		l.Opening = []string{f.lost()}
		l.Steps = f.redeliver()
	case recovered:
		l.Title = fmt.Sprintf("%s: webhooks are getting through again", f.partner)
		l.Opening = []string{fmt.Sprintf("Webhooks from %s to %s have been getting through again since %s. The "+
			"outage lasted %s.",
			f.service, f.partner, longTime(f.outage.ClosedAt),
			span(f.outage.ClosedAt.Sub(f.outage.OpenedAt))), f.rest()}
		if f.outage.Exhausted > 0 {
			l.Steps = f.redeliver()
		}
	case wait, discard, finish: // have no email
	}
	l.Links = f.linkList()
	return l
}

// safe answers every reader's first question.
const safe = "We keep trying, and nothing is lost: events wait, and are delivered in order as soon as the endpoint " +
	"accepts them."

// state lists the facts.
func (f facts) state() []mail.Fact {
	var list []mail.Fact
	add := func(name, value string) { list = append(list, mail.Fact{Name: name, Value: value}) }
	if f.url != "" {
		add("Webhook URL", f.url)
	} else {
		add("Webhook URL", "none is saved")
	}
	if f.step == opened || f.step == still {
		add("Failing since", longTime(f.outage.OpenedAt)+" ("+span(f.now.Sub(f.outage.OpenedAt))+")")
	}
	if f.step == recovered {
		add("Outage began", longTime(f.outage.OpenedAt))
		add("Outage ended", longTime(f.outage.ClosedAt))
	}
	latest := oneLine(f.Latest)
	if latest == "" || latest == f.outage.Cause || f.step == recovered {
		add("What failed", f.outage.Cause)
	} else {
		add("First failure", f.outage.Cause)
		add("Latest failure", latest)
	}
	if f.known {
		waiting := strconv.FormatInt(f.Waiting, 10)
		if f.Waiting > 0 && !f.Oldest.IsZero() {
			waiting += ", the oldest since " + longTime(f.Oldest)
		}
		add("Events waiting", waiting)
	}
	if f.outage.Exhausted > 0 {
		add("Events given up", strconv.FormatInt(f.outage.Exhausted, 10))
	}
	if f.outage.Superseded > 0 {
		add(
			"Of these superseded",
			strconv.FormatInt(f.outage.Superseded, 10)+", since a newer event of the license was sent instead",
		)
	}
	return list
}

// repair lists steps to fix failing deliveries.
func (f facts) repair() []string {
	if f.url == "" {
		return []string{
			"Save a webhook URL in the profile. It is tested before it takes effect; waiting events are delivered " +
				"there.",
		}
	}
	return []string{
		"Check that the webhook URL answers a POST request from outside your network with a 2xx status within 10 " +
			"seconds.",
		"Look at the recorded attempts: each shows the request that we sent and the answer.",
		"If the endpoint has moved, save its new URL in the profile. It is tested before it takes effect; waiting " +
			"events are delivered there.",
	}
}

// outlook describes the next automatic steps.
func (f facts) outlook() string {
	text := "You do not need to restart anything: we retry automatically, at growing intervals."
	if f.Parked {
		text = "You do not need to restart anything: we try one event at intervals, and as soon as one gets " +
			"through, the others follow."
	}
	if f.lasts > 0 {
		text += " An event that has failed for about " + roughly(f.lasts) +
			" is given up; it stays on record and can be delivered again."
	}
	return text + " While this lasts we send one email a day, and one when webhooks get through again."
}

// lost describes events that were given up.
func (f facts) lost() string {
	n := f.outage.Exhausted
	if f.outage.Superseded == n {
		return f.replaced()
	}
	n -= f.outage.Superseded // the facts list those
	they := "They"
	them := "them"
	stay := "stay"
	if n == 1 {
		they = "It"
		them = "it"
		stay = "stays"
	}
	text := fmt.Sprintf("%s for %s failed on every attempt", plural.Of(n, "event", "events"), f.partner)
	if f.lasts > 0 {
		text += ", over about " + roughly(f.lasts)
	}
	text += fmt.Sprintf(", and we have stopped trying. %s %s on record and can be delivered again.", they, stay)
	if f.failing {
		return text + " Webhooks are still failing; all other events are stored and retried."
	}
	return text + fmt.Sprintf(
		" Other webhooks get through, so the reason is likely in how the endpoint handles %s.", them,
	)
}

// replaced describes events that were replaced by newer ones.
func (f facts) replaced() string {
	n := f.outage.Superseded
	them := "them"
	stay := "They stay"
	if n == 1 {
		them = "it"
		stay = "It stays"
	}
	return fmt.Sprintf("%s for %s held back newer ones: the endpoint refused an event of the license repeatedly, "+
		"while it accepted others. "+
		"We have stopped trying and sent the newest event of the license instead, which has its whole state. %s on "+
		"record and can be delivered again. "+
		"The reason is likely in how the endpoint handles %s.", plural.Of(n, "event", "events"), f.partner, stay, them)
}

// redeliver lists steps for given-up events.
func (f facts) redeliver() []string {
	return []string{
		"Look at the recorded attempts: they show which events were given up, and the answers.",
		"Fix the cause.",
		"Have those events delivered again. After an older event, the newest event of its license is sent too, so " +
			"that you end with the current state.",
	}
}

// rest describes the remaining events after a recovery.
func (f facts) rest() string {
	text := "Events that waited are being delivered, in order."
	switch {
	case f.known && f.Waiting == 0:
		text = "No event is waiting any more."
	case f.known:
		text = plural.Of(f.Waiting, "event is", "events are") + " still waiting and being delivered, in order."
	}
	if f.outage.Exhausted > 0 {
		return text + " " + plural.Of(
			f.outage.Exhausted, "event was", "events were",
		) + " given up meanwhile and can be delivered again."
	}
	return text + " No action needed."
}

// linkList lists the links of the email.
func (f facts) linkList() []mail.Link {
	var list []mail.Link
	add := func(name, url string) {
		if url != "" {
			list = append(list, mail.Link{Name: name, URL: url})
		}
	}
	add("Recorded attempts", f.links.Records)
	if f.outage.Exhausted > 0 {
		add("Deliver events again", f.links.Redeliver)
	}
	add("Profile, with webhook URL and contacts", f.links.Profile)
	return list
}

// foot explains the reason for the email.
func (f facts) foot() string {
	return fmt.Sprintf(
		"You get this email because you are a contact of %s at %s. You can change the contacts in the profile.",
		f.partner, f.service,
	)
}
