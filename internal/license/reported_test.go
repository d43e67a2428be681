package license_test

import (
	"context"
	"slices"
	"testing"

	"claviger/internal/event"
	"claviger/internal/license"
	"claviger/internal/sqldb"
)

// TestHoldsHaveCauses checks that a license is held while it has a cause. The holds of the operator
// and of a dispute end separately, and each shows its reason.
func TestHoldsHaveCauses(t *testing.T) {
	h, ctx := newHarness(t), t.Context()
	l := h.buy(license.Purchase{PartnerID: h.partner(), Tier: 1})[0]
	first, second := license.ByDispute("dp_1"), license.ByDispute("dp_2")
	do := func(name, wantCode string, want license.Hold, events int, f func() error) {
		t.Helper()
		if got := code(f()); got != wantCode {
			t.Errorf("%s: %q, want %q", name, got, wantCode)
		}
		if l := h.license(l.Key); l.Held != want || (l.Status == event.Deactivated) != (want != 0) || len(h.history(l)) != events {
			t.Errorf("%s: held %q, %s, %d events", name, l.Held, l.Status, len(h.history(l)))
		}
	}
	lift := func() error { _, err := h.licenses.Reinstate(ctx, tester, l.Key); return err }
	hold := func() error { _, err := h.licenses.HoldNew(ctx, tester, l.Key, license.HoldOther); return err }
	do("a dispute", "", license.HoldChargeback, 2, func() error { return h.licenses.HoldFor(ctx, tester, l, first) })
	do("the same again", "", license.HoldChargeback, 2, func() error { return h.licenses.HoldFor(ctx, tester, l, first) })
	do("the operator cannot lift it", license.CodeLicenseHeld, license.HoldChargeback, 2, lift)
	do("the operator holds it, too", "", license.HoldChargeback, 2, hold)
	do("once only", license.CodeLicenseHeld, license.HoldChargeback, 2, hold)
	do("a second dispute", "", license.HoldChargeback, 2, func() error { return h.licenses.HoldFor(ctx, tester, l, second) })
	do("the first ends", "", license.HoldOther, 2, func() error { return h.licenses.LiftFor(ctx, tester, l, first) })
	do("the operator lifts", "", license.HoldChargeback, 2, lift)
	do("the second ends", "", 0, 3, func() error { return h.licenses.LiftFor(ctx, tester, l, second) })
	do("it ends again", "", 0, 3, func() error { return h.licenses.LiftFor(ctx, tester, l, second) })
	do("nothing to lift", "", 0, 3, lift)
	strictly := func() error { _, err := h.licenses.LiftHold(ctx, tester, l.Key); return err }
	do("nothing to lift, strictly", "license_not_held", 0, 3, strictly)
	do("the operator holds it again", "", license.HoldOther, 4, hold)
	do("the operator lifts that, strictly", "", 0, 5, strictly)
	dispute := func() error { return h.licenses.HoldFor(ctx, tester, l, first) }
	do("a dispute again", "", license.HoldChargeback, 6, dispute)
	do("the operator cannot lift that, strictly", license.CodeLicenseHeld, license.HoldChargeback, 6, strictly)
}

// TestReportedRefund checks that a reported refund is never refused. An older link closes alone
// although a newer one stands, and already refunded ones are left out.
func TestReportedRefund(t *testing.T) {
	h, ctx := newHarness(t), t.Context()
	partnerID := h.partner()
	sale, err := h.tryBuy(license.Purchase{PartnerID: partnerID, Tier: 1, ExternalID: "s-1"})
	if err != nil {
		t.Fatal(err)
	}
	key := sale.Licenses[0].Key
	if _, err := h.licenses.ChangePlan(ctx, tester, key, license.PlanChange{Tier: 2, ExternalID: "c-1"}); err != nil {
		t.Fatal(err)
	}
	order := license.RefundOrder{PartnerID: partnerID, PurchaseID: sale.ID, ExternalID: "re_1"}
	if _, err := h.licenses.Refund(ctx, tester, order); code(err) != "later_purchase_exists" {
		t.Errorf("an order to refund the older: %v", err)
	}
	order.Reported = true
	f, err := h.licenses.Refund(ctx, tester, order)
	if err != nil || f.ID == 0 {
		t.Fatalf("a reported one: %+v, %v", f, err)
	}
	if l := h.license(key); l.Tier != 2 || l.Status != event.Inactive {
		t.Errorf("after the base was refunded: tier %d, %s", l.Tier, l.Status)
	}
	order.ExternalID = "re_2"
	if f, err := h.licenses.Refund(ctx, tester, order); err != nil || f.ID != 0 {
		t.Errorf("of nothing: %+v, %v", f, err)
	}
	if n := h.count(`SELECT count(*) FROM refunds`); n != 1 {
		t.Errorf("%d refunds", n)
	}
}

