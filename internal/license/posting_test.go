package license_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"claviger/internal/ledger"
	"claviger/internal/license"
	"claviger/internal/sqldb"
)

// balances returns the balances of a partner.
func (h *harness) balances(partnerID int64) map[ledger.Account]int64 {
	h.Helper()
	list, err := ledger.Balances(h.Context(), h.db, partnerID)
	if err != nil {
		h.Fatal(err)
	}
	of := map[ledger.Account]int64{}
	for _, b := range list {
		of[b.Account] += b.Amount
	}
	return of
}

// terms gives a partner 70 % of the price.
func (h *harness) terms(partnerID int64) {
	h.Helper()
	err := h.db.Write(h.Context(), func(tx *sqldb.Tx) error {
		journal := ledger.New(tx, partnerID, now())
		if err := journal.AddTerms(ledger.Terms{ShareBP: 7000, Bears: ledger.MarketplaceBears, Days: 14}); err != nil {
			return err
		}
		return journal.Save()
	})
	if err != nil {
		h.Fatal(err)
	}
}

// TestPosting follows the balances of one partner: sales, refunds of some licenses, reversals, and plan
// changes.
func TestPosting(t *testing.T) {
	for name, c := range map[string]struct {
		collected     ledger.Collector
		change        ledger.Collector
		sold          map[ledger.Account]int64
		oneBack       map[ledger.Account]int64 // one of three licenses
		allBack       map[ledger.Account]int64
		changed       map[ledger.Account]int64
		changeRefunds map[ledger.Account]int64
	}{
		"the marketplace was paid": {
			sold:          map[ledger.Account]int64{ledger.External: 10_000, ledger.Share: -7000, ledger.Margin: -3000},
			oneBack:       map[ledger.Account]int64{ledger.External: 6667, ledger.Share: -4667, ledger.Margin: -2000},
			allBack:       map[ledger.Account]int64{},
			changed:       map[ledger.Account]int64{ledger.External: 10_900, ledger.Share: -7630, ledger.Margin: -3270},
			changeRefunds: map[ledger.Account]int64{ledger.External: 6667, ledger.Share: -4667, ledger.Margin: -2000},
		},
		"the partner was paid": {
			collected: ledger.ByPartner, change: ledger.ByPartner,
			sold:          map[ledger.Account]int64{ledger.Share: 3000, ledger.Margin: -3000},
			oneBack:       map[ledger.Account]int64{ledger.Share: 2000, ledger.Margin: -2000},
			allBack:       map[ledger.Account]int64{},
			changed:       map[ledger.Account]int64{ledger.Share: 3270, ledger.Margin: -3270},
			changeRefunds: map[ledger.Account]int64{ledger.Share: 2000, ledger.Margin: -2000},
		},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHarness(t)
			p := h.partner()
			h.terms(p)
			want := func(step string, want map[ledger.Account]int64) {
				t.Helper()
				if diff := cmp.Diff(want, h.balances(p)); diff != "" {
					t.Errorf("%s (-want +got)\n%s", step, diff)
				}
				h.verify()
			}
			must := func(f license.Refund, err error) license.Refund {
				t.Helper()
				if err != nil {
					t.Fatal(err)
				}
				return f
			}
			sold := h.buy(license.Purchase{
				PartnerID: p, Tier: 1, Quantity: 3, AmountCents: 10_000, Currency: "USD", Collected: c.collected, ExternalID: "base",
			})
			want("sold", c.sold)
			f := must(h.licenses.Refund(t.Context(), tester, license.RefundOrder{LicenseKey: sold[0].Key}))
			want("one of three refunded", c.oneBack)
			must(h.licenses.ReverseRefund(t.Context(), tester, f.ID))
			want("reversed", c.sold)
			_, err := h.licenses.ChangePlan(t.Context(), tester, sold[0].Key, license.PlanChange{
				Tier: 2, AmountCents: 900, Currency: "USD", Collected: c.change, ExternalID: "up",
			})
			if err != nil {
				t.Fatal(err)
			}
			want("changed", c.changed)
			f = must(h.licenses.Refund(t.Context(), tester, license.RefundOrder{LicenseKey: sold[0].Key}))
			want("the changed one refunded", c.changeRefunds)
			must(h.licenses.ReverseRefund(t.Context(), tester, f.ID))
			for _, l := range sold {
				must(h.licenses.Refund(t.Context(), tester, license.RefundOrder{LicenseKey: l.Key}))
			}
			want("all refunded", c.allBack)
		})
	}
}

