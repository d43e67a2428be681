package payment_test

import (
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"claviger/internal/event"
	"claviger/internal/license"
	"claviger/internal/payment"
	"claviger/internal/sqldb"
)

// TestSell: a paid session becomes one license, however often it is reported.
func TestSell(t *testing.T) {
	h := newHarness(t)
	c := h.begin(h.order())
	if again := h.begin(h.order()); again.Ref != c.Ref || again.SessionURL != c.SessionURL || c.SessionURL == "" {
		t.Errorf("a second Buy got %+v after %+v", again, c)
	}
	h.stripe.Pay(c.SessionID)
	h.want("nobody told us", c, payment.Open, 0, false)
	paid := h.stripe.Events()[0]
	h.deliver(paid, paid)
	h.want("paid", c, payment.Sold, event.Inactive, false)
	h.ahead = 2 * time.Minute
	h.work()
	h.deliver(paid)
	h.want("said again", c, payment.Sold, event.Inactive, false)
	if n := h.count(`SELECT count(*) FROM licenses`); n != 1 {
		t.Errorf("%d licenses", n)
	}
	l := h.licensesOf(c)[0]
	if l.OwnerID != h.buyer.ID || h.checkout(c).IntentID == "" {
		t.Errorf("sold %+v for %+v", l, h.checkout(c))
	}
	if next := h.begin(h.order()); next.Ref == c.Ref {
		t.Error("a third Buy returned what was sold")
	}
}

// TestNoWebhookEverComes: the job sells paid checkouts, closes unpaid ones, and follows refunds and
// disputes.
func TestNoWebhookEverComes(t *testing.T) {
	h := newHarness(t)
	paid, late, never := h.begin(h.order()), h.begin(h.tier(2)), h.begin(h.other())
	h.stripe.Pay(paid.SessionID)
	h.stripe.PayLater(late.SessionID)
	h.ahead += 2 * time.Minute
	h.work()
	h.want("paid", paid, payment.Sold, event.Inactive, false)
	h.want("at the bank", late, payment.Pending, 0, false)
	h.want("open", never, payment.Open, 0, false)
	h.stripe.Settle(late.SessionID, true)
	h.stripe.Expire(never.SessionID)
	dispute := h.stripe.Dispute(paid.SessionID, "needs_response")
	h.ahead += 20 * time.Minute
	h.work()
	h.want("disputed", paid, payment.Sold, event.Deactivated, true)
	h.want("paid late", late, payment.Sold, event.Inactive, false)
	h.want("expired", never, payment.Closed, 0, false)
	h.stripe.SetDispute(dispute, "won")
	h.stripe.Refund(late.SessionID, 11800, "succeeded")
	h.ahead += 8 * time.Hour
	h.work()
	h.want("won", paid, payment.Sold, event.Inactive, false)
	h.want("refunded", late, payment.Sold, event.Deactivated, false)
}

func (h *harness) tier(n int) payment.Order {
	o := h.order()
	o.Tier, o.PlanName, o.Amount = n, "Tier 2", int64(n)*5900
	return o
}

func (h *harness) other() payment.Order {
	o := h.order()
	o.PartnerID = h.newPartner()
	return o
}

// TestAsyncFailure: a refusal by the bank closes the checkout, by its event or by the job. A later
// payment still sells.
func TestAsyncFailure(t *testing.T) {
	for name, tell := range map[string]func(*harness){
		"event": func(h *harness) { h.deliver(h.stripe.Events()...) },
		"job":   func(h *harness) { h.ahead += time.Hour; h.work() },
	} {
		t.Run(name, func(t *testing.T) {
			h := newHarness(t)
			c := h.begin(h.order())
			h.stripe.PayLater(c.SessionID)
			h.stripe.Settle(c.SessionID, false)
			tell(h)
			h.want("refused", c, payment.Closed, 0, false)
			h.stripe.Settle(c.SessionID, true)
			h.deliver(h.stripe.Events()...)
			h.want("paid after all", c, payment.Sold, event.Inactive, false)
		})
	}
}

// TestPriceHolds: a checkout sells at the price shown, although the plan has another one by then. A
// new Buy ends the session with the old price.
func TestPriceHolds(t *testing.T) {
	h := newHarness(t)
	old := h.begin(h.order())
	o := h.order()
	o.Amount = 6900
	c := h.begin(o)
	if c.Ref == old.Ref || h.checkout(old).State != payment.Closed || h.stripe.Objects("cs")[1]["status"] != "expired" {
		t.Errorf("the old one is %+v", h.checkout(old))
	}
	if err := h.partners.DeletePlan(t.Context(), tester, h.partner, 1); err != nil {
		t.Fatal(err)
	}
	h.stripe.Pay(c.SessionID)
	h.deliver(h.stripe.Events()...)
	h.want("at the price shown", c, payment.Sold, event.Inactive, false)
	if n := h.count(`SELECT amount_cents FROM purchases`); n != 6900 {
		t.Errorf("sold for %d", n)
	}
}

