package payment_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"claviger/internal/fault"
	"claviger/internal/partner"
	"claviger/internal/payment"
)

// TestNotSoldHere: an order that cannot be paid leaves no checkout.
func TestNotSoldHere(t *testing.T) {
	h := newHarness(t)
	o := h.order()
	o.Currency = "UGX"
	if c, err := h.book.Begin(t.Context(), o); code(err) != "currency_not_sold" || c.ID != 0 {
		t.Errorf("%+v, %v", c, err)
	}
	o = h.order()
	o.PartnerID = 99
	if c, err := h.book.Begin(t.Context(), o); code(err) != partner.CodeUnknownPartner || c.ID != 0 {
		t.Errorf("a partner that is gone: %+v, %v", c, err)
	}
	h.book.Stripe = nil
	if c, err := h.book.Begin(t.Context(), h.order()); code(err) != "not_paid_here" || c.ID != 0 {
		t.Errorf("%+v, %v", c, err)
	}
	if err := h.book.Receive(t.Context(), []byte(`{}`), ""); code(err) != "not_paid_here" {
		t.Errorf("an event: %v", err)
	}
	if more, err := h.job.Once(t.Context()); more || err != nil {
		t.Errorf("the job: %t, %v", more, err)
	}
	if n := h.count(`SELECT count(*) FROM checkouts`); n != 0 || len(h.stripe.Calls) != 0 {
		t.Errorf("%d checkouts, calls %v", n, h.stripe.Calls)
	}
}

// TestRefusedBeginning: a checkout that Stripe refuses for good is closed, so the next Buy makes a
// new one. The buyer is told to come back, and the log has the reason.
func TestRefusedBeginning(t *testing.T) {
	for name, of := range map[string]struct {
		status int
		want   payment.State
	}{
		"for good": {http.StatusBadRequest, payment.Closed},
		"for now":  {http.StatusServiceUnavailable, payment.Open},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHarness(t)
			h.stripe.Refuse = func(string) int { return of.status }
			_, err := h.book.Begin(t.Context(), h.order())
			if f := fault.Of(err); f == nil || f.Code != payment.CodeUnavailable || f.After != time.Minute {
				t.Errorf("%v", err)
			}
			if n := h.count(`SELECT count(*) FROM checkouts WHERE state = $1`, int(of.want)); n != 1 {
				t.Errorf("%d checkouts are %s", n, of.want)
			}
			if !strings.Contains(h.log.String(), "could not be begun") || !strings.Contains(h.log.String(), "req_fake") {
				t.Errorf("logged %s", h.log.String())
			}
		})
	}
}

// TestCutOffAndBack: a checkout without a page gets one while enough time is left, and is replaced
// after that.
func TestCutOffAndBack(t *testing.T) {
	for name, of := range map[string]struct {
		after time.Duration
		same  bool
		order func(*payment.Order)
	}{
		"in time":          {4 * time.Minute, true, func(*payment.Order) {}},
		"late":             {4*time.Minute + time.Second, false, func(*payment.Order) {}},
		"another price":    {0, false, func(o *payment.Order) { o.Amount = 6900 }},
		"another currency": {0, false, func(o *payment.Order) { o.Currency = "EUR" }},
		"another name":     {0, false, func(o *payment.Order) { o.PlanName = "Pro" }},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHarness(t)
			h.stop()
			h.stripe.Broken = func() bool { return true }
			_, _ = h.book.Begin(t.Context(), h.order())
			h.stripe.Broken = nil
			first := h.count(`SELECT id FROM checkouts`)
			h.ahead = of.after
			o := h.order()
			of.order(&o)
			c := h.begin(o)
			if (c.ID == first) != of.same || c.SessionURL == "" || c.Amount != o.Amount || c.Currency != o.Currency || c.State != payment.Open {
				t.Errorf("the first is %d, got %+v", first, c)
			}
			closed := int64(1)
			if of.same {
				closed = 0
			}
			if n := h.count(`SELECT count(*) FROM checkouts WHERE state = $1 AND next_at = 0`, int(payment.Closed)); n != closed {
				t.Errorf("%d are closed", n)
			}
		})
	}
}

// TestAnotherOrder: a page for another price, currency or name is ended before a new one is made.
func TestAnotherOrder(t *testing.T) {
	for name, change := range map[string]func(*payment.Order){
		"price":    func(o *payment.Order) { o.Amount = 6900 },
		"currency": func(o *payment.Order) { o.Currency = "EUR" },
		"name":     func(o *payment.Order) { o.PlanName = "Pro" },
	} {
		t.Run(name, func(t *testing.T) {
			h := newHarness(t)
			first := h.begin(h.order())
			o := h.order()
			change(&o)
			second := h.begin(o)
			if second.ID == first.ID || h.checkout(first).State != payment.Closed || h.stripe.Objects("cs")[1]["status"] != "expired" {
				t.Errorf("the first is %+v, the second %+v", h.checkout(first), second)
			}
		})
	}
}

// TestEndingFails: a buyer who wants another price gets no new page while the first can still be
// paid. If the first was used, the buyer gets it back.
func TestEndingFails(t *testing.T) {
	h := newHarness(t)
	c := h.begin(h.order())
	o := h.order()
	o.Amount = 6900
	for _, status := range []int{http.StatusServiceUnavailable, http.StatusBadRequest} {
		h.log.Reset()
		h.stripe.Refuse = func(path string) int {
			return map[bool]int{true: status}[strings.HasSuffix(path, "/expire")]
		}
		if got, err := h.book.Begin(t.Context(), o); code(err) != payment.CodeUnavailable {
			t.Errorf("%d: %+v, %v", status, got, err)
		}
		if h.checkout(c).State != payment.Open || !strings.Contains(h.log.String(), "could not be ended") {
			t.Errorf("%d: the first is %+v, logged %s", status, h.checkout(c), h.log.String())
		}
	}
	if n := len(h.stripe.Objects("cs")); n != 1 {
		t.Errorf("%d pages can be paid", n)
	}
	h.stripe.Refuse = nil
	h.stripe.PayLater(c.SessionID)
	if got := h.begin(o); got.ID != c.ID || got.State != payment.Pending {
		t.Errorf("got %+v", got)
	}
}
