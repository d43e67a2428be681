package payment_test

import (
	"net/http"
	"testing"
	"time"

	"claviger/internal/license"
	"claviger/internal/partner"
	"claviger/internal/payment"
	"claviger/internal/prune"
)

// TestNoTable: an answer that needs a table is an error while the table cannot be read, and
// never one without what the table has.
func TestNoTable(t *testing.T) {
	h := newHarness(t)
	h.broken = true
	c := h.checkout(h.sold())
	l := h.licensesOf(c)[0]
	order := license.RefundOrder{LicenseKey: l.Key}
	h.stripe.Refund(c.SessionID, 100, "succeeded")
	h.deliver(h.newest())
	told := h.receive()
	refund := h.count(`SELECT id FROM payment_refunds`)
	problem := h.paidTwice(h.other())
	h.work()
	ctx := t.Context()
	paidFor := func() error { _, err := h.book.PaidFor(ctx, l); return err }
	free := func() error {
		return h.book.ChangeFree(ctx, tester, l, partner.Plan{Tier: 2, PriceCents: 5800, Currency: "USD"}, "free")
	}
	ask := func() error {
		list, here, err := h.book.AskRefunds(ctx, tester, order, "r")
		if list != nil {
			t.Errorf("asked for %+v, paid here: %t", list, here)
		}
		return err
	}
	facts := func() error { _, _, err := h.book.Facts(ctx, []int64{c.ID}); return err }
	byID := func() error { _, err := h.book.RefundByID(ctx, refund); return err }
	refundProblem := func() error { _, err := h.book.RefundProblem(ctx, tester, problem); return err }
	job := func() error { h.ahead += time.Hour; _, err := h.job.Once(ctx); return err }
	for table, answers := range map[string]map[string]func() error{
		"checkouts": {
			"paid here": func() error { _, err := h.book.PaidHere(ctx, order); return err },
			"ask":       ask, "paid for": paidFor, "free": free, "refund by id": byID, "job": job,
			"refund a problem": refundProblem,
			"receive":          func() error { return told(h.book) },
		},
		"payment_refunds": {
			"ask": ask, "paid for": paidFor, "free": free, "facts": facts, "refund by id": byID, "job": job,
			"refund a problem": refundProblem,
		},
		"payment_disputes": {"ask": ask, "paid for": paidFor, "free": free, "facts": facts, "job": job},
		"payment_problems": {
			"problems": func() error { _, err := h.book.Problems(ctx); return err },
			"dismiss":  func() error { return h.book.Dismiss(ctx, tester, problem) }, "refund a problem": refundProblem,
		},
		"plan_prices": {
			"free": free, "rule": func() error { _, err := h.book.PlanRuleOf(ctx, h.partner); return err },
			"set the rule": func() error { return h.book.SetPlanRule(ctx, tester, h.partner, payment.FullPrice) },
		},
		"payment_listing": {"job": job},
		"payment_lookups": {"job": job},
		"payment_events":  {"prune": func() error { _, err := prune.Rows(ctx, h.book.DB, h.book.Now(), payment.Expiring()); return err }},
	} {
		h.exec(`ALTER TABLE ` + table + ` RENAME TO kept`)
		for name, answer := range answers {
			if err := answer(); err == nil || len(code(err)) < 20 { // a code would be that of a fault
				t.Errorf("without %s, %s: %v", table, name, err)
			}
		}
		h.exec(`ALTER TABLE kept RENAME TO ` + table)
	}
	h.book.Wake = func() { h.exec(`ALTER TABLE payment_refunds RENAME TO kept`) } // after it is stored
	if f, err := h.book.AskRefund(ctx, tester, c, payment.Ask{}); err == nil {
		t.Errorf("asked for %+v and cannot read it", f)
	}
}

// TestGivenUpWithItsPartner: a question is given up only when its checkout can be read, because the
// problem names the partner.
func TestGivenUpWithItsPartner(t *testing.T) {
	h := newHarness(t)
	c := h.sold()
	id := h.stripe.Dispute(c.SessionID, "needs_response")
	h.deliver(h.newest())
	h.work()
	h.silence(id, http.StatusNotFound)
	h.stripe.Refuse = func(next func(string) int) func(string) int {
		return func(path string) int {
			status := next(path)
			if status != 0 {
				h.exec(`ALTER TABLE checkouts RENAME TO kept`) // after the job has read the open ones
			}
			return status
		}
	}(h.stripe.Refuse)
	h.ahead += 7 * time.Hour
	_, _ = h.job.Once(t.Context()) // its error is Stripe's
	h.exec(`ALTER TABLE kept RENAME TO checkouts`)
	if got := h.problems(); len(got) != 0 {
		t.Errorf("problems %v", got)
	}
	h.silence(id, http.StatusNotFound)
	h.ahead += 7 * time.Hour
	_, _ = h.job.Once(t.Context())
	list, err := h.book.Problems(t.Context())
	if err != nil || len(list) != 1 || list[0].PartnerID != c.PartnerID {
		t.Errorf("problems %+v, %v; want one of partner %d", list, err, c.PartnerID)
	}
}
