package payment_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"claviger/internal/license"
	"claviger/internal/partner"
	"claviger/internal/payment"
	"claviger/internal/prune"
	"claviger/internal/secret"
	"claviger/internal/sqldb"
	"claviger/internal/sqldb/sqldbtest"
)

// errCut is the error of the statement that is cut off.
var errCut = errors.New("cut off")

// TestCutOff: whatever writes reports that the database went away, at any statement, and
// does its work once when it is asked again.
func TestCutOff(t *testing.T) {
	type act func(b *payment.Store) error
	job := func(b *payment.Store) error { _, err := payment.NewJob(b).Once(t.Context()); return err }
	for name, prepare := range map[string]func(h *harness, o payment.Order) act{
		"begin": func(h *harness, o payment.Order) act {
			return func(b *payment.Store) error { _, err := b.Begin(t.Context(), o); return err }
		},
		"begin again": func(h *harness, o payment.Order) act {
			h.begin(o)
			o.Amount = 6900
			return func(b *payment.Store) error { _, err := b.Begin(t.Context(), o); return err }
		},
		"refused at Stripe": func(h *harness, o payment.Order) act {
			o.Amount, o.Currency = 10, "THB"
			return func(b *payment.Store) error {
				_, err := b.Begin(t.Context(), o)
				if code(err) == payment.CodeUnavailable {
					return nil // a fault for the buyer, after everything was written
				}
				return err
			}
		},
		"paid": func(h *harness, o payment.Order) act {
			h.stripe.Pay(h.begin(o).SessionID)
			return h.receive()
		},
		"paid another amount": func(h *harness, o payment.Order) act {
			c := h.begin(o)
			h.stripe.Change(c.SessionID, map[string]any{"amount_total": int64(5800)})
			h.stripe.Pay(c.SessionID)
			return h.receive()
		},
		"paid, unknown here": func(h *harness, o payment.Order) act {
			h.stripe.Pay(h.begin(o).SessionID)
			h.exec(`DELETE FROM checkouts`)
			return h.receive()
		},
		"paid change of plan": func(h *harness, o payment.Order) act {
			o.LicenseKey = h.licensesOf(h.soldAs(o))[0].Key
			o.Tier, o.PlanName, o.Credit = 2, "Tier 2", 5900
			h.stripe.Pay(h.begin(o).SessionID)
			return h.receive()
		},
		"change of plan for nothing": func(h *harness, o payment.Order) act {
			o.Tier, o.PlanName, o.Amount = 2, "Tier 2", 11800
			l := h.licensesOf(h.soldAs(o))[0]
			plan := partner.Plan{Tier: 1, PriceCents: 5900, Currency: "USD"}
			return func(b *payment.Store) error { return b.ChangeFree(t.Context(), tester, l, plan, l.Key) }
		},
		"rule of a partner": func(_ *harness, o payment.Order) act {
			return func(b *payment.Store) error {
				return b.SetPlanRule(t.Context(), tester, o.PartnerID, payment.FullPrice)
			}
		},
		"refunded": func(h *harness, o payment.Order) act {
			h.stripe.RefundAll(h.soldAs(o).SessionID)
			return h.receive()
		},
		"disputed": func(h *harness, o payment.Order) act {
			h.stripe.Dispute(h.soldAs(o).SessionID, "needs_response")
			return h.receive()
		},
		"disputed before it is sold": func(h *harness, o payment.Order) act {
			c := h.begin(o)
			h.stripe.Pay(c.SessionID)
			h.stripe.Dispute(c.SessionID, "needs_response")
			return h.receive()
		},
		"ask for a refund": func(h *harness, o payment.Order) act {
			c := h.checkout(h.soldAs(o))
			return func(b *payment.Store) error { _, err := b.AskRefund(t.Context(), tester, c, payment.Ask{}); return err }
		},
		"refund a problem": func(h *harness, o payment.Order) act {
			id := h.paidTwice(o)
			return func(b *payment.Store) error { _, err := b.RefundProblem(t.Context(), tester, id); return err }
		},
		"dismiss": func(h *harness, o payment.Order) act {
			id := h.paidTwice(o)
			return func(b *payment.Store) error { return b.Dismiss(t.Context(), tester, id) }
		},
		"the job, of a checkout": func(h *harness, o payment.Order) act {
			h.stripe.Pay(h.begin(o).SessionID)
			h.ahead += 2 * time.Minute
			return job
		},
		"the job, of one that waits": func(h *harness, o payment.Order) act {
			h.begin(o)
			h.ahead += 2 * time.Minute
			return job
		},
		"the job, of a refund": func(h *harness, o payment.Order) act {
			if _, err := h.book.AskRefund(t.Context(), tester, h.checkout(h.soldAs(o)), payment.Ask{}); err != nil {
				t.Fatal(err)
			}
			return job
		},
		"the job, of a whole license": func(h *harness, o payment.Order) act {
			key := h.licensesOf(h.soldAs(o))[0].Key
			_, err := h.licenses.ChangePlan(t.Context(), tester, key, license.PlanChange{Tier: 2, ExternalID: "free"})
			if err == nil {
				_, _, err = h.book.AskRefunds(t.Context(), tester, license.RefundOrder{LicenseKey: key}, "all")
			}
			if err != nil {
				t.Fatal(err)
			}
			return job
		},
		"the job, of a dispute that is won after all": func(h *harness, o payment.Order) act {
			id := h.stripe.Dispute(h.soldAs(o).SessionID, "lost")
			h.deliver(h.newest())
			h.stripe.SetDispute(id, "won")
			h.deliver(h.newest())
			return job
		},
		"the job, of an event that never came": func(h *harness, o payment.Order) act {
			h.stripe.RefundAll(h.soldAs(o).SessionID)
			h.ahead += time.Hour
			return job
		},
		"the job, of a refund of a problem": func(h *harness, o payment.Order) act {
			if _, err := h.book.RefundProblem(t.Context(), tester, h.paidTwice(o)); err != nil {
				t.Fatal(err)
			}
			return job
		},
		"the job, of a fee": func(h *harness, o payment.Order) act {
			h.soldAs(o)
			return job
		},
		"the job, of a dispute": func(h *harness, o payment.Order) act {
			h.stripe.Dispute(h.soldAs(o).SessionID, "needs_response")
			h.deliver(h.newest())
			h.work()
			h.ahead += 7 * time.Hour
			return job
		},
		"prune": func(h *harness, _ payment.Order) act {
			h.exec(`INSERT INTO payment_events (provider_id, created_at) VALUES ('old', 1) ON CONFLICT DO NOTHING`)
			return func(b *payment.Store) error {
				_, err := prune.Rows(t.Context(), b.DB, b.Now(), payment.Expiring())
				return err
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHarness(t)
			h.work()
			left := -1 // statements until the cut; negative: no cut
			db := sqldbtest.OpenWith(t, h.at, sqldb.Options{Cut: func(string) error {
				if left--; left == 0 {
					return errCut
				}
				return nil
			}})
			box, err := secret.NewSealer(make([]byte, secret.KeySize))
			if err != nil {
				t.Fatal(err)
			}
			b := bookOn(db, box, h.now, h.stripe.URL, &h.log)
			var first totals
			for n, cut := 1, true; cut; n++ {
				before := h.totals()
				o := h.order()
				o.PartnerID = h.newPartner()
				do := prepare(h, o)
				h.due(1)
				left = n
				err := do(b)
				if cut = left <= 0; cut && !errors.Is(err, errCut) {
					t.Errorf("nothing is said of a cut at statement %d: %v", n, err)
				}
				left = -1
				h.due(1)
				if cut {
					if err := do(b); err != nil {
						t.Fatalf("again, after a cut at statement %d: %v", n, err)
					}
				}
				h.due(0) // or the job has more to do each time
				if !cut && n < 2 {
					t.Error("it has no statement to be cut at")
				}
				got := h.totals().less(before)
				if n == 1 {
					first = got
				}
				if got != first {
					t.Errorf("a cut at statement %d leaves %v, one at the first %v", n, got, first)
				}
			}
		})
	}
}

