package payment_test

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/stripe/stripe-go/v85"
	"github.com/stripe/stripe-go/v85/webhook"

	"claviger/internal/event"
	"claviger/internal/payment"
)

// changed returns an event of Stripe with a part of its text replaced. The part must exist.
func (h *harness) changed(body []byte, old, now string) []byte {
	h.Helper()
	if !bytes.Contains(body, []byte(old)) {
		h.Fatalf("the event has no %s: %s", old, body)
	}
	return bytes.ReplaceAll(body, []byte(old), []byte(now))
}

// TestEventInAnotherVersion: an event in another version may have members of other types. Only its
// id is read, the job makes the sale, and the log says how to fix it.
func TestEventInAnotherVersion(t *testing.T) {
	h := newHarness(t)
	c := h.begin(h.order())
	h.stripe.Pay(c.SessionID)
	e := h.stripe.Events()[0]
	body := h.changed(h.changed(e.Body, stripe.APIVersion, "2031-01-01.another"), `"amount_total":5900`, `"amount_total":"59.00 USD"`)
	body = h.changed(body, `"payment_intent":"`+h.stripe.Objects("pi")[0].Text("id")+`"`, `"payment_intent":["pi"]`)
	if err := h.book.Receive(t.Context(), body, h.stripe.Sign(body)); err != nil {
		t.Fatal(err)
	}
	h.want("before the job", c, payment.Open, 0, false)
	empty := h.changed(body, `"id":"`+c.SessionID+`"`, `"id":""`)
	if err := h.book.Receive(t.Context(), empty, h.stripe.Sign(empty)); err != nil {
		t.Fatal(err)
	}
	if h.count(`SELECT count(*) FROM payment_lookups WHERE object_id = $1`, c.SessionID) != 1 || h.count(`SELECT count(*) FROM payment_lookups`) != 1 {
		t.Error("its object, and no other, is not to be looked up")
	}
	if !strings.Contains(h.log.String(), "claviger stripe setup") {
		t.Errorf("the log does not say what to do: %s", h.log.String())
	}
	h.work()
	h.want("after the job", c, payment.Sold, event.Inactive, false)
}

// TestEventOfTheOtherMode: an event about test money arrives in live mode, or the reverse.
func TestEventOfTheOtherMode(t *testing.T) {
	h := newHarness(t)
	c := h.begin(h.order())
	h.stripe.Pay(c.SessionID)
	body := h.changed(h.stripe.Events()[0].Body, `"livemode":false`, `"livemode":true`)
	if err := h.book.Receive(t.Context(), body, h.stripe.Sign(body)); err != nil {
		t.Fatal(err)
	}
	h.want("other mode", c, payment.Open, 0, false)
}

func TestForgedEvents(t *testing.T) {
	h := newHarness(t)
	c := h.begin(h.order())
	h.stripe.Pay(c.SessionID)
	body := h.stripe.Events()[0].Body
	sign := func(key string, at time.Time) string {
		return webhook.GenerateTestSignedPayload(&webhook.UnsignedPayload{Payload: body, Secret: key, Timestamp: at}).Header
	}
	for name, try := range map[string]struct {
		header string
		says   string
	}{
		"not signed":         {"", "Stripe-Signature"},
		"by another secret":  {sign("whsec_other", time.Now()), "stripe-webhook-secret"},
		"with nothing":       {sign("", time.Now()), "stripe-webhook-secret"},
		"old":                {sign(webhookSecret, time.Now().Add(-6*time.Minute)), "five minutes old"},
		"from the future":    {sign(webhookSecret, time.Now().Add(6*time.Minute)), "five minutes ahead"},
		"of another body":    {h.stripe.Sign([]byte(`{}`)), "stripe-webhook-secret"},
		"with half a header": {"t=one", "Stripe-Signature"},
	} {
		err := h.book.Receive(t.Context(), body, try.header)
		if code(err) != "invalid_signature" || !strings.Contains(err.Error(), try.says) {
			t.Errorf("%s: %v (%s)", name, err, code(err))
		}
	}
	h.want("forged", c, payment.Open, 0, false)
	// Clocks differ, and the secret may be the old one during a rotation.
	if err := h.book.Receive(t.Context(), body, sign("whsec_old", time.Now().Add(4*time.Minute))); err != nil {
		t.Errorf("the secret that is being replaced: %v", err)
	}
	h.want("signed", c, payment.Sold, event.Inactive, false)
}

// TestUnreadableEvents: a signed event that cannot be decoded is refused and logged once. An event
// of an unneeded kind may have any members.
func TestUnreadableEvents(t *testing.T) {
	h := newHarness(t)
	c := h.begin(h.order())
	h.stripe.Pay(c.SessionID)
	body := h.stripe.Events()[0].Body
	intent := `"payment_intent":"` + h.stripe.Objects("pi")[0].Text("id") + `"`
	for name, try := range map[string]struct {
		body []byte
		code string
	}{
		"no JSON":           {body[:len(body)-1], "invalid_event"},
		"nothing":           {nil, "invalid_event"},
		"a list":            {[]byte(`[]`), "invalid_event"},
		"empty":             {[]byte(`{}`), "invalid_event"},
		"a number":          {h.changed(body, `"amount_total":5900`, `"amount_total":"5900"`), "invalid_event"},
		"a half":            {h.changed(body, `"amount_total":5900`, `"amount_total":5900.5`), "invalid_event"},
		"a payment":         {h.changed(body, intent, `"payment_intent":7`), "invalid_event"},
		"part of a payment": {h.changed(body, intent, `"payment_intent":{"id":7}`), "invalid_event"},
		"a type":            {h.changed(body, `"type":"checkout.session.completed"`, `"type":1`), "invalid_event"},
		"no type":           {h.changed(body, `"type":"checkout.session.completed"`, `"also":1`), "invalid_event"},
		"no id":             {h.changed(body, `"id":"`+c.SessionID+`",`, ``), "invalid_event"},
		"not needed":        {h.changed(h.changed(body, `"type":"checkout.session.completed"`, `"type":"plan.created"`), `"amount_total":5900`, `"amount_total":{}`), "<nil>"},
	} {
		h.log.Reset()
		err := h.book.Receive(t.Context(), try.body, h.stripe.Sign(try.body))
		if code(err) != try.code {
			t.Errorf("%s: %v", name, err)
		}
		if logged := strings.Count(h.log.String(), "\n"); logged > 1 || err != nil && logged != 1 {
			t.Errorf("%s: logged %d lines\n%s", name, logged, h.log.String())
		}
	}
	h.want("unreadable", c, payment.Open, 0, false)
}

// TestListedEvents: listed events are looked up unless they were delivered. A sold session is not
// retrieved again; one without an event is.
func TestListedEvents(t *testing.T) {
	h := newHarness(t)
	c := h.begin(h.order())
	h.stripe.Pay(c.SessionID)
	h.deliver(h.stripe.Events()...)
	h.ahead = 2 * time.Hour
	h.work()
	if n := h.count(`SELECT count(*) FROM payment_events`); n != 0 {
		t.Errorf("%d events of a sold session were looked up", n)
	}
	h.stripe.RefundAll(c.SessionID)
	h.ahead = 4 * time.Hour
	h.work()
	h.want("refunded", c, payment.Sold, event.Deactivated, false)
}
