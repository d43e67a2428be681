package payment_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"claviger/internal/event"
	"claviger/internal/payment"
)

// TestDisputeStatus: the effect of each dispute status on the license, the operator and the job.
func TestDisputeStatus(t *testing.T) {
	for status, want := range map[string]struct {
		license  event.Status
		held     bool
		problem  bool
		asked    bool
		refunded bool
	}{
		"warning_needs_response": {event.Inactive, false, true, true, false},
		"warning_under_review":   {event.Inactive, false, true, true, false},
		"warning_closed":         {event.Inactive, false, false, false, false},
		"needs_response":         {event.Deactivated, true, false, true, false},
		"under_review":           {event.Deactivated, true, false, true, false},
		"won":                    {event.Inactive, false, false, false, false},
		"lost":                   {event.Deactivated, false, false, false, true},
		"prevented":              {event.Deactivated, false, false, false, true},
	} {
		t.Run(status, func(t *testing.T) {
			h := newHarness(t)
			h.stop()
			c := h.sold()
			id := h.stripe.Dispute(c.SessionID, status)
			h.deliver(h.newest())
			h.want(status, c, payment.Sold, want.license, want.held)
			problems := h.problems()
			if got := len(problems) == 1 && problems[0] == payment.InquiryOpened; got != want.problem || len(problems) > 1 {
				t.Errorf("problems %v", problems)
			}
			if got := h.count(`SELECT count(*) FROM payment_disputes WHERE next_at = $1`, h.now().Add(6*time.Hour)) == 1; got != want.asked {
				t.Errorf("asked about in six hours: %t", got)
			}
			if got := h.checkout(c).RefundID != 0; got != want.refunded {
				t.Errorf("refunded: %t", got)
			}
			_, disputes, err := h.book.Facts(t.Context(), []int64{h.checkout(c).ID})
			if err != nil || len(disputes) != 1 || disputes[0].ID != id || disputes[0].Amount != 5900 || disputes[0].Currency != "USD" ||
				disputes[0].Status != status || !disputes[0].UpdatedAt.Equal(h.now()) {
				t.Errorf("disputes %+v, %v", disputes, err)
			}
			h.stripe.SetDispute(id, "won") // finally
			h.deliver(h.newest())
			h.work()
			h.want("won", c, payment.Sold, event.Inactive, false)
			if got := h.problems(); len(got) != 0 {
				t.Errorf("left %v", got)
			}
		})
	}
}

// TestDismiss: a person ends a problem once. Then it cannot be refunded; an inquiry never can.
func TestDismiss(t *testing.T) {
	h := newHarness(t)
	c := h.sold()
	h.stripe.Dispute(c.SessionID, "warning_needs_response")
	h.deliver(h.newest())
	h.stripe.Pay(h.twin(c))
	h.deliver(h.newest())
	list, err := h.book.Problems(t.Context())
	if err != nil || len(list) != 2 || list[0].Kind != payment.InquiryOpened || list[1].Kind != payment.PaidTwice {
		t.Fatalf("problems %+v, %v", list, err)
	}
	if _, err := h.book.RefundProblem(t.Context(), tester, list[0].ID); code(err) != "nothing_to_refund" {
		t.Errorf("an inquiry was refunded: %v", err)
	}
	for range 2 {
		for _, p := range list {
			if err := h.book.Dismiss(t.Context(), tester, p.ID); err != nil {
				t.Fatal(err)
			}
		}
	}
	if n := h.count(`SELECT count(*) FROM audit_entries WHERE action = 'payment.dismiss'`); n != 2 || len(h.problems()) != 0 {
		t.Errorf("%d entries in the audit, left %v", n, h.problems())
	}
	if p, err := h.book.Problem(t.Context(), list[1].ID); err != nil || p.DoneAt.IsZero() {
		t.Errorf("problem %+v, %v", p, err)
	}
	if _, err := h.book.RefundProblem(t.Context(), tester, list[1].ID); code(err) != "nothing_to_refund" {
		t.Errorf("it was refunded after all: %v", err)
	}
	for name, do := range map[string]func() error{
		"dismiss": func() error { return h.book.Dismiss(t.Context(), tester, 99) },
		"refund":  func() error { _, err := h.book.RefundProblem(t.Context(), tester, 99); return err },
		"read":    func() error { _, err := h.book.Problem(t.Context(), 99); return err },
	} {
		if err := do(); code(err) != "unknown_problem" {
			t.Errorf("%s one that is not there: %v", name, err)
		}
	}
	if _, err := h.book.RefundByID(t.Context(), 99); code(err) != "unknown_payment_refund" {
		t.Errorf("a refund that is not there: %v", err)
	}
	if n := len(h.stripe.Objects("re")); n != 0 {
		t.Errorf("%d refunds at Stripe", n)
	}
}

