package payment_test

import (
	"errors"
	"slices"
	"testing"

	"claviger/internal/account"
	"claviger/internal/event"
	"claviger/internal/license"
	"claviger/internal/partner"
	"claviger/internal/payment"
	"claviger/internal/sqldb"
)

// pay pays a checkout and delivers Stripe's events.
func (h *harness) pay(c payment.Checkout) payment.Checkout {
	h.Helper()
	h.stripe.Pay(c.SessionID)
	h.tell()
	return h.checkout(c)
}

// tell delivers all events and runs the job.
func (h *harness) tell() {
	h.Helper()
	h.deliver(h.stripe.Events()...)
	h.work()
}

// price returns the price of another plan for the owner of a license.
func (h *harness) price(l license.License, tier int) (partner.Plan, payment.PlanPrice) {
	h.Helper()
	plan, err := h.partners.Plan(h.Context(), h.partner, tier)
	if err != nil {
		h.Fatal(err)
	}
	rule, err := h.book.PlanRuleOf(h.Context(), h.partner)
	if err != nil {
		h.Fatal(err)
	}
	paid, err := h.book.PaidFor(h.Context(), l)
	if err != nil {
		h.Fatal(err)
	}
	return plan, payment.PriceOfPlan(rule, plan, paid)
}

// upgrade begins a paid plan change.
func (h *harness) upgrade(l license.License, tier int) payment.Checkout {
	h.Helper()
	_, price := h.price(l, tier)
	o := h.tier(tier)
	o.LicenseKey, o.Amount, o.Credit = l.Key, price.Amount.Units, price.Credits
	return h.begin(o)
}

// free changes the plan of a license without a payment.
func (h *harness) free(l license.License, tier int, order string) error {
	h.Helper()
	plan, _ := h.price(l, tier)
	return h.book.ChangeFree(h.Context(), tester, l, plan, order)
}

// stands compares the status and tier of a license, and the open problems.
func (h *harness) stands(name string, l license.License, status event.Status, tier int, problems ...payment.ProblemKind) {
	h.Helper()
	got, err := h.licenses.ByKey(h.Context(), l.Key)
	if err != nil {
		h.Fatal(err)
	}
	if got.Status != status || got.Tier != tier {
		h.Errorf("%s: the license is %s of tier %d, want %s of %d", name, got.Status, got.Tier, status, tier)
	}
	if kinds := h.problems(); !slices.Equal(kinds, problems) {
		h.Errorf("%s: problems %v, want %v", name, kinds, problems)
	}
}

// redeemed buys a plan at Stripe and redeems the license.
func (h *harness) redeemed(o payment.Order) (payment.Checkout, license.License) {
	h.Helper()
	c := h.pay(h.begin(o))
	l := h.licensesOf(c)[0]
	l, err := h.licenses.Redeem(h.Context(), tester, l.RedemptionID, h.buyer.ID)
	if err != nil {
		h.Fatal(err)
	}
	return c, l
}

// TestRefundAfterFreeChanges: after two free plan changes, a refund of the payment ends the
// license, whichever way the money is returned.
func TestRefundAfterFreeChanges(t *testing.T) {
	for name, back := range map[string]func(*harness, payment.Checkout, license.License) error{
		"refund at Stripe": func(h *harness, c payment.Checkout, _ license.License) error {
			h.stripe.RefundAll(c.SessionID)
			return nil
		},
		"lost dispute": func(h *harness, c payment.Checkout, _ license.License) error {
			h.stripe.SetDispute(h.stripe.Dispute(c.SessionID, "needs_response"), "lost")
			return nil
		},
		"order by purchase": func(h *harness, c payment.Checkout, _ license.License) error {
			_, _, err := h.book.AskRefunds(h.Context(), tester, license.RefundOrder{PurchaseID: c.PurchaseID}, "order-1")
			return err
		},
		"order by license": func(h *harness, _ payment.Checkout, l license.License) error {
			_, _, err := h.book.AskRefunds(h.Context(), tester, license.RefundOrder{LicenseKey: l.Key}, "order-1")
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHarness(t)
			c, l := h.redeemed(h.tier(2))
			for i, tier := range []int{1, 2} {
				if err := h.free(l, tier, []string{"down", "up"}[i]); err != nil {
					t.Fatal(err)
				}
				h.stands("after a free change", l, event.Active, tier)
			}
			if n := h.count(`SELECT count(*) FROM purchases WHERE shop = $1 AND amount_cents = 0`, true); n != 2 {
				t.Errorf("%d of 2 changes are known as made in the shop", n)
			}
			if err := back(h, c, l); err != nil {
				t.Fatal(err)
			}
			h.work()
			h.tell()
			h.stands("after the money went back", l, event.Deactivated, 2)
			if err := h.free(l, 1, "again"); code(err) != license.CodeCreditGone {
				t.Errorf("another free change: %v", err)
			}
		})
	}
}

