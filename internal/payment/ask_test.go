package payment_test

import (
	"net/http"
	"slices"
	"testing"
	"time"

	"claviger/internal/event"
	"claviger/internal/license"
	"claviger/internal/payment"
)

// TestAskRefunds: payments made here are refunded by Stripe. The licenses are refunded once, when
// Stripe has done it, however often the refund is requested. Refunding a whole license refunds all
// its payments and its free purchases.
func TestAskRefunds(t *testing.T) {
	h := newHarness(t)
	base := h.begin(h.order())
	h.stripe.Pay(base.SessionID)
	h.deliver(h.stripe.Events()...)
	l := h.licensesOf(base)[0]
	o := h.tier(2)
	o.LicenseKey, o.Amount = l.Key, 5900
	change := h.begin(o)
	h.stripe.Pay(change.SessionID)
	h.deliver(h.stripe.Events()...)
	if _, err := h.licenses.ChangePlan(t.Context(), tester, l.Key, license.PlanChange{Tier: 1, ExternalID: "free"}); err != nil {
		t.Fatal(err)
	}
	order := license.RefundOrder{LicenseKey: l.Key, ExternalID: "r-1"}
	for range 2 {
		list, here, err := h.book.AskRefunds(t.Context(), tester, order, "r-1")
		if err != nil || !here || len(list) != 2 || list[0].Status != payment.RefundAsked {
			t.Fatalf("asked %+v, %t, %v", list, here, err)
		}
	}
	h.want("asked", base, payment.Sold, event.Inactive, false)
	broken := true
	h.stripe.Broken = func() bool { return broken }
	if _, err := h.job.Once(t.Context()); err == nil {
		t.Error("an outage of Stripe is no error of the job")
	}
	broken = false
	h.ahead += 2 * time.Minute
	h.work()
	h.want("done", base, payment.Sold, event.Deactivated, false)
	if n := len(h.stripe.Objects("re")); n != 2 || h.count(`SELECT count(*) FROM purchase_links WHERE refund_id = 0`) != 0 {
		t.Errorf("%d refunds at Stripe, %d links open", n, h.count(`SELECT count(*) FROM purchase_links WHERE refund_id = 0`))
	}
	if list, _, err := h.book.AskRefunds(t.Context(), tester, order, "r-1"); err != nil || len(list) != 2 || list[1].Status != payment.RefundSucceeded {
		t.Errorf("asked again %+v, %v", list, err)
	}
	if _, _, err := h.book.AskRefunds(t.Context(), tester, order, "r-2"); code(err) != "already_refunded" {
		t.Errorf("another: %v", err)
	}
	sale, err := h.licenses.Purchase(t.Context(), tester, license.Purchase{PartnerID: h.partner, Tier: 1, Quantity: 1, AmountCents: 100, Currency: "USD", ExternalID: "own"})
	if err != nil {
		t.Fatal(err)
	}
	if _, here, err := h.book.AskRefunds(t.Context(), tester, license.RefundOrder{PurchaseID: sale.ID}, ""); here || err != nil {
		t.Errorf("what was paid elsewhere: %t, %v", here, err)
	}
}

// TestRefusedRefund: a refund that Stripe refuses leaves the license unchanged and is reported as a
// problem.
func TestRefusedRefund(t *testing.T) {
	h := newHarness(t)
	c := h.begin(h.order())
	h.stripe.Pay(c.SessionID)
	h.deliver(h.stripe.Events()...)
	h.stripe.Refund(c.SessionID, 2950, "succeeded") // without our knowledge
	if _, err := h.book.AskRefund(t.Context(), tester, h.checkout(c), payment.Ask{}); err != nil {
		t.Fatal(err)
	}
	if _, err := h.job.Once(t.Context()); err != nil {
		t.Fatal(err)
	}
	h.want("refused", c, payment.Sold, event.Inactive, false)
	if got := h.problems(); len(got) != 1 || got[0] != payment.RefundRefused {
		t.Errorf("problems %v", got)
	}
}