// due sets when the job asks about what it still asks about; 0: never.
func (h *harness) due(at int64) {
	h.Helper()
	for _, table := range []string{"checkouts", "payment_refunds", "payment_disputes"} {
		h.exec(`UPDATE `+table+` SET next_at = $1 WHERE next_at <> 0`, at)
	}
	h.exec(`UPDATE payment_lookups SET next_at = 1`)
	h.exec(`UPDATE ledger_sales SET fee_look_at = $1 WHERE fee_look_at <> 0`, at)
}

// totals are the sums of what is recorded here and at Stripe.
type totals [len(sums)]int64

// sums are queries for what one act changes by the same, wherever it is cut off.
var sums = [...]string{
	`SELECT count(*) FROM checkouts`,
	`SELECT coalesce(sum(state), 0) FROM checkouts`,
	`SELECT coalesce(sum(paid), 0) FROM checkouts`,
	`SELECT count(*) FROM checkouts WHERE purchase_id <> 0`,
	`SELECT count(*) FROM checkouts WHERE refund_id <> 0`,
	`SELECT count(*) FROM purchases`,
	`SELECT coalesce(sum(amount_cents), 0) FROM purchases`,
	`SELECT count(*) FROM refunds`,
	`SELECT count(*) FROM purchase_links WHERE refund_id <> 0`,
	`SELECT coalesce(sum(status), 0) FROM licenses`,
	`SELECT count(*) FROM license_holds`,
	`SELECT coalesce(sum(amount), 0) FROM payment_refunds`,
	`SELECT coalesce(sum(status), 0) FROM payment_refunds`,
	`SELECT count(*) FROM payment_disputes WHERE held`,
	`SELECT count(*) FROM payment_problems`,
	`SELECT count(*) FROM payment_problems WHERE done_at = 0`,
	`SELECT count(*) FROM audit_entries`,
	`SELECT count(*) FROM ledger_postings`,
	`SELECT coalesce(sum(gross), 0) FROM ledger_postings`,
	`SELECT count(*) FROM ledger_facts`,
	`SELECT coalesce(sum(amount), 0) FROM ledger_fees`,
	"cs",
	"re",
}

