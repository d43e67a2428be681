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

// changed is an event of Stripe with a part of its text replaced, which must be there.
func (h *harness) changed(body []byte, old, now string) []byte {
	h.Helper()
	if !bytes.Contains(body, []byte(old)) {
		h.Fatalf("the event has no %s: %s", old, body)
	}
	return bytes.ReplaceAll(body, []byte(old), []byte(now))
}

// An event in another version may have members of other types: only its id is read, the
// sale waits for the job, and the log says what to do.
func TestEventInAnotherVersion(t *testing.T) {
	h := newHarness(t)
	c := h.begin(h.order())
	h.stripe.Pay(c.SessionID)
	e := h.stripe.Events()[0]
	body := h.changed(h.changed(e.Body, stripe.APIVersion, "2031-01-01.another"), `"amount_total":5900`, `"amount_total":"59.00 USD"`)
	if err := h.book.Receive(t.Context(), body, h.stripe.Sign(body)); err != nil {
		t.Fatal(err)
	}
	h.want("before the job", c, payment.Open, 0, false)
	if !strings.Contains(h.log.String(), "claviger stripe setup") {
		t.Errorf("the log does not say what to do: %s", h.log.String())
	}
	h.work()
	h.want("after the job", c, payment.Sold, event.Inactive, false)
}

// An event of the other mode is of test money where real money is taken, or the reverse.
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
		"of another body":    {h.stripe.Sign([]byte(`{}`)), "stripe-webhook-secret"},
		"with half a header": {"t=one", "Stripe-Signature"},
	} {
		err := h.book.Receive(t.Context(), body, try.header)
		if code(err) != "invalid_signature" || !strings.Contains(err.Error(), try.says) {
			t.Errorf("%s: %v (%s)", name, err, code(err))
		}
	}
	h.want("forged", c, payment.Open, 0, false)
	if err := h.book.Receive(t.Context(), body, sign("whsec_old", time.Now())); err != nil {
		t.Errorf("the secret that is being replaced: %v", err)
	}
	h.want("signed", c, payment.Sold, event.Inactive, false)
}

// What the provider lists is looked up unless it came by itself: a session that was sold is
// not asked for again, and one that nobody told of is.
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
