package payment_test

import (
	"strings"
	"testing"
	"time"

	"claviger/internal/payment"
	"claviger/internal/payment/fakestripe"
)

// moves replaces the movements of a dispute's money.
func (h *harness) moves(dispute string, list ...any) {
	h.stripe.Change(dispute, fakestripe.Object{"balance_transactions": list})
}

// movementOf is a movement of a dispute's money.
func movementOf(id, currency string, amount, fee int64) fakestripe.Object {
	return fakestripe.Object{"id": id, "currency": currency, "amount": amount, "fee": fee, "created": int64(1790000000)}
}

// TestFeeOfADispute: each fee of a dispute is posted once, however often Stripe is asked, and its return
// as well.
func TestFeeOfADispute(t *testing.T) {
	for name, of := range map[string]struct {
		status string // in the end
		back   int64  // the part of the fee that comes back
		want   int64
	}{
		"won":               {"won", 0, 1500},
		"won, with the fee": {"won", -1500, 0},
		"lost":              {"lost", 0, 1500},
		"under review":      {"under_review", 0, 1500},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHarness(t)
			c := h.paid()
			h.work()
			id := h.stripe.Dispute(c.SessionID, "needs_response")
			h.deliver(h.newest())
			h.wantFees("the event", 1, 201, false)
			for range 3 {
				h.work()
				h.wantFees("open", 2, 201+1500, false)
				h.ahead += 6 * time.Hour
			}
			h.stripe.SetDispute(id, of.status)
			if of.back != 0 {
				list := h.stripe.Objects("dp")[0]["balance_transactions"].([]any)
				h.moves(id, list[0], movementOf("txn_back", "usd", 5900, of.back))
			}
			for range 2 {
				h.deliver(h.newest())
				h.work()
				h.ahead += 6 * time.Hour
			}
			postings := int64(2)
			if of.back != 0 {
				postings++
			}
			h.wantFees(of.status, postings, 201+of.want, false)
		})
	}
}

// TestFeeOfAnInquiry: an inquiry takes no money and no fee until it becomes a dispute.
func TestFeeOfAnInquiry(t *testing.T) {
	h := newHarness(t)
	c := h.paid()
	id := h.stripe.Dispute(c.SessionID, "warning_needs_response")
	h.deliver(h.newest())
	h.work()
	h.wantFees("an inquiry", 1, 201, false)
	h.stripe.SetDispute(id, "needs_response") // the event never comes
	h.ahead += 6 * time.Hour
	h.work()
	h.wantFees("a dispute", 2, 201+1500, false)
}

// TestFeeOfADisputeInAnotherCurrency: its rate is that of the disputed money. Without one the fee is not
// posted, and the dispute is followed all the same.
func TestFeeOfADisputeInAnotherCurrency(t *testing.T) {
	for name, of := range map[string]struct {
		moved int64
		rated int64
	}{"with a rate": {-5428, 1}, "no money moved": {0, 0}} {
		t.Run(name, func(t *testing.T) {
			h := newHarness(t)
			c := h.paid()
			id := h.stripe.Dispute(c.SessionID, "needs_response")
			h.moves(id, movementOf("txn_a", "eur", of.moved, 1380))
			h.deliver(h.newest())
			h.work()
			if n := h.count(`SELECT count(*) FROM ledger_fees WHERE dispute = TRUE AND currency = 'EUR' AND amount = 1380
				AND num = 5900 AND den = 5428 AND at = $1`, time.Unix(1790000000, 0)); n != of.rated {
				t.Errorf("%d fees are posted", n)
			}
			if logged := strings.Contains(h.log.String(), "a fee of a dispute is not in the ledger"); logged != (of.rated == 0) {
				t.Errorf("logged: %s", h.log.String())
			}
			if d := h.dispute(id); !d.Unanswered() {
				t.Errorf("the dispute: %+v", d.Dispute)
			}
		})
	}
}

// TestFeeOfADisputeBeforeItsSale: the ledger gets the fee although the dispute had ended before the sale.
func TestFeeOfADisputeBeforeItsSale(t *testing.T) {
	h := newHarness(t)
	h.work() // events are not listed again for a while
	c := h.begin(h.order())
	h.stripe.Pay(c.SessionID)
	paid := h.newest()
	h.stripe.Dispute(c.SessionID, "lost")
	h.deliver(h.newest())
	h.work()
	h.wantFees("before", 0, 0, false)
	h.deliver(paid)
	h.work()
	h.wantFees("sold", 2, 201+1500, false)
	if got := h.checkout(c); got.State != payment.Sold || got.Unsettled {
		t.Errorf("the checkout: %+v", got)
	}
}