// TestPaidMeanwhile: a buyer who orders at another price while the first is being paid gets the
// paid checkout.
func TestPaidMeanwhile(t *testing.T) {
	h := newHarness(t)
	c := h.begin(h.order())
	h.stripe.Pay(c.SessionID)
	o := h.order()
	o.Amount = 6900
	if got := h.begin(o); got.Ref != c.Ref || got.State != payment.Sold {
		t.Errorf("got %+v", got)
	}
}

// TestTwoTabs: two simultaneous tabs share one checkout.
func TestTwoTabs(t *testing.T) {
	h := newHarness(t)
	refs := make([]string, 4)
	var tabs sync.WaitGroup
	for i := range refs {
		tabs.Go(func() {
			c, err := h.book.Begin(t.Context(), h.order())
			if err != nil {
				t.Error(err)
			}
			refs[i] = c.Ref
		})
	}
	tabs.Wait()
	if slices.Sort(refs); len(slices.Compact(refs)) != 1 || h.count(`SELECT count(*) FROM checkouts`) != 1 {
		t.Errorf("checkouts %v", refs)
	}
}

// TestStripeAway: the buyer is told how to continue, and the checkout can be resumed.
func TestStripeAway(t *testing.T) {
	h := newHarness(t)
	broken := true
	h.stripe.Broken = func() bool { return broken }
	if _, err := h.book.Begin(t.Context(), h.order()); code(err) != payment.CodeUnavailable {
		t.Errorf("away: %v", err)
	}
	broken = false
	c := h.begin(h.order())
	if n := h.count(`SELECT count(*) FROM checkouts`); n != 1 || c.SessionURL == "" {
		t.Errorf("%d checkouts, %+v", n, c)
	}
	if strings.Contains(h.log.String(), "the fake refuses") {
		t.Errorf("the log has Stripe's whole answer:\n%s", h.log.String())
	}
}

// TestCutOffBeforeTheSession: a checkout that never got a page is closed eventually.
func TestCutOffBeforeTheSession(t *testing.T) {
	h := newHarness(t)
	h.stripe.Broken = func() bool { return true }
	_, _ = h.book.Begin(t.Context(), h.order())
	h.stripe.Broken = nil
	h.ahead = time.Hour
	h.work()
	if n := h.count(`SELECT count(*) FROM checkouts WHERE state = 4 AND next_at = 0`); n != 1 {
		t.Errorf("%d closed", n)
	}
}

// TestUnsold: a payment that cannot be sold becomes a problem and is refunded.
func TestUnsold(t *testing.T) {
	for name, c := range map[string]struct {
		do   func(h *harness, c payment.Checkout)
		want payment.ProblemKind
	}{
		"another amount": {func(h *harness, c payment.Checkout) {
			h.stripe.Change(c.SessionID, map[string]any{"amount_total": int64(5800)})
		}, payment.PaidOtherAmount},
		"another currency": {func(h *harness, c payment.Checkout) {
			h.stripe.Change(c.SessionID, map[string]any{"currency": "eur"})
		}, payment.PaidOtherAmount},
		"erased": {func(h *harness, _ payment.Checkout) {
			if _, err := h.licenses.EraseUser(h.Context(), tester, h.buyer.ID); err != nil {
				h.Fatal(err)
			}
		}, payment.PaidErased},
		"partner removed": {func(h *harness, c payment.Checkout) {
			err := h.db.Write(h.Context(), func(tx *sqldb.Tx) error {
				_, err := h.partners.Remove(h.Context(), tx, tester, c.PartnerID)
				return err
			})
			if err != nil {
				h.Fatal(err)
			}
		}, payment.PaidUnknown},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHarness(t)
			began := h.begin(h.order())
			c.do(h, began)
			h.stripe.Pay(began.SessionID)
			h.deliver(h.stripe.Events()...)
			h.deliver(h.stripe.Events()...)
			h.want("paid", began, payment.Unsold, 0, false)
			if got := h.problems(); !slices.Equal(got, []payment.ProblemKind{c.want}) {
				t.Fatalf("problems %v", got)
			}
			h.refundProblem()
			if got := h.problems(); len(got) != 0 {
				t.Errorf("left %v", got)
			}
			if f := h.stripe.Objects("re"); len(f) != 1 {
				t.Errorf("refunds %v", f)
			}
		})
	}
}

// refundProblem presses Refund twice and runs the job.
func (h *harness) refundProblem() {
	h.Helper()
	id := h.count(`SELECT id FROM payment_problems WHERE done_at = 0`)
	for range 2 {
		if _, err := h.book.RefundProblem(h.Context(), tester, id); err != nil {
			h.Fatal(err)
		}
	}
	h.work()
}

