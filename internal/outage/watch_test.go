package outage_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"claviger/internal/mail"
	"claviger/internal/outage"
)

// TestTimeline follows an outage over days, in steps of a quarter of an hour, with two nodes
// running at the same time.
func TestTimeline(t *testing.T) {
	h := newHarness(t)
	acme := h.partner("Acme", "Ann", "Bob")
	healthy := h.partner("Healthy", "Hal")
	const day = 24 * time.Hour
	acts := map[time.Duration]func(){
		0:                   func() { h.fails(acme); h.works(healthy) },
		30 * time.Minute:    func() { h.fails(acme) },
		day:                 func() { h.contact(acme, "Carol") },
		2 * day:             func() { h.fails(acme) },
		3*day + 2*time.Hour: func() { h.note(outage.Notice{PartnerID: acme, At: h.now, Failed: true, Exhausted: 2, Cause: "x"}) },
		3*day + 3*time.Hour: func() { h.note(outage.Notice{PartnerID: acme, At: h.now, Failed: true, Exhausted: 5, Cause: "x"}) },
		5 * day: func() {
			h.contact(acme, "Dave") // after the last notice
			if err := h.book.DeleteContact(t.Context(), operator, acme, 2); err != nil {
				t.Fatal(err)
			}
			h.works(acme)
		},
		5*day + time.Hour: func() { h.works(acme) },
		6 * day: func() { // a short one
			h.fails(acme)
			h.now = h.now.Add(10 * time.Minute)
			h.works(acme)
		},
	}
	got := map[string][]string{}
	for step := time.Duration(0); step <= 8*day; step += 15 * time.Minute {
		h.now = noon.Add(step)
		if act := acts[step]; act != nil {
			act()
		}
		if news := h.round(); news != nil {
			got[h.now.Format("Jan 2 15:04")] = news
		}
	}
	h.equal("mails", map[string][]string{
		"Mar 4 12:15": {
			"bob: Acme: webhooks have been failing since 4 March, 12:00 UTC",
			"ann: Acme: webhooks have been failing since 4 March, 12:00 UTC",
		},
		"Mar 5 12:15": {
			"carol: Acme: webhooks have been failing for 1 day",
			"bob: Acme: webhooks have been failing for 1 day",
			"ann: Acme: webhooks have been failing for 1 day",
		},
		"Mar 6 12:15": {
			"carol: Acme: webhooks have been failing for 2 days",
			"bob: Acme: webhooks have been failing for 2 days",
			"ann: Acme: webhooks have been failing for 2 days",
		},
		"Mar 7 12:15": {
			"carol: Acme: webhooks have been failing for 3 days",
			"bob: Acme: webhooks have been failing for 3 days",
			"ann: Acme: webhooks have been failing for 3 days",
		},
		"Mar 7 14:00": {
			"carol: Acme: 2 webhook events were given up",
			"bob: Acme: 2 webhook events were given up",
			"ann: Acme: 2 webhook events were given up",
		},
		"Mar 8 12:15": { // the five later events are in the email of the day
			"carol: Acme: webhooks have been failing for 4 days",
			"bob: Acme: webhooks have been failing for 4 days",
			"ann: Acme: webhooks have been failing for 4 days",
		},
		"Mar 9 12:00": {
			"carol: Acme: webhooks are getting through again",
			"ann: Acme: webhooks are getting through again",
		},
	}, got)
	list := h.outages(acme)
	h.equal("the record", []outage.Outage{{
		ID: list[0].ID, PartnerID: acme, OpenedAt: noon, Cause: refused, NotifiedAt: noon.Add(4*day + 15*time.Minute), Notices: 5,
		Exhausted: 7, ClosedAt: noon.Add(5 * day),
	}}, list)
	threads := map[string]bool{}
	for _, m := range h.mails() {
		threads[m.Thread] = true
	}
	if n := len(h.mails()); len(threads) != 1 || h.wakes != n {
		t.Errorf("%d threads, want one for one outage; the sender was woken %d times for %d mails", len(threads), h.wakes, n)
	}
	if n := strings.Count(h.log.String(), "notified contacts of an outage"); n != 7 || strings.Contains(h.log.String(), "@") {
		t.Errorf("%d lines logged, want 7 and no address:\n%s", n, h.log.String())
	}
}

