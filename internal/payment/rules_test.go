package payment_test

import (
	"net/http"
	"slices"
	"testing"
	"time"

	"claviger/internal/event"
	"claviger/internal/license"
	"claviger/internal/partner"
	"claviger/internal/payment"
	"claviger/internal/sqldb"
)

// TestPaidChangeOfPlan: a paid change is made although the plan was removed and the partner paused
// meanwhile.
func TestPaidChangeOfPlan(t *testing.T) {
	h := newHarness(t)
	base := h.soldAs(h.order())
	o := h.tier(2)
	o.LicenseKey = h.licensesOf(base)[0].Key
	c := h.begin(o)
	err := h.db.Write(t.Context(), func(tx *sqldb.Tx) error {
		_, err := h.partners.Pause(t.Context(), tx, tester, h.partner, "unpaid")
		return err
	})
	if err == nil {
		err = h.partners.DeletePlan(t.Context(), tester, h.partner, 2)
	}
	if err != nil {
		t.Fatal(err)
	}
	h.stripe.Pay(c.SessionID)
	h.deliver(h.newest())
	h.want("changed", c, payment.Sold, event.Inactive, false)
	if l := h.licensesOf(c)[0]; l.Tier != 2 {
		t.Errorf("changed to %+v", l)
	}
	if n := h.count(`SELECT count(*) FROM purchases WHERE shop = $1`, true); n != 2 {
		t.Errorf("%d of 2 are known as bought in the shop", n)
	}
}

// TestFreeIsNotRefunded: a checkout of 0 with no refunds is not refunded.
func TestFreeIsNotRefunded(t *testing.T) {
	h := newHarness(t)
	c := h.sold()
	h.exec(`UPDATE checkouts SET paid = 0`)
	h.stripe.Dispute(c.SessionID, "warning_needs_response")
	h.deliver(h.newest())
	h.want("free", c, payment.Sold, event.Inactive, false)
}

// TestTwoRefundsOfARequest: if Stripe made two refunds for one request of ours, both are recorded,
// and the first keeps its id and its amount.
func TestTwoRefundsOfARequest(t *testing.T) {
	h := newHarness(t)
	c := h.checkout(h.sold())
	if _, err := h.book.AskRefund(t.Context(), tester, c, payment.Ask{}); err != nil {
		t.Fatal(err)
	}
	h.work()
	first := h.stripe.Objects("re")[0]
	second := h.stripe.Refund(c.SessionID, 100, "pending")
	h.stripe.Change(second, map[string]any{"metadata": first["metadata"]})
	h.stripe.SetRefund(second, "succeeded")
	h.deliver(h.newest())
	refunds, _, err := h.book.Facts(t.Context(), []int64{c.ID})
	if err != nil || len(refunds) != 2 {
		t.Fatalf("%d refunds are recorded: %+v, %v", len(refunds), refunds, err)
	}
	for i, want := range []struct {
		id     string
		amount int64
	}{{first.Text("id"), 5900}, {second, 100}} {
		if f := refunds[i]; f.ProviderID != want.id || f.Amount != want.amount || f.Status != payment.RefundSucceeded {
			t.Errorf("refund %d is %+v, want %+v", i, f, want)
		}
	}
}

// TestRefundOfLicenses: the refund of the licenses is named after its cause and is in force as long
// as the cause. It ends the problem of an earlier failed refund.
func TestRefundOfLicenses(t *testing.T) {
	h := newHarness(t)
	c := h.sold()
	name := func(prefix string) {
		t.Helper()
		if n := h.count(`SELECT count(*) FROM refunds WHERE id = $1 AND external_id LIKE $2 AND reversed_at = 0`, h.checkout(c).RefundID, prefix+" at %"); n != 1 {
			t.Errorf("no refund has the name %s", prefix)
		}
	}
	failed := h.stripe.Refund(c.SessionID, 5900, "failed")
	h.deliver(h.newest())
	if got := h.problems(); !slices.Equal(got, []payment.ProblemKind{payment.RefundRefused}) {
		t.Fatalf("problems %v", got)
	}
	dispute := h.stripe.Dispute(c.SessionID, "lost")
	h.deliver(h.newest())
	name(dispute)
	if got := h.problems(); len(got) != 0 {
		t.Errorf("left %v", got)
	}
	h.stripe.SetDispute(dispute, "won")
	h.deliver(h.newest())
	h.work()
	if got := h.checkout(c).RefundID; got != 0 {
		t.Errorf("the refund %d stands", got)
	}
	back := h.stripe.Refund(c.SessionID, 5900, "succeeded")
	h.deliver(h.newest())
	if name(back); back == failed {
		t.Error("it is the one that failed")
	}
	h.want("refunded", c, payment.Sold, event.Deactivated, false)
}

