package payment_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"claviger/internal/ledger"
	"claviger/internal/payment"
	"claviger/internal/payment/fakestripe"
	"claviger/internal/sqldb"
)

// verifyLedger checks at the end of each test that the ledger has no mistake, and that each payment is
// posted with its refunds and lost disputes.
func (h *harness) verifyLedger(ctx context.Context) {
	if h.broken {
		return
	}
	var found []string
	err := h.db.Read(ctx, func(tx *sqldb.Tx) error {
		partners, err := sqldb.All(ctx, tx, sqldb.Value[int64], `SELECT DISTINCT partner_id FROM ledger_sales`)
		if err != nil {
			return err
		}
		for _, id := range partners {
			list, err := ledger.Check(ctx, tx, id)
			if err != nil {
				return err
			}
			found = append(found, list...)
		}
		wrong, err := sqldb.All(ctx, tx, sqldb.Value[string], `SELECT c.ref FROM checkouts AS c
			LEFT JOIN ledger_sales AS s ON s.purchase_id = c.purchase_id
			WHERE c.purchase_id IN (SELECT id FROM purchases) AND c.paid <> 0 AND (s.gross IS NULL OR s.gross <> c.amount OR s.back <>
				(SELECT coalesce(sum(f.amount), 0) FROM payment_refunds AS f
					WHERE f.checkout_id = c.id AND f.status = 3 AND f.provider_id <> '' AND f.currency = c.paid_currency)
				+ (SELECT coalesce(sum(CASE WHEN d.status = 'lost' AND d.currency = c.paid_currency THEN d.amount ELSE c.paid END), 0)
					FROM payment_disputes AS d WHERE d.checkout_id = c.id AND d.status = 'lost'))
			AND NOT EXISTS (SELECT 1 FROM payment_disputes AS d WHERE d.checkout_id = c.id AND d.status = 'prevented')`)
		for _, ref := range wrong {
			found = append(found, "checkout "+ref+" is posted wrongly")
		}
		return err
	})
	if err != nil {
		h.Errorf("check the ledger: %v", err)
	}
	for _, mistake := range found {
		h.Error(mistake)
	}
}

// money returns the balance of an account.
func (h *harness) money(account ledger.Account) int64 {
	h.Helper()
	list, err := ledger.Balances(h.Context(), h.db, h.partner)
	if err != nil {
		h.Fatal(err)
	}
	for _, b := range list {
		if b.Account == account {
			return b.Amount
		}
	}
	return 0
}

// TestPostings follows the ledger of a payment through refunds and disputes.
func TestPostings(t *testing.T) {
	h := newHarness(t)
	h.licenses.Defaults = ledger.Defaults{Set: true, ShareBP: 7000}
	c := h.sold()
	h.partner = c.PartnerID
	h.wantMoney("sold", 5900, 0, -4130, 0)
	h.stripe.Refund(c.SessionID, 1000, "succeeded")
	h.deliver(h.newest())
	h.wantMoney("a part is back", 4900, 0, -3430, 0)
	h.work()
	h.wantMoney("the fee is known", 4900-201, 201, -3430, 0)
	d := h.stripe.Dispute(c.SessionID, "needs_response")
	h.deliver(h.newest())
	h.work()
	h.wantMoney("disputed", 4900-201-1500, 201+1500, 0, -3430)
	h.stripe.SetDispute(d, "won")
	h.deliver(h.newest())
	h.work()
	h.wantMoney("won", 4900-201-1500, 201+1500, -3430, 0)
}

// wantMoney checks the balances of the provider, of its fees, of the partner's share and of disputed
// money.
func (h *harness) wantMoney(name string, provider, fees, share, disputed int64) {
	h.Helper()
	got := []int64{h.money(ledger.Provider), h.money(ledger.Fees), h.money(ledger.Share), h.money(ledger.Disputed)}
	if diff := cmp.Diff([]int64{provider, fees, share, disputed}, got); diff != "" {
		h.Errorf("%s: provider, fees, share, disputed (-want +got)\n%s", name, diff)
	}
}

