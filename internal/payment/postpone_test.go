package payment_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"claviger/internal/event"
	"claviger/internal/payment"
	"claviger/internal/sqldb"
)

// silence makes Stripe refuse every call about an object, and returns a counter of the refusals.
func (h *harness) silence(id string, status int) (refused *int) {
	refused = new(int)
	h.stripe.Refuse = func(path string) int {
		if !strings.HasSuffix(path, "/"+id) {
			return 0
		}
		*refused++
		return status
	}
	return refused
}

// outwait runs the job every six hours until it gives up, and returns the number of days.
func (h *harness) outwait() int {
	h.Helper()
	for n := range 200 {
		h.ahead += 6 * time.Hour
		_, _ = h.job.Once(h.Context()) // its error is Stripe's
		if len(h.problems()) > 0 {
			return n / 4
		}
	}
	h.Fatal("the job did not give up")
	return 0
}

// TestNotAnswered: a refund or a dispute without an answer from Stripe is polled less and less
// often, then given up and reported. An answer ends the problem, and later silence is a new one.
func TestNotAnswered(t *testing.T) {
	for name, of := range map[string]struct {
		object func(h *harness, session string) string
		answer func(h *harness, id string)
		left   string // counts rows that are still polled
		ends   func(h *harness, c payment.Checkout)
	}{
		"dispute": {
			func(h *harness, session string) string { return h.stripe.Dispute(session, "needs_response") },
			func(h *harness, id string) { h.stripe.SetDispute(id, "under_review") },
			`SELECT count(*) FROM payment_disputes WHERE next_at <> 0`,
			func(h *harness, c payment.Checkout) { h.want("held", c, payment.Sold, event.Deactivated, true) },
		},
		"refund": {
			func(h *harness, session string) string { return h.stripe.Refund(session, 5900, "pending") },
			func(h *harness, id string) { h.stripe.SetRefund(id, "pending") },
			`SELECT count(*) FROM payment_refunds WHERE next_at <> 0`,
			func(h *harness, c payment.Checkout) { h.want("not back yet", c, payment.Sold, event.Inactive, false) },
		},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHarness(t)
			c := h.sold()
			id := of.object(h, c.SessionID)
			h.deliver(h.newest())
			h.work() // looks up its event
			h.ahead += 7 * time.Hour
			asked := h.silence(id, http.StatusInternalServerError)
			for range 3 {
				_, _ = h.job.Once(t.Context())
			}
			if *asked != 1 {
				t.Errorf("asked %d times at once", *asked)
			}
			if days := h.outwait(); days < 20 || days > 31 {
				t.Errorf("given up after %d days", days)
			}
			of.ends(h, c)
			before := *asked
			if before != 120 {
				t.Errorf("given up after %d questions", before)
			}
			for range 3 {
				h.ahead += 24 * time.Hour
				h.work()
			}
			if *asked != before || h.count(of.left) != 0 {
				t.Error("it is still asked about")
			}
			list, err := h.book.Problems(t.Context())
			if err != nil || len(list) != 1 || list[0].Kind != payment.NotAnswered || list[0].ObjectID != id || list[0].PartnerID != c.PartnerID ||
				list[0].Amount != 5900 || list[0].Currency != "USD" || list[0].Refundable() {
				t.Errorf("problems %+v, %v", list, err)
			}
			h.stripe.Refuse = nil
			of.answer(h, id)
			h.deliver(h.newest())
			h.work()
			if got := h.problems(); len(got) != 0 || h.count(of.left) != 1 {
				t.Errorf("after an answer: %v", got)
			}
			h.silence(id, http.StatusInternalServerError)
			if days := h.outwait(); days < 20 {
				t.Errorf("given up again after %d days", days)
			}
		})
	}
}