// TestWholeLicense: free purchases of a license that is refunded as a whole are refunded with its
// last payment.
func TestWholeLicense(t *testing.T) {
	h := newHarness(t)
	base, _, l := h.changedPlan()
	if _, err := h.licenses.ChangePlan(t.Context(), tester, l.Key, license.PlanChange{Tier: 1, ExternalID: "free"}); err != nil {
		t.Fatal(err)
	}
	if _, _, err := h.book.AskRefunds(t.Context(), tester, license.RefundOrder{LicenseKey: l.Key}, "r"); err != nil {
		t.Fatal(err)
	}
	open := func() int64 { return h.count(`SELECT count(*) FROM purchase_links WHERE refund_id = 0`) }
	calls := 0
	h.stripe.Refuse = func(path string) int {
		if path == "/v1/refunds" {
			calls++
		}
		return map[bool]int{true: http.StatusBadGateway}[path == "/v1/refunds" && calls > 1]
	}
	_, _ = h.job.Once(t.Context())
	if got := open(); got != 2 || h.checkout(base).RefundID == 0 {
		t.Errorf("%d links are open after the first refund", got)
	}
	h.stripe.Refuse = nil
	h.ahead += 2 * time.Minute
	h.work()
	if got := open(); got != 0 {
		t.Errorf("%d links are open after both", got)
	}
}

// TestWhatCountsAsRefunded: only completed refunds of the full amount in the currency of the
// payment count.
func TestWhatCountsAsRefunded(t *testing.T) {
	for name, of := range map[string]struct {
		currency string
		amount   int64
		status   string
		refunded bool
	}{
		"all":              {"usd", 5900, "succeeded", true},
		"more":             {"usd", 5901, "succeeded", true},
		"a cent less":      {"usd", 5899, "succeeded", false},
		"another currency": {"eur", 5900, "succeeded", false},
		"pending":          {"usd", 5900, "pending", false},
		"needs the buyer":  {"usd", 5900, "requires_action", false},
		"failed":           {"usd", 5900, "failed", false},
		"cancelled":        {"usd", 5900, "canceled", false},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHarness(t)
			c := h.sold()
			h.stripe.Change(h.checkout(c).IntentID, map[string]any{"currency": of.currency})
			h.stripe.Refund(c.SessionID, of.amount, of.status)
			h.deliver(h.newest())
			status := event.Inactive
			if of.refunded {
				status = event.Deactivated
			}
			h.want(name, c, payment.Sold, status, false)
		})
	}
}

// TestWhatIsLeft: amounts refunded or in progress are not refunded again; failed ones are.
func TestWhatIsLeft(t *testing.T) {
	for name, of := range map[string]struct {
		amount int64
		status string
		left   int64
	}{
		"none":         {0, "", 5900},
		"pending":      {2000, "pending", 3900},
		"succeeded":    {2000, "succeeded", 3900},
		"failed":       {2000, "failed", 5900},
		"cancelled":    {2000, "canceled", 5900},
		"nearly all":   {5899, "succeeded", 1},
		"all":          {5900, "pending", 0},
		"more than it": {6000, "succeeded", 0},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHarness(t)
			c := h.sold()
			if of.status != "" {
				h.stripe.Refund(c.SessionID, of.amount, of.status)
				h.deliver(h.newest())
			}
			f, err := h.book.AskRefund(t.Context(), tester, h.checkout(c), payment.Ask{Reason: "wish", ExternalID: "x-1"})
			if of.left == 0 {
				if code(err) != "nothing_to_refund" {
					t.Errorf("asked for %+v, %v", f, err)
				}
				return
			}
			if err != nil || f.Amount != of.left || f.Currency != "USD" || f.Reason != "wish" || f.ExternalID != "x-1" || !f.Ours() ||
				f.CreatedAt.IsZero() || f.UpdatedAt.Before(f.CreatedAt) {
				t.Errorf("asked for %+v, %v", f, err)
			}
		})
	}
}