// TestSecondOutage: each outage has its own notices.
func TestSecondOutage(t *testing.T) {
	h := newHarness(t)
	acme := h.partner("Acme", "Ann")
	for i := range 2 {
		h.fails(acme)
		h.now = h.now.Add(20 * time.Minute)
		h.equal("notified", 1, len(h.round()))
		h.works(acme)
		h.equal("recovered", []string{"ann: Acme: webhooks are getting through again"}, h.round())
		h.equal("and no more", nil, h.round())
		h.equal("outages", i+1, len(h.outages(acme)))
	}
	list := h.mails()
	if list[0].Thread != list[1].Thread || list[2].Thread != list[3].Thread || list[0].Thread == list[2].Thread {
		t.Errorf("threads: %s %s %s %s", list[0].Thread, list[1].Thread, list[2].Thread, list[3].Thread)
	}
}

// TestNoContacts: no email is sent, but the outage is recorded. A contact added while it lasts is
// notified.
func TestNoContacts(t *testing.T) {
	h := newHarness(t)
	acme, quiet := h.partner("Acme"), h.partner("Quiet")
	h.note(outage.Notice{PartnerID: acme, At: noon, Failed: true, Cause: refused},
		outage.Notice{PartnerID: quiet, At: noon, Failed: true, Exhausted: 1, Cause: refused})
	h.now = noon.Add(time.Hour)
	h.equal("no contacts", nil, h.round())
	h.equal("again", nil, h.round())
	if n := strings.Count(h.log.String(), "no contacts to notify"); n != 4 {
		t.Errorf("%d lines logged, want one for each outage and node:\n%s", n, h.log.String())
	}
	h.works(quiet)
	h.equal("over", nil, h.round())
	h.equal("the record", []outage.Outage{
		{ID: 2, PartnerID: quiet, OpenedAt: noon, Cause: refused, Exhausted: 1, ClosedAt: h.now},
	}, h.outages(quiet))
	h.contact(acme, "Ann")
	h.equal("a contact", []string{"ann: Acme: webhooks have been failing since 4 March, 12:00 UTC"}, h.round())
	h.contact(quiet, "Quinn")
	h.equal("a contact soon after the end", []string{"quinn: Quiet: 1 webhook event was given up"}, h.round())
	h.equal("and no more", nil, h.round())
}

// TestNobodyWasNotified: a contact added in the days after events were given up without any
// contacts is notified of them, in few emails. Older events are omitted, and do not stop notices of
// later ones.
func TestNobodyWasNotified(t *testing.T) {
	h := newHarness(t)
	acme, late, once := h.partner("Acme"), h.partner("Late"), h.partner("Once")
	for _, id := range []int64{acme, late, once} {
		h.note(outage.Notice{PartnerID: id, At: h.now, Failed: true, Exhausted: 1, Cause: refused})
		h.works(id)
	}
	h.equal("no contacts", nil, h.round())
	for day := range 6 {
		h.now = noon.Add(time.Duration(day) * outage.Again)
		h.note(outage.Notice{PartnerID: acme, At: h.now, Exhausted: 1, Cause: refused}, outage.Notice{PartnerID: late, At: h.now, Exhausted: 1, Cause: refused})
		h.equal("nor later", nil, h.round())
	}
	if log := h.log.String(); strings.Contains(log, "notified contacts") || strings.Count(log, "no contacts to notify") != 10 {
		t.Errorf("want one warning for each of five outages and node, and nobody notified:\n%s", log)
	}
	h.now = noon.Add(outage.Stale - 1)
	h.contact(acme, "Ann")
	h.equal("within a week", []string{"ann: Acme: 5 webhook events were given up", "ann: Acme: 2 webhook events were given up"}, h.round())
	h.now = noon.Add(outage.Stale)
	h.equal("too late", nil, h.round())
	h.contact(late, "Lea")
	h.contact(once, "Oda")
	h.equal("but not for the last days", []string{"lea: Late: 2 webhook events were given up"}, h.round())
	h.note(outage.Notice{PartnerID: once, At: h.now, Exhausted: 3, Cause: refused})
	h.equal("the next events", []string{"oda: Once: 3 webhook events were given up"}, h.round())
}