// TestTwoRefusedRefunds: Stripe gives a refused refund no id. Each of two gets its own answer, and
// neither is requested again.
func TestTwoRefusedRefunds(t *testing.T) {
	h := newHarness(t)
	c := h.begin(h.order())
	h.stripe.Change(c.SessionID, map[string]any{"amount_total": int64(5800)})
	h.stripe.Pay(c.SessionID)
	h.deliver(h.stripe.Events()...)
	h.want("another amount", c, payment.Unsold, 0, false)
	h.stripe.Refund(c.SessionID, 2900, "succeeded") // without our knowledge
	if _, err := h.book.AskRefund(t.Context(), tester, h.checkout(c), payment.Ask{}); err != nil {
		t.Fatal(err)
	}
	if _, err := h.book.RefundProblem(t.Context(), tester, h.count(`SELECT id FROM payment_problems`)); err != nil {
		t.Fatal(err)
	}
	if _, err := h.job.Once(t.Context()); err != nil {
		t.Fatal(err)
	}
	if n := h.count(`SELECT count(*) FROM payment_refunds WHERE request <> '' AND status = 4 AND next_at = 0`); n != 2 {
		t.Errorf("%d of 2 refunds are known as refused", n)
	}
}

// changedPlan sells a license and a paid change of its plan.
func (h *harness) changedPlan() (base, change payment.Checkout, l license.License) {
	h.Helper()
	base = h.begin(h.order())
	h.stripe.Pay(base.SessionID)
	h.deliver(h.newest())
	l = h.licensesOf(base)[0]
	o := h.tier(2)
	o.LicenseKey, o.Amount = l.Key, 5900
	change = h.begin(o)
	h.stripe.Pay(change.SessionID)
	h.deliver(h.newest())
	return h.checkout(base), h.checkout(change), l
}

// TestPaidHere: purchases of a license can be refunded if they were paid here, cost something, and
// are not refunded yet.
func TestPaidHere(t *testing.T) {
	h := newHarness(t)
	base, change, l := h.changedPlan()
	order := license.RefundOrder{LicenseKey: l.Key, ExternalID: "r-1"}
	want := func(name string, ids ...int64) {
		t.Helper()
		list, err := h.book.PaidHere(t.Context(), order)
		var got []int64
		for _, c := range list {
			got = append(got, c.ID)
		}
		if err != nil || !slices.Equal(got, ids) {
			t.Errorf("%s: %v, want %v, %v", name, got, ids, err)
		}
	}
	want("both", base.ID, change.ID)
	h.exec(`UPDATE checkouts SET paid = 1 WHERE id = $1`, base.ID)
	want("a cent", base.ID, change.ID)
	h.exec(`UPDATE checkouts SET paid = 0 WHERE id = $1`, base.ID)
	want("one was free", change.ID)
	h.stripe.RefundAll(change.SessionID)
	h.deliver(h.newest())
	want("the other is refunded")
	if _, err := h.book.PaidHere(t.Context(), license.RefundOrder{LicenseKey: "none"}); code(err) != license.CodeUnknownLicense {
		t.Errorf("an unknown license: %v", err)
	}
	h.book.Stripe = nil
	if list, err := h.book.PaidHere(t.Context(), license.RefundOrder{LicenseKey: "none"}); err != nil || list != nil {
		t.Errorf("without payments: %v, %v", list, err)
	}
}