func (h *harness) totals() (all totals) {
	h.Helper()
	for i, of := range sums {
		if strings.HasPrefix(of, "SELECT ") {
			all[i] = h.count(of)
		} else {
			all[i] = int64(len(h.stripe.Objects(of)))
		}
	}
	return all
}

// less returns what was added since.
func (all totals) less(before totals) totals {
	for i := range all {
		all[i] -= before[i]
	}
	return all
}

// receive takes the newest event of Stripe.
func (h *harness) receive() func(*payment.Store) error {
	e := h.newest()
	return func(b *payment.Store) error { return b.Receive(h.Context(), e.Body, h.stripe.Sign(e.Body)) }
}

// soldAs sells an order.
func (h *harness) soldAs(o payment.Order) payment.Checkout {
	h.Helper()
	c := h.begin(o)
	h.stripe.Pay(c.SessionID)
	h.deliver(h.newest())
	return c
}

// paidTwice pays an order twice and returns the id of the problem.
func (h *harness) paidTwice(o payment.Order) int64 {
	h.Helper()
	c := h.soldAs(o)
	o.Tier = 2
	other := h.begin(o)
	h.stripe.Change(other.SessionID, map[string]any{"client_reference_id": c.Ref})
	h.stripe.Pay(other.SessionID)
	h.deliver(h.newest())
	return h.count(`SELECT max(id) FROM payment_problems`)
}