// TestRefundProblemOnce: a problem is refunded once, with its own request, and the audit has the
// actor.
func TestRefundProblemOnce(t *testing.T) {
	h := newHarness(t)
	c := h.begin(h.order())
	h.stripe.Change(c.SessionID, map[string]any{"amount_total": int64(5800)})
	h.stripe.Pay(c.SessionID)
	h.deliver(h.newest())
	id := h.count(`SELECT id FROM payment_problems`)
	first, err := h.book.RefundProblem(t.Context(), tester, id)
	if err != nil || first.Amount != 5800 || first.Currency != "USD" || first.IntentID != h.checkout(c).IntentID || first.CheckoutID != h.checkout(c).ID ||
		first.Reason != string(payment.PaidOtherAmount) || first.Status != payment.RefundAsked || first.UpdatedAt.IsZero() {
		t.Errorf("asked for %+v, %v", first, err)
	}
	again, err := h.book.RefundProblem(t.Context(), tester, id)
	if diff := cmp.Diff(first, again, cmp.AllowUnexported(payment.Refund{})); diff != "" || err != nil {
		t.Errorf("again (-first +second), %v:\n%s", err, diff)
	}
	if n := h.count(`SELECT count(*) FROM audit_entries WHERE action = 'payment.refund'`); n != 1 {
		t.Errorf("%d entries in the audit", n)
	}
}

// TestDepth: each kind of unsettled item is counted separately.
func TestDepth(t *testing.T) {
	h := newHarness(t)
	for i := range 5 {
		h.exec(`INSERT INTO payment_lookups (object_id, tries, created_at, next_at) VALUES ($1, 0, 1, 1)`, string(rune('a'+i)))
	}
	for i := range 4 {
		h.exec(`INSERT INTO payment_problems (kind, object_id, checkout_id, partner_id, intent_id, amount, currency, created_at, done_at)
			VALUES ('k', $1, 0, 0, '', 0, '', 1, $2)`, string(rune('a'+i)), i/3)
		h.exec(`INSERT INTO payment_disputes (provider_id, checkout_id, amount, currency, status, held, created_at, updated_at, next_at)
			VALUES ($1, 0, 0, '', '', $2, 1, 1, $3)`, string(rune('a'+i)), false, i/2)
	}
	h.exec(`INSERT INTO payment_problems (kind, object_id, checkout_id, partner_id, intent_id, amount, currency, created_at, done_at)
		VALUES ('inquiry_opened', 'dp_1', 0, 0, '', 0, '', 1, 0)`)
	h.begin(h.order())
	got, err := payment.ReadDepth(t.Context(), h.db, h.now())
	if want := (payment.Depth{Checkouts: 1, Disputes: 2, Lookups: 5, Problems: 3}); err != nil || got != want {
		t.Errorf("%+v, want %+v, %v", got, want, err)
	}
	c := h.sold()
	if _, err := h.book.AskRefund(t.Context(), tester, h.checkout(c), payment.Ask{}); err != nil {
		t.Fatal(err)
	}
	if got, err := payment.ReadDepth(t.Context(), h.db, h.now()); err != nil || got.Refunds != 1 || got.Checkouts != 1 {
		t.Errorf("%+v, %v", got, err)
	}
}
