package payment_test

import (
	"testing"

	"claviger/internal/event"
	"claviger/internal/license"
	"claviger/internal/payment"
)

// TestCannotFollow: a fact whose sale, refund or license is not there is an error, so that
// somebody learns of it. Nothing of the fact is stored.
func TestCannotFollow(t *testing.T) {
	for name, prepare := range map[string]func(h *harness, c payment.Checkout) func() error{
		"refund of a purchase": func(h *harness, c payment.Checkout) func() error {
			h.exec(`UPDATE checkouts SET purchase_id = 99`)
			h.stripe.RefundAll(c.SessionID)
			return func() error { return h.receive()(h.book) }
		},
		"end of a refund": func(h *harness, c payment.Checkout) func() error {
			id := h.stripe.Refund(c.SessionID, 5900, "succeeded")
			h.deliver(h.newest())
			h.exec(`UPDATE checkouts SET refund_id = 99`)
			h.stripe.SetRefund(id, "failed")
			return func() error { return h.receive()(h.book) }
		},
		"refund of a whole license": func(h *harness, c payment.Checkout) func() error {
			key := h.licensesOf(c)[0].Key
			if _, _, err := h.book.AskRefunds(h.Context(), tester, license.RefundOrder{LicenseKey: key}, "all"); err != nil {
				h.Fatal(err)
			}
			h.exec(`UPDATE payment_refunds SET license_key = 'none'`)
			return func() error { _, err := h.job.Once(h.Context()); return err }
		},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHarness(t)
			do := prepare(h, h.checkout(h.sold()))
			status := `SELECT coalesce(sum(status), 0) FROM payment_refunds`
			before := h.count(status)
			if err := do(); err == nil {
				t.Error("nobody learns of it")
			}
			if got := h.count(status); got != before {
				t.Errorf("the sum of the states of refunds was %d and is %d", before, got)
			}
		})
	}
}

// TestRefundedBefore: money goes back for what the operator recorded as refunded before.
func TestRefundedBefore(t *testing.T) {
	h := newHarness(t)
	c := h.checkout(h.sold())
	key := h.licensesOf(c)[0].Key
	if _, _, err := h.book.AskRefunds(t.Context(), tester, license.RefundOrder{LicenseKey: key}, "all"); err != nil {
		t.Fatal(err)
	}
	if _, err := h.licenses.Refund(t.Context(), tester, license.RefundOrder{PurchaseID: c.PurchaseID, ExternalID: "own"}); err != nil {
		t.Fatal(err)
	}
	h.work()
	h.want("refunded", c, payment.Sold, event.Deactivated, false)
	if n := h.count(`SELECT count(*) FROM payment_refunds WHERE status = $1`, int(payment.RefundSucceeded)); n != 1 {
		t.Errorf("%d refunds succeeded", n)
	}
	if n := h.count(`SELECT count(*) FROM refunds`); n != 1 {
		t.Errorf("the license was refunded %d times", n)
	}
}