// TestRefundWithoutAnswer: after a lost answer the refund is searched for before it is sent again.
// When Stripe may no longer recognize the request, it is never sent again.
func TestRefundWithoutAnswer(t *testing.T) {
	for name, of := range map[string]struct {
		arrived bool // the request arrived before its answer was lost
		after   time.Duration
		made    int
		status  payment.RefundStatus
	}{
		"lost on the way":                 {false, 23 * time.Hour, 1, payment.RefundSucceeded},
		"lost on the way, a day ago":      {false, 23*time.Hour + time.Second, 0, payment.RefundFailed},
		"lost on the way back":            {true, time.Hour, 1, payment.RefundSucceeded},
		"lost on the way back, long ago":  {true, 48 * time.Hour, 1, payment.RefundSucceeded},
		"lost on the way back, forgotten": {true, 20 * 24 * time.Hour, 1, payment.RefundSucceeded},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHarness(t)
			c := h.sold()
			h.work() // events are not listed again for a while
			h.stop()
			f, err := h.book.AskRefund(t.Context(), tester, h.checkout(c), payment.Ask{})
			if err != nil {
				t.Fatal(err)
			}
			refunds := func(path string) bool { return path == "/v1/refunds" }
			h.stripe.Lose = refunds
			if !of.arrived {
				h.stripe.Refuse = func(path string) int { return map[bool]int{true: http.StatusBadGateway}[refunds(path)] }
			}
			if _, err := h.job.Once(t.Context()); err == nil {
				t.Error("a lost answer is no error of the job")
			}
			if n := h.count(`SELECT count(*) FROM payment_refunds WHERE provider_id <> ''`); n != 0 {
				t.Fatal("the answer was not lost")
			}
			h.stripe.Lose = nil
			h.stripe.Refuse = nil
			h.ahead = of.after
			h.work()
			if f, err = h.book.RefundByID(t.Context(), f.ID); err != nil || f.Status != of.status || f.PurchaseID != h.checkout(c).PurchaseID {
				t.Errorf("the refund is %+v, %v", f, err)
			}
			if n := len(h.stripe.Objects("re")); n != of.made {
				t.Errorf("%d refunds at Stripe", n)
			}
			if of.status == payment.RefundFailed && (f.Failure != "not_answered" || !slices.Equal(h.problems(), []payment.ProblemKind{payment.RefundRefused})) {
				t.Errorf("failed by %q, problems %v", f.Failure, h.problems())
			}
		})
	}
}

// TestStaleEvents: an old dispute event changes nothing until Stripe is asked.
func TestStaleEvents(t *testing.T) {
	h := newHarness(t)
	c := h.sold()
	id := h.stripe.Dispute(c.SessionID, "needs_response")
	created := h.newest()
	h.deliver(created)
	h.stripe.SetDispute(id, "won")
	h.deliver(h.newest())
	h.work()
	woken := 0
	h.book.Wake = func() { woken++ }
	h.deliver(created)
	h.want("won", c, payment.Sold, event.Inactive, false)
	if n := h.count(`SELECT count(*) FROM payment_lookups`); n != 1 || woken != 1 {
		t.Errorf("%d objects are to be looked up, the job was woken %d times", n, woken)
	}
	h.stripe.Refund(c.SessionID, 100, "succeeded")
	h.deliver(h.newest())
	if woken != 1 {
		t.Error("a refund whose checkout is known woke the job")
	}
	if _, err := h.book.AskRefund(t.Context(), tester, h.checkout(c), payment.Ask{}); err != nil || woken != 2 {
		t.Errorf("asked for the rest: %v, the job was woken %d times", err, woken)
	}
	if _, err := h.book.RefundProblem(t.Context(), tester, h.paidTwice(h.other())); err != nil || woken != 3 {
		t.Errorf("refunded a problem: %v, the job was woken %d times", err, woken)
	}
}

// TestPlanRules: setting a rule is audited once, with its actor, and needs an existing partner.
func TestPlanRules(t *testing.T) {
	h := newHarness(t)
	want := func(want payment.PlanRule, changes int64) {
		t.Helper()
		got, err := h.book.PlanRuleOf(t.Context(), h.partner)
		if n := h.count(`SELECT count(*) FROM audit_entries WHERE action = 'payment.plan_rule'`); err != nil || got != want || n != changes {
			t.Errorf("the rule is %s after %d changes, %v", got, n, err)
		}
	}
	want(payment.Difference, 0)
	for i, rule := range []payment.PlanRule{payment.FullPrice, payment.NotInShop, payment.Difference} {
		for range 2 {
			if err := h.book.SetPlanRule(t.Context(), tester, h.partner, rule); err != nil {
				t.Fatal(err)
			}
			want(rule, int64(i+1))
		}
		if got, err := payment.ParsePlanRule(string(rule)); err != nil || got != rule {
			t.Errorf("%s is read as %s, %v", rule, got, err)
		}
	}
	if err := h.book.SetPlanRule(t.Context(), tester, 99, payment.FullPrice); code(err) != partner.CodeUnknownPartner {
		t.Errorf("a partner that is not there: %v", err)
	}
	if _, err := payment.ParsePlanRule("free"); code(err) != "invalid_field" {
		t.Errorf("another rule: %v", err)
	}
	var none *payment.Store
	if none.Takes() || (&payment.Store{}).Takes() || !h.book.Takes() {
		t.Error("who takes payments is confused")
	}
}
