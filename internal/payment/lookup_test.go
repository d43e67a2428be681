package payment_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"claviger/internal/payment"
)

// lists counts requests for a list of events.
func (h *harness) lists() (n int) {
	for _, call := range h.stripe.Calls {
		if call == "GET /v1/events" {
			n++
		}
	}
	return n
}

func (h *harness) noted() int64 { return h.count(`SELECT count(*) FROM payment_events`) }

// TestListedByPages: after an outage Stripe's events are stored page by page. A failure between two
// pages loses no stored events, and the list continues after them.
func TestListedByPages(t *testing.T) {
	h := newHarness(t)
	c := h.sold()
	h.work()
	id := h.stripe.Dispute(c.SessionID, "needs_response")
	for range 249 {
		h.stripe.SetDispute(id, "under_review")
	}
	h.ahead = 2 * time.Hour
	before := h.lists()
	for page := int64(1); page <= 3; page++ {
		h.stripe.Refuse = func(path string) int {
			if path == "/v1/events" {
				return http.StatusServiceUnavailable
			}
			return 0
		}
		if _, err := h.job.Once(t.Context()); err == nil {
			t.Error("an outage of Stripe is no error of the job")
		}
		h.stripe.Refuse = nil
		more, err := h.job.Once(t.Context())
		if want := min(page*100, 250); err != nil || more != (page < 3) || h.noted() != want {
			t.Errorf("page %d: more is %t, %v, and %d events are noted, want %d", page, more, err, h.noted(), want)
		}
		if page == 1 {
			h.stripe.SetDispute(id, "won") // newer than the first page
		}
	}
	h.work()
	if n := h.lists() - before; n != 6 {
		t.Errorf("Stripe was asked %d times for 3 pages and 3 failures", n)
	}
	h.ahead += 11 * time.Minute
	h.work()
	if n := h.noted(); n != 251 {
		t.Errorf("%d events are noted after one that happened meanwhile", n)
	}
}

// TestListBeginsAgain: Stripe lists nothing after an event that it no longer has.
func TestListBeginsAgain(t *testing.T) {
	h := newHarness(t)
	c := h.sold()
	h.work()
	h.stripe.Dispute(c.SessionID, "needs_response")
	h.exec(`UPDATE payment_listing SET after_id = 'evt_forgotten', began_at = listed_at`)
	h.ahead = 2 * time.Hour
	h.work()
	if n := h.noted(); n != 1 {
		t.Errorf("%d events are noted", n)
	}
}

// TestFactsWait: a fact is looked up again as long as Stripe does not say what it is or whose
// payment it is about, and as long as our refunds cannot be read.
func TestFactsWait(t *testing.T) {
	h := newHarness(t)
	h.broken = true
	h.work() // events are not listed again for a while
	lookups := func() int64 { return h.count(`SELECT count(*) FROM payment_lookups`) }
	c := h.begin(h.order())
	h.stripe.Pay(c.SessionID)
	h.stripe.Dispute(c.SessionID, "needs_response")
	h.deliver(h.newest())
	h.stripe.RefundAll(c.SessionID)
	h.deliver(h.newest())
	for _, silent := range []string{"/v1/payment_intents/", "/v1/refunds/", "/v1/disputes/"} {
		h.stripe.Refuse = func(path string) int {
			away := strings.HasPrefix(path, "/v1/payment_intents/") || strings.HasPrefix(path, silent)
			return map[bool]int{true: http.StatusBadGateway}[away]
		}
		h.exec(`UPDATE payment_lookups SET next_at = 1`)
		if _, err := h.job.Once(t.Context()); err == nil || lookups() != 2 {
			t.Errorf("without %s %d facts wait, %v", silent, lookups(), err)
		}
	}
	h.stripe.Refuse = nil
	h.exec(`ALTER TABLE payment_refunds RENAME TO kept`)
	h.exec(`UPDATE checkouts SET ref = 'co_old'`)
	h.exec(`UPDATE payment_lookups SET next_at = 1`)
	if _, err := h.job.Once(t.Context()); err == nil || lookups() != 1 {
		t.Errorf("without our refunds %d facts wait, %v", lookups(), err)
	}
}

// TestRefundOfAProblemEnds: what Stripe says of a refund that sold nothing is stored, and an
// answer ends the report that there was none.
func TestRefundOfAProblemEnds(t *testing.T) {
	h := newHarness(t)
	if _, err := h.book.RefundProblem(t.Context(), tester, h.paidTwice(h.other())); err != nil {
		t.Fatal(err)
	}
	h.work()
	const ended = `SELECT count(*) FROM payment_refunds
		WHERE checkout_id = 0 AND status = $1 AND provider_id = $2 AND amount = 5900 AND next_at = 0`
	id := h.stripe.Objects("re")[0].Text("id")
	if h.count(ended, int(payment.RefundSucceeded), id) != 1 {
		t.Error("the refund has not ended")
	}
	h.exec(`UPDATE payment_refunds SET status = $1, tries = 119, next_at = 1`, int(payment.RefundPending))
	h.silence(id, http.StatusInternalServerError)
	_, _ = h.job.Once(t.Context()) // its error is Stripe's
	if got := h.problems(); !slices.Equal(got, []payment.ProblemKind{payment.NotAnswered}) {
		t.Errorf("problems %v", got)
	}
	h.stripe.Refuse = nil
	h.stripe.SetRefund(id, "succeeded")
	h.deliver(h.newest())
	h.work()
	if got := h.problems(); len(got) != 0 || h.count(ended, int(payment.RefundSucceeded), id) != 1 {
		t.Errorf("after an answer: %v", got)
	}
}