// TestAskAgain: each refund names its purchase, and a repeat returns the first. Purchases not paid
// here, or already refunded, are left out.
func TestAskAgain(t *testing.T) {
	h := newHarness(t)
	base, change, l := h.changedPlan()
	order := license.RefundOrder{LicenseKey: l.Key, ExternalID: "r-1", Reason: "wish"}
	for _, name := range []string{"first", "repeated"} {
		list, here, err := h.book.AskRefunds(t.Context(), tester, order, "r-1")
		if err != nil || !here || len(list) != 2 || list[0].PurchaseID != base.PurchaseID || list[1].PurchaseID != change.PurchaseID ||
			list[0].LicenseKey != l.Key || list[1].Amount != 5900 || list[0].Reason != "wish" {
			t.Fatalf("%s: %+v, %t, %v", name, list, here, err)
		}
	}
	if n := h.count(`SELECT count(*) FROM audit_entries WHERE action = 'payment.refund'`); n != 2 {
		t.Errorf("%d entries in the audit", n)
	}
	h.work()
	if list, here, err := h.book.AskRefunds(t.Context(), tester, order, "r-2"); code(err) != "already_refunded" || !here || list != nil {
		t.Errorf("all is refunded: %v, %t, %v", list, here, err)
	}
	if list, here, err := h.book.AskRefunds(t.Context(), tester, license.RefundOrder{LicenseKey: "none"}, "r-3"); code(err) != license.CodeUnknownLicense || here || list != nil {
		t.Errorf("an unknown license: %v, %t, %v", list, here, err)
	}
	h.book.Stripe = nil
	if list, here, err := h.book.AskRefunds(t.Context(), tester, license.RefundOrder{LicenseKey: "none"}, "r-4"); err != nil || here || list != nil {
		t.Errorf("without payments: %v, %t, %v", list, here, err)
	}
}

// TestAskForTheRest: the payment made here is refunded, and the rest was not paid here.
func TestAskForTheRest(t *testing.T) {
	h := newHarness(t)
	c := h.sold()
	l := h.licensesOf(c)[0]
	if _, err := h.licenses.ChangePlan(t.Context(), tester, l.Key, license.PlanChange{Tier: 2, ExternalID: "elsewhere", AmountCents: 5900, Currency: "USD"}); err != nil {
		t.Fatal(err)
	}
	h.stripe.RefundAll(c.SessionID)
	h.deliver(h.newest())
	list, here, err := h.book.AskRefunds(t.Context(), tester, license.RefundOrder{LicenseKey: l.Key}, "r-1")
	if list != nil || here || err != nil {
		t.Errorf("%v, %t, %v", list, here, err)
	}
}

// TestAskForOne: a repeated order for one payment returns its refund, also after it succeeded. One
// cent counts as paid here, zero does not.
func TestAskForOne(t *testing.T) {
	h := newHarness(t)
	c := h.sold()
	ask := func() ([]payment.Refund, bool, error) {
		return h.book.AskRefunds(t.Context(), tester, license.RefundOrder{PurchaseID: h.checkout(c).PurchaseID}, "r-1")
	}
	h.exec(`UPDATE checkouts SET paid = 0`)
	if list, here, err := ask(); list != nil || here || err != nil {
		t.Errorf("nothing was paid: %v, %t, %v", list, here, err)
	}
	h.exec(`UPDATE checkouts SET paid = 1`)
	first, here, err := ask()
	if err != nil || !here || len(first) != 1 || first[0].Amount != 1 {
		t.Fatalf("%+v, %t, %v", first, here, err)
	}
	h.work()
	h.want("refunded", c, payment.Sold, event.Deactivated, false)
	if list, here, err := ask(); err != nil || !here || len(list) != 1 || list[0].ID != first[0].ID || list[0].Status != payment.RefundSucceeded {
		t.Errorf("again: %+v, %t, %v", list, here, err)
	}
	sale, err := h.licenses.Purchase(t.Context(), tester, license.Purchase{PartnerID: h.partner, Tier: 1, Quantity: 1, AmountCents: 100, Currency: "USD", ExternalID: "own"})
	if err != nil {
		t.Fatal(err)
	}
	order := license.RefundOrder{PartnerID: h.partner, PurchaseID: sale.ID, ExternalID: "own-back"}
	if _, err := h.licenses.Refund(t.Context(), tester, order); err != nil {
		t.Fatal(err)
	}
	if list, here, err := h.book.AskRefunds(t.Context(), tester, order, "own-back"); list != nil || here || err != nil {
		t.Errorf("paid and refunded elsewhere: %v, %t, %v", list, here, err)
	}
}