// TestNotFree: a change that costs the smallest unit of a currency is not made for nothing,
// and neither is one that only the operator makes.
func TestNotFree(t *testing.T) {
	h := newHarness(t)
	o := h.order()
	o.Currency = "THB" // for which no smallest charge is known
	_, l := h.redeemed(o)
	for price, want := range map[int64]string{5901: license.CodeCreditGone, 5900: "<nil>"} {
		plan := partner.Plan{Tier: 2, PriceCents: price, Currency: "THB"}
		if err := h.book.ChangeFree(t.Context(), tester, l, plan, "up"); code(err) != want {
			t.Errorf("%d more: %v", price-5900, err)
		}
	}
	h.stands("changed", l, event.Active, 2)
	moved := l
	moved.PartnerID = 99
	if err := h.free(moved, 1, "down"); !errors.Is(err, sqldb.ErrNone) {
		t.Errorf("without a partner to lock: %v", err)
	}
	if err := h.book.SetPlanRule(t.Context(), tester, h.partner, payment.NotInShop); err != nil {
		t.Fatal(err)
	}
	if err := h.free(l, 1, "down"); code(err) != license.CodeCreditGone {
		t.Errorf("by the operator only: %v", err)
	}
}

// TestPaidNotStanding: an upgrade whose first payment is lost buys nothing. It is reported
// until the dispute is won or the money has gone back.
func TestPaidNotStanding(t *testing.T) {
	h := newHarness(t)
	first, l := h.redeemed(h.order())
	second := h.pay(h.upgrade(l, 2))
	if second.Amount != 5900 || second.Credit != 5900 {
		t.Fatalf("the upgrade costs %d less %d", second.Amount, second.Credit)
	}
	h.stands("upgraded", l, event.Active, 2)
	dispute := h.stripe.Dispute(first.SessionID, "needs_response")
	h.tell()
	h.stands("disputed", l, event.Deactivated, 2)
	h.stripe.SetDispute(dispute, "lost")
	h.tell()
	h.stands("lost", l, event.Deactivated, 2, payment.PaidNotStanding)
	h.stripe.SetDispute(dispute, "won")
	h.tell()
	h.stands("won", l, event.Active, 2)
	h.stripe.SetDispute(dispute, "lost")
	h.tell()
	h.stands("lost again", l, event.Deactivated, 2, payment.PaidNotStanding)
	list, err := h.book.Problems(t.Context())
	if err != nil || len(list) != 1 || !list[0].Refundable() || list[0].Amount != 5900 || list[0].IntentID != second.IntentID {
		t.Fatalf("reported %+v, %v", list, err)
	}
	if _, err := h.book.RefundProblem(t.Context(), tester, list[0].ID); err != nil {
		t.Fatal(err)
	}
	h.work()
	h.tell()
	h.stands("refunded", l, event.Deactivated, 2)
	h.stripe.SetDispute(dispute, "won")
	h.tell()
	h.stands("won after the refund", l, event.Active, 1)
}