// TestNewContactsOnly: a contact added after the last notice is not notified of the end of the
// outage, but of given-up events without a notice.
func TestNewContactsOnly(t *testing.T) {
	h := newHarness(t)
	acme, bare := h.partner("Acme"), h.partner("Bare")
	ann, ben := h.contact(acme, "Ann"), h.contact(bare, "Ben")
	h.fails(acme)
	h.fails(bare)
	h.now = noon.Add(time.Hour)
	h.equal("notified", 2, len(h.round()))
	for id, contact := range map[int64]int64{acme: ann, bare: ben} {
		if err := h.book.DeleteContact(t.Context(), operator, id, contact); err != nil {
			t.Fatal(err)
		}
	}
	h.now = noon.Add(2 * time.Hour)
	h.note(outage.Notice{PartnerID: acme, At: h.now, Failed: true, Exhausted: 1, Cause: refused})
	h.works(acme)
	h.works(bare)
	h.equal("no contacts", nil, h.round())
	h.contact(acme, "Carol")
	h.contact(bare, "Dan")
	h.equal("contacts", []string{"carol: Acme: 1 webhook event was given up"}, h.round())
	h.equal("and no more", nil, h.round())
	if n := strings.Count(h.log.String(), "notified contacts of an outage"); n != 3 {
		t.Errorf("%d lines say that contacts were notified, want one for each notice:\n%s", n, h.log.String())
	}
}

// TestPoison: events that a healthy partner refuses cause one email a day.
func TestPoison(t *testing.T) {
	h := newHarness(t)
	acme := h.partner("Acme", "Ann")
	poisoned := func(n int) {
		h.note(outage.Notice{PartnerID: acme, At: h.now, Exhausted: n, Cause: "The endpoint answered 422."})
	}
	var got []string
	for step := range 60 { // hours
		h.now = noon.Add(time.Duration(step) * time.Hour)
		if step < 30 {
			poisoned(1)
		}
		h.round()
		h.fails(acme) // it flaps, too
		h.round()
		h.works(acme)
		for _, m := range h.mails()[len(got):] {
			got = append(got, m.CreatedAt.Format("Jan 2 15:04 ")+m.Subject)
		}
	}
	h.equal("mails", []string{
		"Mar 4 12:00 Acme: 1 webhook event was given up",
		"Mar 5 12:00 Acme: 25 webhook events were given up",
		"Mar 6 12:00 Acme: 30 webhook events were given up",
	}, got)
	text := strings.Join(strings.Fields(h.mails()[0].Text), " ")
	if !strings.Contains(text, "Other webhooks get through") {
		t.Errorf("the text:\n%s", text)
	}
	h.now = noon.Add(96 * time.Hour)
	h.news()
	poisoned(1)
	h.equal("days later", []string{"ann: Acme: 1 webhook event was given up"}, h.round())
	if list := h.outages(acme); len(list) != 2 {
		t.Errorf("there are %d outages on record, want 2", len(list))
	}
}

// TestExhaustedInTheFirstMinutes: with a short schedule events are given up before the outage
// counts as one; everything else is as usual.
func TestExhaustedInTheFirstMinutes(t *testing.T) {
	h := newHarness(t)
	acme := h.partner("Acme", "Ann")
	h.note(outage.Notice{PartnerID: acme, At: h.now, Failed: true, Exhausted: 3, Cause: refused})
	h.equal("at once", []string{"ann: Acme: 3 webhook events were given up"}, h.round())
	if text := h.mails()[0].Text; !strings.Contains(text, "Webhooks are still failing") {
		t.Errorf("the text:\n%s", text)
	}
	h.counts[acme] = outage.Counts{}
	h.now = noon.Add(15 * time.Minute)
	h.equal("nothing waits, so no notice", nil, h.round())
	h.now = noon.Add(48 * time.Hour)
	h.equal("nor later", nil, h.round())
	h.note(outage.Notice{PartnerID: acme, At: h.now, Failed: true, Exhausted: 1, Cause: refused})
	h.equal("another one", []string{"ann: Acme: 4 webhook events were given up"}, h.round())
	h.counts[acme] = outage.Counts{Waiting: 1}
	h.equal("something waits", []string{"ann: Acme: webhooks have been failing since 4 March, 12:00 UTC"}, h.round())
	h.works(acme)
	h.equal("over", []string{"ann: Acme: webhooks are getting through again"}, h.round())
	if text := h.mails()[3].Text; !strings.Contains(strings.Join(strings.Fields(text), " "), "4 events were given up meanwhile") {
		t.Errorf("the text:\n%s", text)
	}
}

