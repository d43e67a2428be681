package accounting_test

import (
	"testing"
	"time"

	"claviger/internal/ledger"
	"claviger/internal/license"
	"claviger/internal/payment"
	"claviger/internal/sqldb"
)

// TestPayable: a share becomes payable on its day, unless the money may still go back.
func TestPayable(t *testing.T) {
	for name, c := range map[string]struct {
		before func(h *harness, c payment.Checkout, l license.License) // the day
		then   func(h *harness, c payment.Checkout, l license.License) // after it; nil: it became payable
		want   money                                                   // in the end
	}{
		"nothing": {want: money{ledger.Provider: 5900, ledger.Payable: -4130, ledger.Margin: -1770}},
		"a part refunded": {
			before: func(h *harness, c payment.Checkout, _ license.License) {
				h.stripe.Refund(c.SessionID, 1000, "succeeded")
				h.hear()
			},
			want: money{ledger.Provider: 4900, ledger.Payable: -3430, ledger.Margin: -1470},
		},
		"all refunded": {
			before: func(h *harness, c payment.Checkout, _ license.License) {
				h.stripe.RefundAll(c.SessionID)
				h.hear()
			},
			want: money{},
		},
		"a dispute that is won": {
			before: func(h *harness, c payment.Checkout, _ license.License) {
				h.stripe.Dispute(c.SessionID, "needs_response")
				h.hear()
			},
			then: func(h *harness, _ payment.Checkout, _ license.License) {
				h.stripe.SetDispute(h.stripe.Objects("dp")[0].Text("id"), "won")
				h.hear()
				if _, err := payment.NewJob(h.payments).Once(h.Context()); err != nil {
					h.Fatal(err)
				}
			},
			want: money{
				ledger.Provider: 5900 - 201 - 1500, ledger.Fees: 201 + 1500, ledger.Payable: -4130, ledger.Margin: -1770,
			},
		},
		"a hold that is lifted": {
			before: func(h *harness, _ payment.Checkout, l license.License) {
				if _, err := h.licenses.Hold(h.Context(), tester, l.Key, license.HoldOther); err != nil {
					h.Fatal(err)
				}
			},
			then: func(h *harness, _ payment.Checkout, l license.License) {
				if _, err := h.licenses.Reinstate(h.Context(), tester, l.Key); err != nil {
					h.Fatal(err)
				}
			},
			want: money{ledger.Provider: 5900, ledger.Payable: -4130, ledger.Margin: -1770},
		},
		"a refund that is only recorded, and reversed": {
			before: func(h *harness, _ payment.Checkout, l license.License) { h.refund(l) },
			then: func(h *harness, _ payment.Checkout, l license.License) {
				if _, err := h.licenses.ReverseRefund(h.Context(), tester, 1); err != nil {
					h.Fatal(err)
				}
			},
			want: money{ledger.Provider: 5900, ledger.Payable: -4130, ledger.Margin: -1770},
		},
		"a request that is declined": {
			before: func(h *harness, c payment.Checkout, l license.License) {
				h.exec(`INSERT INTO refund_requests (license_id, license_key, redemption_id, partner_id, user_id, state, reason, answer,
						failure, asked_at, decided_at, created_at, updated_at) VALUES (1, 'k', 'r', 1, 1, 1, '', '', '', 0, 0, 1, 1)`,
					`INSERT INTO refund_request_payments (request_id, checkout_id, purchase_id, item, amount, currency)
						SELECT 1, id, purchase_id, '', 5900, 'USD' FROM checkouts`)
			},
			then: func(h *harness, _ payment.Checkout, _ license.License) {
				h.exec(`UPDATE refund_requests SET state = 3`)
			},
			want: money{ledger.Provider: 5900, ledger.Payable: -4130, ledger.Margin: -1770},
		},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHarness(t, sqldb.Options{})
			h.upgrade()
			h.addTerms(14)
			paid := h.pay()
			sold, err := h.licenses.OfSale(t.Context(), paid.PurchaseID)
			if err != nil {
				t.Fatal(err)
			}
			if c.before != nil {
				c.before(h, paid, sold[0])
			}
			h.at = h.at.Add(14*24*time.Hour - time.Hour)
			h.run()
			if n := h.count(`SELECT count(*) FROM ledger_sales WHERE payable`); n != 0 {
				t.Error("it is payable before its day")
			}
			h.at = h.at.Add(2 * time.Hour)
			h.run()
			if n := h.count(`SELECT count(*) FROM ledger_sales WHERE payable`); (n == 0) != (c.then != nil) {
				t.Errorf("on its day, %d sales are payable", n)
			}
			if c.then != nil {
				c.then(h, paid, sold[0])
				h.run()
				h.at = h.at.Add(11 * time.Minute)
				h.run()
			}
			h.want("in the end", "USD", c.want)
			if n := h.count(`SELECT count(*) FROM ledger_sales WHERE look_at <> 0`); n != 0 {
				t.Error("it is checked forever")
			}
		})
	}
}

// TestDefaultShareSetLater: a default-share divides sales that were not divided.
func TestDefaultShareSetLater(t *testing.T) {
	h := newHarness(t, sqldb.Options{})
	h.upgrade()
	h.sell(license.Purchase{AmountCents: 10_000, Currency: "EUR"})
	h.run()
	h.want("without", "EUR", money{ledger.External: 10_000, ledger.Undivided: -10_000})
	h.books.Defaults = ledger.Defaults{Set: true, ShareBP: 5000}
	h.run() // divides, and makes payable: the product has no refund days
	h.run()
	h.want("with", "EUR", money{ledger.External: 10_000, ledger.Payable: -5000, ledger.Margin: -5000})
}