// TestNothingToPost: sales without an amount, or with one in no currency, free plan changes and refused
// orders post nothing.
func TestNothingToPost(t *testing.T) {
	h := newHarness(t)
	p := h.partner()
	free := h.buy(license.Purchase{PartnerID: p, Tier: 1, Currency: "USD"})[0]
	odd := h.buy(license.Purchase{PartnerID: p, Tier: 1, AmountCents: 500})[0]
	if _, err := h.licenses.ChangePlan(t.Context(), tester, free.Key, license.PlanChange{Tier: 2, Currency: "USD"}); err != nil {
		t.Fatal(err)
	}
	if _, err := h.tryBuy(license.Purchase{PartnerID: p, Tier: 9, AmountCents: 500, Currency: "USD"}); err == nil {
		t.Fatal("a plan that is not sold was sold")
	}
	for _, l := range []license.License{free, odd} {
		if _, err := h.licenses.Refund(t.Context(), tester, license.RefundOrder{LicenseKey: l.Key}); err != nil {
			t.Fatal(err)
		}
	}
	if n := h.count(`SELECT count(*) FROM ledger_postings`); n != 0 {
		t.Errorf("%d postings", n)
	}
	h.verify()
}

// TestSmallestAmount: a sale for one cent is posted.
func TestSmallestAmount(t *testing.T) {
	h := newHarness(t)
	p := h.partner()
	h.buy(license.Purchase{PartnerID: p, Tier: 1, AmountCents: 1, Currency: "USD"})
	want := map[ledger.Account]int64{ledger.External: 1, ledger.Undivided: -1}
	if diff := cmp.Diff(want, h.balances(p)); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

// TestPaidByTheProvider: payment posts refunds of such sales.
func TestPaidByTheProvider(t *testing.T) {
	h := newHarness(t)
	o := license.Order{Paid: true, PlanName: "Tier 1", By: tester, Purchase: license.Purchase{
		PartnerID: h.partner(), Tier: 1, Quantity: 1, AmountCents: 100, Currency: "USD", Collected: ledger.ByPartner,
	}}
	sale, err := h.licenses.Sell(t.Context(), o)
	if err != nil || sale.Collected != ledger.ByProvider {
		t.Fatalf("%+v %v", sale, err)
	}
	if _, err := h.licenses.Refund(t.Context(), tester, license.RefundOrder{LicenseKey: sale.Licenses[0].Key}); err != nil {
		t.Fatal(err)
	}
	want := map[ledger.Account]int64{ledger.Provider: 100, ledger.Undivided: -100}
	if diff := cmp.Diff(want, h.balances(o.PartnerID)); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	h.verify()
}

// TestCollectedStays: a repeat that names another collector is another order.
func TestCollectedStays(t *testing.T) {
	h := newHarness(t)
	order := license.Purchase{PartnerID: h.partner(), Tier: 1, AmountCents: 100, Currency: "USD", ExternalID: "one"}
	first := h.buy(order)[0]
	order.Collected = ledger.ByMarketplace
	if again := h.buy(order)[0]; again.Key != first.Key {
		t.Error("the marketplace by name is another order")
	}
	order.Collected = ledger.ByPartner
	if _, err := h.tryBuy(order); code(err) != "external_id_reused" {
		t.Errorf("another collector: %v", err)
	}
	h.verify()
}

// TestDefaultTerms: partners without terms have the default share, also in sets of orders.
func TestDefaultTerms(t *testing.T) {
	h := newHarness(t)
	p := h.partner()
	h.licenses.Defaults = ledger.Defaults{Set: true, ShareBP: 2500}
	var set []license.Order
	for _, name := range []string{"one", "two", "one", "free"} {
		o := license.Order{By: tester, Purchase: license.Purchase{
			PartnerID: p, Tier: 1, Quantity: 1, AmountCents: 100, Currency: "USD", ExternalID: name,
		}}
		if name == "free" {
			o.AmountCents = 0
		}
		set = append(set, o)
	}
	for _, r := range h.licenses.PurchaseAll(t.Context(), set) {
		if r.Err != nil {
			t.Fatal(r.Err)
		}
	}
	want := map[ledger.Account]int64{ledger.External: 200, ledger.Share: -50, ledger.Margin: -150}
	if diff := cmp.Diff(want, h.balances(p)); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	h.verify()
}