// TestPaused: a paid checkout sells although the partner is paused.
func TestPaused(t *testing.T) {
	h := newHarness(t)
	c := h.begin(h.order())
	err := h.db.Write(t.Context(), func(tx *sqldb.Tx) error {
		_, err := h.partners.Pause(t.Context(), tx, tester, h.partner, "unpaid")
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	h.stripe.Pay(c.SessionID)
	h.deliver(h.stripe.Events()...)
	h.want("paused", c, payment.Sold, event.Inactive, false)
}

// TestAfterARestore: a payment without a checkout is recognized as ours and refunded. One of
// another shop is ignored.
func TestAfterARestore(t *testing.T) {
	h := newHarness(t)
	c := h.begin(h.order())
	h.stripe.Pay(c.SessionID)
	h.exec(`DELETE FROM checkouts`)
	h.deliver(h.stripe.Events()...)
	if got := h.problems(); !slices.Equal(got, []payment.ProblemKind{payment.PaidUnknown}) {
		t.Fatalf("problems %v", got)
	}
	h.refundProblem()
	if got := h.problems(); len(got) != 0 || len(h.stripe.Objects("re")) != 1 {
		t.Errorf("left %v", got)
	}
	h.stripe.Change(c.SessionID, map[string]any{"client_reference_id": "co_" + strings.Repeat("0", 32) + "_" + strings.Repeat("0", 32)})
	before := h.count(`SELECT count(*) FROM payment_problems`)
	h.ahead = time.Hour
	h.work()
	if n := h.count(`SELECT count(*) FROM payment_problems`); n != before {
		t.Error("a payment of another shop became a problem")
	}
}

// TestPlanChange: a paid plan change changes the license once. A second payment for it becomes a
// problem, and so does one for a license refunded meanwhile.
func TestPlanChange(t *testing.T) {
	h := newHarness(t)
	base := h.begin(h.order())
	h.stripe.Pay(base.SessionID)
	h.deliver(h.stripe.Events()...)
	l := h.licensesOf(base)[0]
	o := h.tier(2)
	o.LicenseKey, o.Amount = l.Key, 5900
	c := h.begin(o)
	h.stripe.Pay(c.SessionID)
	h.deliver(h.stripe.Events()...)
	h.want("changed", c, payment.Sold, event.Inactive, false)
	if got := h.licensesOf(c)[0]; got.Tier != 2 || got.Key != l.Key {
		t.Errorf("changed to %+v", got)
	}
	again := h.begin(o)
	h.stripe.Pay(again.SessionID)
	h.deliver(h.stripe.Events()...)
	h.want("again", again, payment.Unsold, 0, false)
	if got := h.problems(); !slices.Equal(got, []payment.ProblemKind{payment.PaidTwice}) {
		t.Errorf("problems %v", got)
	}
	h.refundProblem()
	h.stripe.Refund(base.SessionID, 5900, "succeeded")
	h.deliver(h.stripe.Events()...)
	if got := h.licensesOf(c)[0]; got.Tier != 2 || got.Status != event.Inactive {
		t.Errorf("after a refund of the base: %+v", got)
	}
	late := h.begin(func() payment.Order { o := o; o.Tier, o.PlanName = 1, "Tier 1"; return o }())
	if _, err := h.licenses.Refund(t.Context(), tester, license.RefundOrder{LicenseKey: l.Key, ExternalID: "x"}); err != nil {
		t.Fatal(err)
	}
	h.stripe.Pay(late.SessionID)
	h.deliver(h.stripe.Events()...)
	if got := h.problems(); !slices.Equal(got, []payment.ProblemKind{payment.PaidRefunded}) {
		t.Errorf("problems %v", got)
	}
}

// TestChargeable: amounts that cannot be charged are refused before payment.
func TestChargeable(t *testing.T) {
	for _, c := range []struct {
		units        int64
		currency     string
		ok, tooSmall bool
	}{
		{5900, "USD", true, false},
		{49, "USD", true, true},
		{5900, "JPY", true, false},
		{49, "JPY", true, true},
		{59, "ISK", true, false},
		{5900, "KWD", true, false},
		{5901, "KWD", false, false},
		{5900, "MGA", true, false},
		{5901, "MGA", false, false},
		{5900, "UGX", false, false},
		{5900, "", false, false},
	} {
		if ok, small := payment.Chargeable(c.units, c.currency); ok != c.ok || small != c.tooSmall {
			t.Errorf("%d %s: %t, %t", c.units, c.currency, ok, small)
		}
	}
	h := newHarness(t)
	o := h.order()
	o.Currency = "UGX"
	if _, err := h.book.Begin(t.Context(), o); code(err) != "currency_not_sold" {
		t.Errorf("%v", err)
	}
	o.Currency, o.Amount = "ISK", 5900
	c := h.begin(o)
	if got := h.stripe.Objects("cs")[0]["amount_total"]; got != int64(590000) {
		t.Errorf("charges %v", got)
	}
	h.stripe.Pay(c.SessionID)
	h.deliver(h.stripe.Events()...)
	h.want("crowns", c, payment.Sold, event.Inactive, false)
}
