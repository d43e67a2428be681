package payment_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"claviger/internal/ledger"
	"claviger/internal/payment"
	"claviger/internal/payment/fakestripe"
)

// intentPath begins the calls for fees.
const intentPath = "/v1/payment_intents/"

// feeCalls returns the number of calls for fees.
func (h *harness) feeCalls() (n int) {
	for _, call := range h.stripe.Calls {
		if strings.HasPrefix(call, "GET "+intentPath) {
			n++
		}
	}
	return n
}

// wantFees checks the postings of fees, and whether more are asked for.
func (h *harness) wantFees(name string, postings, sum int64, asked bool) {
	h.Helper()
	if n := h.count(`SELECT count(*) FROM ledger_postings WHERE kind = 'fee'`); n != postings {
		h.Errorf("%s: %d postings of fees, want %d", name, n, postings)
	}
	if got := h.money(ledger.Fees); got != sum {
		h.Errorf("%s: fees of %d, want %d", name, got, sum)
	}
	if n := h.count(`SELECT count(*) FROM ledger_sales WHERE fee_look_at <> 0`); (n != 0) != asked {
		h.Errorf("%s: the fees of %d sales are asked for", name, n)
	}
}

// paid sells a license, and makes its partner the one of the test. The clock stands still.
func (h *harness) paid() payment.Checkout {
	h.Helper()
	h.stop()
	c := h.sold()
	h.partner = c.PartnerID
	return c
}

// movement returns the id of the movement of a payment's money.
func (h *harness) movement(c payment.Checkout) string {
	return h.stripe.Objects("ch")[0].Text("balance_transaction")
}

// TestFee: the fee of a payment is posted once, and Stripe is asked once.
func TestFee(t *testing.T) {
	h := newHarness(t)
	h.paid()
	h.wantFees("sold", 0, 0, true)
	for range 3 {
		h.work()
		h.wantFees("the job", 1, 201, false)
		h.ahead += 12 * time.Hour
	}
	if got := h.money(ledger.Provider); got != 5900-201 {
		t.Errorf("the provider has %d", got)
	}
	if n := h.feeCalls(); n != 1 {
		t.Errorf("Stripe was asked %d times", n)
	}
	h.exec(`UPDATE ledger_sales SET fee_look_at = 1`) // a node that did not know the answer yet
	h.work()
	h.wantFees("asked again", 1, 201, false)
}

// TestSlowPaymentsFee: the fee of a slow payment is asked for when the money arrived.
func TestSlowPaymentsFee(t *testing.T) {
	h := newHarness(t)
	c := h.begin(h.order())
	h.stripe.PayLater(c.SessionID)
	h.deliver(h.newest())
	h.work()
	h.wantFees("at the bank", 0, 0, false)
	h.stripe.Settle(c.SessionID, true)
	h.deliver(h.newest())
	h.work()
	h.wantFees("settled", 1, 201, false)
}

// TestLateFee: a fee that Stripe has not computed yet is asked for less and less often, for 30 days.
func TestLateFee(t *testing.T) {
	h := newHarness(t)
	h.stripe.FeesLate = true
	h.paid()
	for n, of := range []struct{ age, next time.Duration }{
		{0, time.Minute},
		{time.Minute, 2 * time.Minute},
		{8 * time.Minute, 10 * time.Minute},
		{30 * 24 * time.Hour, 30*24*time.Hour + 6*time.Hour},
	} {
		h.ahead = of.age
		h.work()
		h.wantFees("late", 0, 0, true)
		if n := h.count(`SELECT count(*) FROM ledger_sales WHERE fee_look_at = $1`, h.stopped.Add(of.next)); n != 1 {
			t.Errorf("at %v it is not asked for again at %v", of.age, of.next)
		}
		if got := h.feeCalls(); got != n+1 {
			t.Errorf("at %v Stripe was asked %d times", of.age, got)
		}
	}
	h.ahead += 12 * time.Hour
	h.work()
	h.work()
	h.wantFees("after 30 days", 0, 0, false)
	if n := strings.Count(h.log.String(), "is not asked for again"); n != 1 {
		t.Errorf("it is logged %d times", n)
	}

	other := h.sold()
	h.partner = other.PartnerID
	h.work()
	h.wantFees("another sale", 0, 0, true)
	h.stripe.FeesLate = false
	h.ahead += time.Minute
	h.work()
	h.wantFees("computed", 1, 201, false)
}

// TestFeeInAnotherCurrency: the fee is posted in the currency of the settlement. Its rate divides it.
func TestFeeInAnotherCurrency(t *testing.T) {
	h := newHarness(t)
	c := h.paid()
	h.stripe.Change(h.movement(c), fakestripe.Object{
		"currency": "eur", "amount": int64(5428), "fee": int64(187), "exchange_rate": 0.92,
	})
	h.work()
	list, err := ledger.Balances(t.Context(), h.db, h.partner)
	if err != nil {
		t.Fatal(err)
	}
	want := []ledger.Balance{
		{Account: ledger.Fees, Amount: 187, Currency: "EUR"},
		{Account: ledger.Provider, Amount: -187, Currency: "EUR"},
		{Account: ledger.Provider, Amount: 5900, Currency: "USD"},
		{Account: ledger.Undivided, Amount: -5900, Currency: "USD"},
	}
	if diff := cmp.Diff(want, list); diff != "" {
		t.Errorf("balances (-want +got)\n%s", diff)
	}
	if n := h.count(`SELECT count(*) FROM ledger_fees WHERE num = 5900 AND den = 5428 AND dispute = FALSE AND at = $1`,
		h.stopped); n != 1 {
		t.Error("the fee has another rate or time")
	}
}