// TestPostingsEqualStripe sends the events of random refunds and disputes in any order, twice. Then
// the ledger and Stripe have the same amount.
func TestPostingsEqualStripe(t *testing.T) {
	for seed := range uint64(10) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			h := newHarness(t)
			random := rand.New(rand.NewPCG(seed, 1)) //nolint:gosec // repeatable
			var sold []payment.Checkout
			for range 3 {
				c := h.begin(h.order())
				h.stripe.Pay(c.SessionID)
				h.deliver(h.newest())
				sold = append(sold, c)
			}
			first := len(h.stripe.Events())
			for range 12 {
				h.happens(random, sold[random.IntN(len(sold))].SessionID)
			}
			events := h.stripe.Events()[first:]
			events = append(events, events...)
			random.Shuffle(len(events), func(i, j int) { events[i], events[j] = events[j], events[i] })
			for _, e := range events {
				h.deliver(e)
				if random.IntN(4) == 0 {
					h.work()
				}
			}
			h.ahead += 12 * time.Hour
			h.work()
			if got, want := h.money(ledger.Provider), h.moneyAtStripe()-h.feesAtStripe(); got != want {
				t.Errorf("the provider has %d in the ledger, and %d at Stripe", got, want)
			}
			if got, want := h.money(ledger.Fees), h.feesAtStripe(); got != want {
				t.Errorf("the ledger has fees of %d, and Stripe took %d", got, want)
			}
			var sum int64
			for _, account := range []ledger.Account{
				ledger.Provider, ledger.Fees, ledger.Undivided, ledger.Disputed, ledger.Margin,
			} {
				sum += h.money(account)
			}
			if sum != 0 {
				t.Errorf("the balances sum to %d", sum)
			}
		})
	}
}

// happens does something at Stripe.
func (h *harness) happens(random *rand.Rand, session string) {
	switch random.IntN(6) {
	case 0, 1:
		h.stripe.Refund(session, random.Int64N(5900)+1, []string{"pending", "succeeded", "failed"}[random.IntN(3)])
	case 2:
		if list := h.stripe.Objects("re"); len(list) > 0 {
			o := list[random.IntN(len(list))]
			if o["status"] == "pending" { // final states do not change
				h.stripe.SetRefund(o.Text("id"), []string{"succeeded", "failed"}[random.IntN(2)])
			}
		}
	case 3:
		h.stripe.Dispute(session, []string{"needs_response", "warning_needs_response"}[random.IntN(2)])
	default:
		if list := h.stripe.Objects("dp"); len(list) > 0 {
			status := []string{"under_review", "won", "lost", "warning_closed"}[random.IntN(4)]
			h.stripe.SetDispute(list[random.IntN(len(list))].Text("id"), status)
		}
	}
}

// moneyAtStripe returns the payments less the refunds and lost disputes.
func (h *harness) moneyAtStripe() (sum int64) {
	for _, o := range h.stripe.Objects("pi") {
		sum += o["amount"].(int64)
	}
	for _, o := range h.stripe.Objects("re") {
		if o["status"] == "succeeded" {
			sum -= o["amount"].(int64)
		}
	}
	for _, o := range h.stripe.Objects("dp") {
		if o["status"] == "lost" {
			sum -= o["amount"].(int64)
		}
	}
	return sum
}

// feesAtStripe returns the fees of the payments and of the disputes.
func (h *harness) feesAtStripe() (sum int64) {
	for _, o := range h.stripe.Objects("pi") {
		sum += o["amount"].(int64)*29/1000 + 30
	}
	for _, o := range h.stripe.Objects("dp") {
		movements, _ := o["balance_transactions"].([]any)
		for _, movement := range movements {
			sum += movement.(fakestripe.Object)["fee"].(int64)
		}
	}
	return sum
}