// TestRefundWithoutEffectIsAudited checks that a refund of an older link has an audit entry, although
// the license stays as it was.
func TestRefundWithoutEffectIsAudited(t *testing.T) {
	h := newHarness(t)
	s := &script{harness: h, l: h.buy(license.Purchase{PartnerID: h.partner(), Tier: 1, ExternalID: "base"})[0]}
	s.steps(t, []string{"plan 1 again"})
	before := h.license(s.l.Key)
	s.steps(t, []string{"reported base"})
	if after := h.license(s.l.Key); after != before {
		t.Errorf("the license became %+v, was %+v", after, before)
	}
	if n := h.count(`SELECT count(*) FROM audit_entries WHERE action = 'license.refund'`); n != 1 {
		t.Errorf("%d audit entries of the refund", n)
	}
}

// TestPaidOrder checks that a paid order is sold although the plan was removed and the partner
// paused, to a buyer named by id; but not to an erased one.
func TestPaidOrder(t *testing.T) {
	h, ctx := newHarness(t), t.Context()
	partnerID, ann := h.partner(), h.user("ann")
	base := h.buy(license.Purchase{PartnerID: partnerID, Tier: 1, BuyerID: ann.ID})[0]
	if err := h.partners.DeletePlan(ctx, tester, partnerID, 3); err != nil {
		t.Fatal(err)
	}
	h.pause(partnerID, true)
	p := license.Purchase{PartnerID: partnerID, Tier: 3, BuyerID: ann.ID, Quantity: 1, ExternalID: "co_1"}
	if _, err := h.tryBuy(p); code(err) != "partner_paused" {
		t.Errorf("an order that is not paid: %v", err)
	}
	var marked []int64
	h.licenses.Record = func(_ *sqldb.Tx, list []*license.Payment) {
		marked = append(marked, list[0].CheckoutID, list[0].SaleID)
	}
	o := license.Order{Purchase: p, By: tester, Paid: true, PlanName: "Gone", Payment: &license.Payment{CheckoutID: 7}}
	sale, err := h.licenses.Sell(ctx, o)
	if err != nil || sale.Licenses[0].OwnerID != ann.ID {
		t.Fatalf("a paid order: %+v, %v", sale, err)
	}
	if again, err := h.licenses.Sell(ctx, o); err != nil || again.ID != sale.ID {
		t.Errorf("its repeat: %+v, %v", again, err)
	}
	if want := []int64{7, sale.ID, 7, sale.ID}; !slices.Equal(marked, want) {
		t.Errorf("recorded %v, want %v", marked, want)
	}
	change := license.PlanChange{Tier: 3, ExternalID: "co_2", Paid: true, PlanName: "Gone"}
	if l, err := h.licenses.ChangePlan(ctx, tester, base.Key, change); err != nil || l.Tier != 3 {
		t.Errorf("a paid plan change: %+v, %v", l, err)
	}
	for _, l := range []license.License{sale.Licenses[0], base} {
		if got := h.named(l); got[len(got)-1] != "purchase Gone" {
			t.Errorf("the last webhook is %q, want the name of the plan that was paid for", got[len(got)-1])
		}
	}
	if _, err := h.licenses.EraseUser(ctx, tester, ann.ID); err != nil {
		t.Fatal(err)
	}
	o.ExternalID = "co_3"
	if _, err := h.licenses.Sell(ctx, o); code(err) != "user_erased" {
		t.Errorf("for somebody who was erased: %v", err)
	}
}

// TestWithin checks that acts within a transaction are committed and rolled back with it.
func TestWithin(t *testing.T) {
	h, ctx := newHarness(t), t.Context()
	partnerID, ann := h.partner(), h.user("ann")
	act := func(end error) error {
		return h.db.Write(ctx, func(tx *sqldb.Tx) error {
			r := h.licenses.Within(tx)
			sale, err := r.Purchase(ctx, tester, license.Purchase{PartnerID: partnerID, Tier: 1, BuyerID: ann.ID, Quantity: 2, ExternalID: "co_1"})
			if err != nil {
				return err
			}
			for _, l := range sale.Licenses {
				if err := r.HoldFor(ctx, tester, l, license.ByDispute("dp_1")); err != nil {
					return err
				}
			}
			if f, err := r.Refund(ctx, tester, license.RefundOrder{PartnerID: partnerID, PurchaseID: sale.ID, Reported: true}); err != nil || len(f.Licenses) != 2 {
				t.Errorf("refunded %+v, %v", f, err)
			}
			return end
		})
	}
	if err := act(context.Canceled); err == nil || h.count(`SELECT count(*) FROM licenses`) != 0 {
		t.Errorf("undone: %v", err)
	}
	if err := act(nil); err != nil || h.count(`SELECT count(*) FROM licenses WHERE held = 1 AND status = 3`) != 2 || h.count(`SELECT count(*) FROM events`) != 4 {
		t.Errorf("made: %v, %d licenses", err, h.count(`SELECT count(*) FROM licenses WHERE held = 1 AND status = 3`))
	}
}