// TestOneFails: an error for one partner does not affect others, and is retried.
func TestOneFails(t *testing.T) {
	h := newHarness(t)
	bad, good := h.partner("Bad", "Ben"), h.partner("Good", "Gil")
	h.fails(bad)
	h.fails(good)
	h.now = noon.Add(time.Hour)
	broken := errors.New("the count is broken")
	h.fail[bad] = broken
	if _, err := h.nodes[0].Once(t.Context()); !errors.Is(err, broken) {
		t.Errorf("a round: %v, want %v", err, broken)
	}
	h.equal("mails", []string{"gil: Good: webhooks have been failing since 4 March, 12:00 UTC"}, h.news())
	delete(h.fail, bad)
	h.equal("later", []string{"ben: Bad: webhooks have been failing since 4 March, 12:00 UTC"}, h.round())
}

// TestManyOutages: more outages than are read at a time.
func TestManyOutages(t *testing.T) {
	h := newHarness(t)
	const partners = 105
	for range partners {
		h.fails(h.partner("Acme", "Ann"))
	}
	h.now = noon.Add(time.Hour)
	h.equal("mails", partners, len(h.round()))
	h.equal("and no more", 0, len(h.round()))
}

// TestBlips: an outage that ended before any notice leaves no row.
func TestBlips(t *testing.T) {
	h := newHarness(t)
	acme := h.partner("Acme", "Ann")
	for range 20 {
		h.fails(acme)
		h.now = h.now.Add(14 * time.Minute)
		h.works(acme)
		h.equal("mails", nil, h.round())
	}
	h.equal("outages", nil, h.outages(acme))
}

// TestRun: the job runs immediately, continues after a failed run, and ends with its context.
func TestRun(t *testing.T) {
	h := newHarness(t)
	acme := h.partner("Acme", "Ann")
	h.fails(acme)
	h.now = noon.Add(time.Hour)
	w := h.nodes[0]
	notified, calls := make(chan struct{}), 0
	w.Every, w.Mail.Wake = time.Millisecond, func() { close(notified) }
	w.Count = func(context.Context, int64) (outage.Counts, error) {
		if calls++; calls < 3 {
			return outage.Counts{}, errors.New("not yet")
		}
		return outage.Counts{Waiting: 1}, nil
	}
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		w.Run(ctx)
		close(done)
	}()
	<-notified
	stop()
	<-done
	h.equal("mails", 1, len(h.news()))
}

// TestUnknown: without counts, links or a schedule the email contains the known facts.
func TestUnknown(t *testing.T) {
	h := newHarness(t)
	acme := h.partner("Acme", "Ann")
	w := h.nodes[0]
	w.Count, w.Links, w.Mail.Wake, w.Lasts, w.Log = nil, outage.Links{}, nil, 0, nil
	h.nodes = h.nodes[:1]
	h.fails(acme)
	h.now = noon.Add(time.Hour)
	h.equal("mails", 1, len(h.round()))
	m := h.mails()[0]
	for _, part := range []string{"waiting:", "about", "Recorded attempts", "<a "} {
		if strings.Contains(m.Text+m.HTML, part) {
			t.Errorf("the mail has %q:\n%s\n%s", part, m.Text, m.HTML)
		}
	}
	if m.State != mail.Waiting || m.To != "ann@acme.example" {
		t.Errorf("the mail is %+v", m)
	}
}