// TestNewerDisputeIsAsked: a hundred unanswered disputes do not delay a newer one.
func TestNewerDisputeIsAsked(t *testing.T) {
	h := newHarness(t)
	id := h.checkout(h.sold()).ID
	err := h.db.Write(t.Context(), func(tx *sqldb.Tx) error {
		for i := range 100 {
			tx.Queue(`INSERT INTO payment_disputes (provider_id, checkout_id, amount, currency, status, held, created_at, updated_at, next_at, told_at)
				VALUES ($1, $2, 1, 'USD', 'warning_needs_response', $3, $4, $4, $5, $4)`, fmt.Sprintf("dp_silent_%d", i), id, false, h.now(), h.now().Add(time.Hour))
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	newer := h.sold()
	dispute := h.stripe.Dispute(newer.SessionID, "needs_response")
	h.deliver(h.newest())
	h.work()
	h.stripe.SetDispute(dispute, "won")
	h.stripe.Refuse = func(path string) int {
		if strings.Contains(path, "dp_silent") || path == "/v1/events" {
			return http.StatusServiceUnavailable
		}
		return 0
	}
	h.ahead += 7 * time.Hour
	for range 2 {
		_, _ = h.job.Once(t.Context())
	}
	h.want("won", newer, payment.Sold, event.Inactive, false)
}

// TestDisputeIsGone: a dispute that Stripe does not have is given up immediately. Another one, with
// a payment that leads nowhere, still reaches its license.
func TestDisputeIsGone(t *testing.T) {
	h := newHarness(t)
	gone, other := h.sold(), h.sold()
	id := h.stripe.Dispute(gone.SessionID, "needs_response")
	h.deliver(h.newest())
	moved := h.stripe.Dispute(other.SessionID, "needs_response")
	h.deliver(h.newest())
	h.work()
	h.stripe.SetDispute(moved, "won")
	h.stripe.Change(moved, map[string]any{"payment_intent": nil})
	h.silence(id, http.StatusNotFound)
	h.ahead += 7 * time.Hour
	_, _ = h.job.Once(t.Context())
	if got := h.problems(); !slices.Equal(got, []payment.ProblemKind{payment.NotAnswered}) {
		t.Errorf("problems %v", got)
	}
	h.want("gone", gone, payment.Sold, event.Deactivated, true)
	h.want("without a payment", other, payment.Sold, event.Inactive, false)
}

// TestCheckoutIsGone: a dispute or a refund without its checkout is polled again later, and the job
// reports an error.
func TestCheckoutIsGone(t *testing.T) {
	h := newHarness(t)
	c := h.sold()
	h.stripe.Dispute(c.SessionID, "needs_response")
	h.deliver(h.newest())
	h.stripe.Refund(c.SessionID, 100, "pending")
	h.deliver(h.newest())
	h.work()
	h.exec(`DELETE FROM checkouts`)
	h.ahead += 7 * time.Hour
	h.stop()
	if _, err := h.job.Once(t.Context()); err == nil || strings.Count(err.Error(), "is not there") != 2 {
		t.Errorf("the job says %v", err)
	}
	if n := h.count(`SELECT count(*) FROM payment_disputes WHERE tries = 1 AND next_at > $1`, h.now()); n != 1 {
		t.Error("the dispute is not postponed")
	}
	if n := h.count(`SELECT count(*) FROM payment_refunds WHERE tries = 1 AND next_at > $1`, h.now()); n != 1 {
		t.Error("the refund is not postponed")
	}
}

// TestAnsweredMeanwhile: nobody is told of a question that was answered while it was given up.
func TestAnsweredMeanwhile(t *testing.T) {
	h := newHarness(t)
	id := h.stripe.Dispute(h.sold().SessionID, "needs_response")
	h.deliver(h.newest())
	h.work()
	h.ahead += 7 * time.Hour
	h.stripe.Refuse = func(path string) int {
		if !strings.HasSuffix(path, "/"+id) {
			return 0
		}
		h.exec(`UPDATE payment_disputes SET next_at = 0`)
		return http.StatusNotFound
	}
	_, _ = h.job.Once(t.Context()) // its error is Stripe's
	if got := h.problems(); len(got) != 0 {
		t.Errorf("problems %v", got)
	}
}