// TestPartlyRefundedNotStanding: only the rest of a payment is refunded.
func TestPartlyRefundedNotStanding(t *testing.T) {
	h := newHarness(t)
	first, l := h.redeemed(h.order())
	second := h.pay(h.upgrade(l, 2))
	h.stripe.Refund(second.SessionID, 1000, "succeeded")
	h.tell()
	h.stands("a partial refund changes nothing", l, event.Active, 2)
	h.stripe.RefundAll(first.SessionID)
	h.tell()
	h.stands("the first went back", l, event.Deactivated, 2, payment.PaidNotStanding)
	list, err := h.book.Problems(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	f, err := h.book.RefundProblem(t.Context(), tester, list[0].ID)
	if err != nil || f.Amount != 4900 {
		t.Errorf("asks for %d back, %v", f.Amount, err)
	}
	h.work()
	h.tell()
	h.stands("all went back", l, event.Deactivated, 2)
}

// TestPaidAfterCreditWentBack: a checkout paid after its credit was refunded is recorded and
// reported. It is in force again when that money returns.
func TestPaidAfterCreditWentBack(t *testing.T) {
	h := newHarness(t)
	first, l := h.redeemed(h.order())
	up := h.upgrade(l, 2)
	dispute := h.stripe.Dispute(first.SessionID, "lost")
	h.tell()
	h.stands("lost", l, event.Deactivated, 1)
	if paid := h.pay(up); paid.State != payment.Sold || paid.PurchaseID == 0 {
		t.Errorf("the payment is %s, purchase %d", paid.State, paid.PurchaseID)
	}
	h.stands("paid all the same", l, event.Deactivated, 1, payment.PaidNotStanding)
	h.stripe.SetDispute(dispute, "won")
	h.tell()
	h.stands("won", l, event.Active, 2)
}

// TestCredits: a payment counts less its refunds. Disputed payments and those with a refund in
// progress do not count.
func TestCredits(t *testing.T) {
	for name, c := range map[string]struct {
		do   func(*harness, payment.Checkout)
		want int64
	}{
		"nothing happened":          {func(*harness, payment.Checkout) {}, 5900},
		"a part went back":          {func(h *harness, c payment.Checkout) { h.stripe.Refund(c.SessionID, 1900, "succeeded") }, 4000},
		"a part is on its way":      {func(h *harness, c payment.Checkout) { h.stripe.Refund(c.SessionID, 1900, "pending") }, 4000},
		"a part could not go back":  {func(h *harness, c payment.Checkout) { h.stripe.Refund(c.SessionID, 1900, "failed") }, 5900},
		"all but a cent went back":  {func(h *harness, c payment.Checkout) { h.stripe.Refund(c.SessionID, 5899, "succeeded") }, 1},
		"all is on its way":         {func(h *harness, c payment.Checkout) { h.stripe.Refund(c.SessionID, 5900, "pending") }, 0},
		"all went back":             {func(h *harness, c payment.Checkout) { h.stripe.RefundAll(c.SessionID) }, 0},
		"the payment is disputed":   {func(h *harness, c payment.Checkout) { h.stripe.Dispute(c.SessionID, "needs_response") }, 0},
		"the bank only asks":        {func(h *harness, c payment.Checkout) { h.stripe.Dispute(c.SessionID, "warning_needs_response") }, 5900},
		"a dispute was won":         {func(h *harness, c payment.Checkout) { h.stripe.Dispute(c.SessionID, "won") }, 5900},
		"the license changed hands": {func(h *harness, c payment.Checkout) { h.transfer(h.licensesOf(c)[0]) }, 5900},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHarness(t)
			paid, l := h.redeemed(h.order())
			c.do(h, paid)
			h.tell()
			_, price := h.price(l, 2)
			if price.Credits != c.want || price.Amount.Units != 11800-c.want {
				t.Errorf("it costs %d, %d are credited, want %d", price.Amount.Units, price.Credits, c.want)
			}
			list, err := h.book.PaidFor(t.Context(), l)
			if err != nil || (len(list) == 1) != (c.want > 0) || len(list) > 1 {
				t.Errorf("payments %+v, %v", list, err)
			}
		})
	}
}

func (h *harness) transfer(l license.License) {
	h.Helper()
	if _, err := h.licenses.Transfer(h.Context(), tester, l.Key, account.Person{Email: "bob@example.com"}); err != nil {
		h.Fatal(err)
	}
}

// TestMine: owners of a license see only their own payments.
func TestMine(t *testing.T) {
	h := newHarness(t)
	_, l := h.redeemed(h.order())
	for _, want := range []bool{true, false} {
		l, err := h.licenses.ByKey(t.Context(), l.Key)
		if err != nil {
			t.Fatal(err)
		}
		paid, err := h.book.PaidFor(t.Context(), l)
		if err != nil || len(paid) != 1 || paid[0].Mine != want {
			t.Errorf("paid %+v, %v; the owner paid it: %t", paid, err, want)
		}
		h.transfer(l)
	}
}

// TestPriceOfPlan: the price of another plan under each rule.
func TestPriceOfPlan(t *testing.T) {
	usd := func(units ...int64) (list []payment.Paid) {
		for _, u := range units {
			list = append(list, payment.Paid{Amount: payment.Amount{Units: u, Currency: "USD"}})
		}
		return list
	}
	euro := []payment.Paid{{Amount: payment.Amount{Units: 5900, Currency: "EUR"}}}
	for name, c := range map[string]struct {
		rule            payment.PlanRule
		price           int64
		paid            []payment.Paid
		amount, credits int64
		outside         bool
	}{
		"the difference":                       {payment.Difference, 17900, usd(5900, 6000), 6000, 11900, false},
		"a cheaper plan":                       {payment.Difference, 5900, usd(17900), 0, 5900, false},
		"a difference of 49 cents":             {payment.Difference, 5949, usd(5900), 0, 5900, false},
		"a difference of 50 cents":             {payment.Difference, 5950, usd(5900), 50, 5900, false},
		"nothing was paid":                     {payment.Difference, 5900, nil, 5900, 0, false},
		"another currency":                     {payment.Difference, 17900, euro, 0, 0, true},
		"another currency, and a cent":         {payment.Difference, 1, euro, 0, 0, true},
		"another currency, and a free plan":    {payment.Difference, 0, euro, 0, 0, false},
		"the full price":                       {payment.FullPrice, 17900, usd(5900), 17900, 0, false},
		"the full price in another currency":   {payment.FullPrice, 17900, euro, 17900, 0, false},
		"plans that only the operator changes": {payment.NotInShop, 17900, usd(5900), 17900, 0, true},
	} {
		got := payment.PriceOfPlan(c.rule, partner.Plan{PriceCents: c.price, Currency: "USD"}, c.paid)
		if got.InShop == c.outside || !c.outside && (got.Amount.Units != c.amount || got.Credits != c.credits) {
			t.Errorf("%s: %+v", name, got)
		}
	}
}