// TestNoFee: a sale without a fee, without a rate or without a payment is asked about once.
func TestNoFee(t *testing.T) {
	for name, of := range map[string]struct {
		prepare func(h *harness, c payment.Checkout)
		logged  bool
	}{
		"a fee of nothing": {func(h *harness, c payment.Checkout) {
			h.stripe.Change(h.movement(c), fakestripe.Object{"fee": int64(0)})
		}, false},
		"a fee of nothing in another currency": {func(h *harness, c payment.Checkout) {
			h.stripe.Change(h.movement(c), fakestripe.Object{"fee": int64(0), "amount": int64(0), "currency": "eur"})
		}, false},
		"no rate": {func(h *harness, c payment.Checkout) {
			h.stripe.Change(h.movement(c), fakestripe.Object{"amount": int64(0), "currency": "eur"})
		}, true},
		"no payment":  {func(h *harness, _ payment.Checkout) { h.exec(`UPDATE checkouts SET intent_id = ''`) }, true},
		"no checkout": {func(h *harness, _ payment.Checkout) { h.exec(`UPDATE checkouts SET purchase_id = 0`) }, true},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHarness(t)
			of.prepare(h, h.paid())
			h.work()
			h.work()
			h.wantFees(name, 0, 0, false)
			if n := h.count(`SELECT count(*) FROM ledger_fees`); n != 0 {
				t.Errorf("%d fees are stored", n)
			}
			if n := strings.Count(h.log.String(), "is not asked for again"); (n == 1) != of.logged || n > 1 {
				t.Errorf("it is logged %d times", n)
			}
		})
	}
}

// TestRefusedFee: a payment that Stripe does not know ends the questions. Other errors fail the run of
// the job, and the fee is asked for again. The fees of other sales are posted.
func TestRefusedFee(t *testing.T) {
	for status, final := range map[int]bool{
		http.StatusNotFound: true, http.StatusForbidden: false, http.StatusUnauthorized: false,
		http.StatusInternalServerError: false,
	} {
		t.Run(http.StatusText(status), func(t *testing.T) {
			h := newHarness(t)
			c := h.paid()
			other := h.sold()
			asked := h.silence(h.checkout(c).IntentID, status)
			for run := range 3 {
				_, err := h.job.Once(t.Context())
				if failed := err != nil; failed != (!final && run == 0) {
					t.Errorf("run %d of the job says %v", run, err)
				}
			}
			if *asked != 1 {
				t.Errorf("asked %d times in three runs", *asked)
			}
			h.wantFees("refused", 1, 0, !final)
			if n := strings.Count(h.log.String(), "is not asked for again"); (n == 1) != final || n > 1 {
				t.Errorf("it is logged %d times", n)
			}
			h.stripe.Refuse = nil
			h.ahead += time.Minute
			h.work()
			want := int64(201)
			if final {
				want = 0
			}
			h.wantFees("allowed", 1+want/201, want, false)
			h.partner = other.PartnerID
			h.wantFees("the other sale", 1+want/201, 201, false)
		})
	}
}

// TestFeeOfADeadKey: a key that lacks a permission for months loses no fee.
func TestFeeOfADeadKey(t *testing.T) {
	h := newHarness(t)
	c := h.paid()
	h.silence(h.checkout(c).IntentID, http.StatusForbidden)
	for _, age := range []time.Duration{0, 29 * 24 * time.Hour, 90 * 24 * time.Hour} {
		h.ahead = age
		if _, err := h.job.Once(t.Context()); err == nil || !strings.Contains(err.Error(), "403") {
			t.Errorf("after %v the job says %v", age, err)
		}
	}
	h.stripe.Refuse = nil
	h.ahead += 6 * time.Hour
	h.work()
	h.wantFees("allowed", 1, 201, false)
}

// TestNoAnswerAboutFees: while Stripe gives no answer, a run asks for one fee: each call may take its
// whole timeout, and refunds wait behind it.
func TestNoAnswerAboutFees(t *testing.T) {
	h := newHarness(t)
	h.paid()
	h.sold()
	h.sold()
	calls := 0
	lossy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasPrefix(r.URL.Path, intentPath) {
			calls++
			panic(http.ErrAbortHandler) // closes the connection
		}
		h.stripe.ServeHTTP(w, r)
	}))
	lossy.Config.SetKeepAlivesEnabled(false) // a call on a used connection would be repeated
	t.Cleanup(lossy.Close)
	working := h.book.Stripe
	h.book.Stripe = payment.NewStripe(payment.StripeConfig{Key: "sk_test_1", WebhookSecrets: []string{webhookSecret}, URL: lossy.URL})
	for run := 1; run <= 2; run++ {
		if _, err := h.job.Once(t.Context()); err == nil {
			t.Error("nobody learns of it")
		}
		if calls != run {
			t.Errorf("%d calls after %d runs", calls, run)
		}
	}
	h.book.Stripe = working
	h.ahead += time.Minute
	h.work()
	if n := h.count(`SELECT count(*) FROM ledger_postings WHERE kind = 'fee'`); n != 3 {
		t.Errorf("%d fees are posted", n)
	}
}