// TestNothingLeftToAsk: a payment refunded at Stripe is not refunded again.
func TestNothingLeftToAsk(t *testing.T) {
	h := newHarness(t)
	c := h.sold()
	h.stripe.Refund(c.SessionID, 5900, "pending")
	h.deliver(h.newest())
	order := license.RefundOrder{LicenseKey: h.licensesOf(c)[0].Key}
	if list, here, err := h.book.AskRefunds(t.Context(), tester, order, ""); code(err) != "nothing_to_refund" || !here || list != nil {
		t.Errorf("%v, %t, %v", list, here, err)
	}
}

// TestAskedTwiceInARow: while a refund is in progress, another order returns it. A name is
// recognized after success, and a failed refund can be requested again under its name.
func TestAskedTwiceInARow(t *testing.T) {
	h := newHarness(t)
	c := h.sold()
	ask := func(name string) (payment.Refund, error) {
		return h.book.AskRefund(t.Context(), tester, h.checkout(c), payment.Ask{ExternalID: name})
	}
	first, err := ask("x")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"x", "y", ""} {
		if f, err := ask(name); err != nil || f.ID != first.ID {
			t.Errorf("%q got %+v, %v", name, f, err)
		}
	}
	h.stripe.Refuse = func(path string) int { return map[string]int{"/v1/refunds": http.StatusBadRequest}[path] }
	h.work()
	h.stripe.Refuse = nil
	second, err := ask("x")
	if err != nil || second.ID == first.ID || second.Amount != 5900 {
		t.Fatalf("after it failed: %+v, %v", second, err)
	}
	h.work()
	if f, err := ask("x"); err != nil || f.ID != second.ID || f.Status != payment.RefundSucceeded {
		t.Errorf("the same name: %+v, %v", f, err)
	}
	for _, name := range []string{"y", ""} {
		if f, err := ask(name); code(err) != "nothing_to_refund" {
			t.Errorf("%q got %+v, %v", name, f, err)
		}
	}
}

// TestAskedWithoutAName: an order without a name never matches an earlier one.
func TestAskedWithoutAName(t *testing.T) {
	h := newHarness(t)
	c := h.sold()
	if _, err := h.book.AskRefund(t.Context(), tester, h.checkout(c), payment.Ask{}); err != nil {
		t.Fatal(err)
	}
	h.work()
	if f, err := h.book.AskRefund(t.Context(), tester, h.checkout(c), payment.Ask{}); code(err) != "nothing_to_refund" {
		t.Errorf("%+v, %v", f, err)
	}
}

// TestNothingPaid: an unpaid checkout cannot be refunded.
func TestNothingPaid(t *testing.T) {
	h := newHarness(t)
	c := h.begin(h.order())
	if f, err := h.book.AskRefund(t.Context(), tester, c, payment.Ask{}); code(err) != "nothing_to_refund" {
		t.Errorf("%+v, %v", f, err)
	}
	if f, err := h.book.AskRefund(t.Context(), tester, payment.Checkout{ID: 99}, payment.Ask{}); err == nil || len(code(err)) < 20 {
		t.Errorf("a checkout that is not there: %+v, %v", f, err)
	}
	paid := h.sold()
	h.exec(`UPDATE checkouts SET intent_id = '' WHERE ref = $1`, paid.Ref)
	if f, err := h.book.AskRefund(t.Context(), tester, h.checkout(paid), payment.Ask{}); code(err) != "nothing_to_refund" {
		t.Errorf("without a payment at Stripe: %+v, %v", f, err)
	}
	h.exec(`UPDATE checkouts SET intent_id = 'pi_1', paid_at = 0 WHERE ref = $1`, paid.Ref)
	if f, err := h.book.AskRefund(t.Context(), tester, h.checkout(paid), payment.Ask{}); code(err) != "nothing_to_refund" {
		t.Errorf("not known as paid: %+v, %v", f, err)
	}
}
