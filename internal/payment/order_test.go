package payment_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"pgregory.net/rapid"

	"claviger/internal/event"
	"claviger/internal/payment"
	"claviger/internal/payment/fakestripe"
)

// acts are the actions of people and banks at Stripe on one session.
var acts = map[string]func(s *fakestripe.Server, session string){
	"pay":               func(s *fakestripe.Server, id string) { s.Pay(id) },
	"pay later":         func(s *fakestripe.Server, id string) { s.PayLater(id) },
	"bank pays":         func(s *fakestripe.Server, id string) { s.Settle(id, true) },
	"bank refuses":      func(s *fakestripe.Server, id string) { s.Settle(id, false) },
	"expire":            func(s *fakestripe.Server, id string) { s.Expire(id) },
	"refund half":       func(s *fakestripe.Server, id string) { s.Refund(id, 2950, "succeeded") },
	"refund all":        func(s *fakestripe.Server, id string) { s.Refund(id, 5900, "succeeded") },
	"begin refund":      func(s *fakestripe.Server, id string) { s.Refund(id, 5900, "pending") },
	"refund succeeds":   func(s *fakestripe.Server, id string) { moveRefund(s, id, "pending", "succeeded") },
	"refund fails":      func(s *fakestripe.Server, id string) { moveRefund(s, id, "succeeded", "failed") },
	"dispute":           func(s *fakestripe.Server, id string) { s.Dispute(id, "needs_response") },
	"inquire":           func(s *fakestripe.Server, id string) { s.Dispute(id, "warning_needs_response") },
	"inquiry escalates": func(s *fakestripe.Server, id string) { moveDispute(s, id, "warning_needs_response", "needs_response") },
	"inquiry ends":      func(s *fakestripe.Server, id string) { moveDispute(s, id, "warning_needs_response", "warning_closed") },
	"answer":            func(s *fakestripe.Server, id string) { moveDispute(s, id, "needs_response", "under_review") },
	"win":               func(s *fakestripe.Server, id string) { moveDispute(s, id, "under_review", "won") },
	"lose":              func(s *fakestripe.Server, id string) { moveDispute(s, id, "needs_response", "lost") },
	"prevent":           func(s *fakestripe.Server, id string) { moveDispute(s, id, "needs_response", "prevented") },
	"win after all":     func(s *fakestripe.Server, id string) { moveDispute(s, id, "lost", "won") },
}

// histories are possible sequences of acts on a checkout.
var histories = []string{
	"pay", "expire", "pay later", "pay later, bank pays", "pay later, bank refuses", "pay later, bank refuses, bank pays",
	"pay, refund half", "pay, refund half, refund half", "pay, refund half, refund half, refund fails",
	"pay, refund all", "pay, refund all, refund fails", "pay, begin refund", "pay, begin refund, refund succeeds",
	"pay, begin refund, refund succeeds, refund fails", "pay, refund all, refund fails, refund all",
	"pay, dispute", "pay, dispute, answer, win", "pay, dispute, lose", "pay, dispute, prevent", "pay, dispute, lose, win after all",
	"pay, inquire", "pay, inquire, inquiry ends", "pay, inquire, inquiry escalates, lose", "pay, inquire, refund all",
	"pay, dispute, dispute, lose", "pay, dispute, answer, dispute, win", "pay, dispute, refund all, answer, win",
	"pay, refund all, dispute, lose, refund fails", "pay, refund all, dispute, lose, win after all",
	"pay, dispute, lose, refund all, win after all, refund fails", "pay later, dispute, bank pays, lose",
}

// of returns the objects of a kind that concern the payment of a session.
func of(s *fakestripe.Server, session, kind string) []fakestripe.Object {
	intent := ""
	for _, o := range s.Objects("cs") {
		if o.Text("id") == session {
			intent = o.Text("payment_intent")
		}
	}
	return slices.DeleteFunc(s.Objects(kind), func(o fakestripe.Object) bool { return o.Text("payment_intent") != intent })
}

func moveRefund(s *fakestripe.Server, session, from, to string) {
	for _, o := range of(s, session, "re") {
		if o["status"] == from {
			s.SetRefund(o.Text("id"), to)
			return
		}
	}
}

func moveDispute(s *fakestripe.Server, session, from, to string) {
	for _, o := range of(s, session, "dp") {
		if o["status"] == from {
			s.SetDispute(o.Text("id"), to)
			return
		}
	}
}

// truth returns the expected state of the license, given Stripe's final state.
func truth(s *fakestripe.Server, session string) (status event.Status, held bool) {
	for _, o := range s.Objects("cs") {
		if o.Text("id") == session && o["payment_status"] != "paid" {
			return 0, false
		}
	}
	var back int64
	refunded := false
	for _, o := range of(s, session, "re") {
		if o["status"] == "succeeded" {
			back += o["amount"].(int64)
		}
	}
	for _, o := range of(s, session, "dp") {
		refunded = refunded || o["status"] == "lost" || o["status"] == "prevented"
		held = held || o["status"] == "needs_response" || o["status"] == "under_review"
	}
	if refunded || back >= 5900 || held {
		return event.Deactivated, held
	}
	return event.Inactive, false
}

