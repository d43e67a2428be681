package payment_test

import (
	"fmt"
	"testing"

	"claviger/internal/fault"
	"claviger/internal/license"
	"claviger/internal/payment"
)

// TestFailedReads checks that a query that fails is an error of its reader: neither a refusal nor a
// shorter answer. A payment whose refunds cannot be read is no credit. Each reader is tried without
// each of the tables.
func TestFailedReads(t *testing.T) {
	h := newHarness(t)
	c, other, l := h.changedPlan()
	h.stripe.Refund(c.SessionID, 100, "succeeded")
	h.deliver(h.newest())
	h.stripe.Dispute(other.SessionID, "needs_response")
	h.deliver(h.newest())
	h.stripe.Dispute(c.SessionID, "warning_needs_response")
	h.deliver(h.newest())
	if err := h.book.SetPlanRule(t.Context(), tester, h.partner, payment.FullPrice); err != nil {
		t.Fatal(err)
	}
	ctx, b, ids := t.Context(), h.book, []int64{c.ID, other.ID}
	list := map[string]func() (any, error){
		"paid for":     func() (any, error) { return b.PaidFor(ctx, l) },
		"paid here":    func() (any, error) { return b.PaidHere(ctx, license.RefundOrder{LicenseKey: l.Key}) },
		"by ref":       func() (any, error) { return b.ByRef(ctx, c.Ref) },
		"of purchases": func() (any, error) { return b.OfPurchases(ctx, []int64{c.PurchaseID}) },
		"a refund":     func() (any, error) { return b.RefundByID(ctx, 1) },
		"problems":     func() (any, error) { return b.Problems(ctx) },
		"a problem":    func() (any, error) { return b.Problem(ctx, 1) },
		"rule":         func() (any, error) { return b.PlanRuleOf(ctx, h.partner) },
		"depth":        func() (any, error) { return payment.ReadDepth(ctx, h.db, h.now()) },
		"facts": func() (any, error) {
			refunds, disputes, err := b.Facts(ctx, ids)
			return fmt.Sprintf("%+v %+v", refunds, disputes), err
		},
	}
	answer := func(name string) (string, error) {
		got, err := list[name]()
		return fmt.Sprintf("%+v", got), err
	}
	whole, failed := map[string]string{}, map[string]bool{}
	for name := range list {
		var err error
		if whole[name], err = answer(name); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, table := range []string{
		"licenses", "purchases", "purchase_links", "checkouts", "payment_refunds", "payment_disputes", "payment_problems",
		"payment_lookups", "payment_events", "plan_prices",
	} {
		h.exec(`ALTER TABLE ` + table + ` RENAME TO away`)
		for name := range list {
			got, err := answer(name)
			switch {
			case err == nil && got != whole[name]:
				t.Errorf("%s without the table %s:\n%s\nwith it:\n%s", name, table, got, whole[name])
			case fault.Of(err) != nil:
				t.Errorf("%s without the table %s is refused: %v", name, table, err)
			case err != nil:
				failed[name] = true
			}
		}
		h.exec(`ALTER TABLE away RENAME TO ` + table)
	}
	for name := range list {
		if !failed[name] {
			t.Errorf("%s reads none of the tables", name)
		}
	}
}