func intentStatus(s *fakestripe.Server, id string) string {
	for _, o := range s.Objects("pi") {
		if o.Text("id") == id {
			return o.Text("status")
		}
	}
	return ""
}

// orderTruth returns the expected state of the order, given Stripe's final state.
func orderTruth(s *fakestripe.Server, session string) payment.OrderState {
	for _, o := range s.Objects("cs") {
		switch {
		case o.Text("id") != session || o["payment_status"] == "paid":
		case o["status"] == "open":
			return payment.OrderBegun
		case o["status"] == "expired":
			return payment.OrderExpired
		case intentStatus(s, o.Text("payment_intent")) == "requires_payment_method":
			return payment.OrderFailed
		default:
			return payment.OrderPending
		}
	}
	_, held := truth(s, session)
	lost := slices.ContainsFunc(of(s, session, "dp"), func(o fakestripe.Object) bool {
		return o["status"] == "lost" || o["status"] == "prevented"
	})
	var back int64
	for _, o := range of(s, session, "re") {
		if o["status"] == "succeeded" {
			back += o["amount"].(int64)
		}
	}
	switch {
	case held:
		return payment.OrderDisputed
	case lost, back >= 5900:
		return payment.OrderRefunded
	case back > 0:
		return payment.OrderPartlyRefunded
	}
	return payment.OrderPaid
}

// TestAnyOrder: the license and the order end as Stripe says, whichever acts happen there. Events may come in
// any order, repeated, late, cut off or not at all.
func TestAnyOrder(t *testing.T) {
	h := newHarness(t)
	rapid.Check(t, func(t *rapid.T) {
		before := len(h.stripe.Events())
		o := h.order()
		o.PartnerID = h.newPartner()
		c := h.begin(o)
		history := rapid.SampledFrom(histories).Draw(t, "history")
		for act := range strings.SplitSeq(history, ", ") {
			acts[act](h.stripe, c.SessionID)
		}
		events := h.stripe.Events()[before:]
		list := rapid.Permutation(append(events, events...)).Draw(t, "order")
		if rapid.Bool().Draw(t, "some are lost") {
			list = list[:rapid.IntRange(0, len(list)).Draw(t, "delivered")]
		}
		for _, e := range list {
			ctx, cancel := context.WithCancel(h.Context())
			if rapid.IntRange(0, 9).Draw(t, "cut off") == 0 {
				time.AfterFunc(time.Duration(rapid.IntRange(0, 1500).Draw(t, "after"))*time.Microsecond, cancel)
			}
			_ = h.book.Receive(ctx, e.Body, h.stripe.Sign(e.Body)) // if it was cut off, the job repairs it
			cancel()
			switch rapid.IntRange(0, 9).Draw(t, "meanwhile") {
			case 0:
				h.work()
			case 1:
				_, _ = h.book.Look(h.Context(), h.checkout(c))
			}
		}
		h.ahead += 12 * time.Hour
		h.work()
		status, held := truth(h.stripe, c.SessionID)
		got := h.licensesOf(c)
		switch {
		case status == 0 && len(got) == 0:
		case len(got) == 1 && got[0].Status == status && (got[0].Held != 0) == held:
		default:
			t.Fatalf("after %s: %+v, want one that is %v, held %t", history, got, status, held)
		}
		if got, want := h.checkout(c).Order, orderTruth(h.stripe, c.SessionID); got != want {
			t.Fatalf("after %s: the order is %s, want %s", history, got, want)
		}
	})
}

// TestAtOnce: the webhook, the return page and the job sell a checkout once.
func TestAtOnce(t *testing.T) {
	h := newHarness(t)
	for i := range 10 {
		o := h.order()
		o.PartnerID = h.newPartner()
		c := h.begin(o)
		h.stripe.Pay(c.SessionID)
		h.ahead += 2 * time.Minute
		events := h.stripe.Events()
		paid := events[len(events)-1]
		var all sync.WaitGroup
		for _, sell := range []func() error{
			func() error { return h.book.Receive(t.Context(), paid.Body, h.stripe.Sign(paid.Body)) },
			func() error { return h.book.Receive(t.Context(), paid.Body, h.stripe.Sign(paid.Body)) },
			func() error { _, err := h.book.Look(t.Context(), c); return err },
			func() error { _, err := h.job.Once(t.Context()); return err },
		} {
			all.Go(func() {
				if err := sell(); err != nil {
					t.Error(err)
				}
			})
		}
		all.Wait()
		h.want(fmt.Sprint("round ", i), c, payment.Sold, event.Inactive, false)
	}
}
