package license_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"claviger/internal/license"
	"claviger/internal/sqldb"
	"claviger/internal/stats"
)

// TestLinksThatStand checks that a license works while the remaining money pays for one of its
// plans. Prices are 59, 119 and 179; under the shop's rule, earlier payments reduce them.
func TestLinksThatStand(t *testing.T) {
	const (
		pay     = "plan 3 up 120 USD 59 paid"  // from 59 to 179
		down    = "plan 1 down 0 USD 59 shop"  // free
		back    = "plan 3 back 0 USD 179 shop" // free
		second  = "plan 2 two 60 USD 59 paid"
		third   = "plan 3 three 60 USD 119 paid"
		foreign = "plan 2 euro 100 EUR 0 paid"
	)
	for name, c := range map[string]struct {
		tier   int
		amount int64
		steps  []string
		end    string
		lost   []string // purchases that were paid for and neither refunded nor standing
	}{
		"two free changes, then the payment is refunded": {
			3, 179, []string{"redeem ann", down, back, "reported base", "redeem ann → license_refunded"}, "deactivated 3", nil,
		},
		"two free changes, then an order refunds the license": {
			3, 179, []string{"redeem ann", down, back, "refund"}, "deactivated 3", nil,
		},
		"an order refunds the first link after the others": {
			3, 179, []string{
				"redeem ann", down, back, "refund-link base → later_purchase_exists", "refund-link back", "refund-link down", "refund-link base",
			}, "deactivated 3", nil,
		},
		"the first of two payments is lost": {
			1, 59, []string{"redeem ann", pay, "reported base", "reinstate → license_refunded"}, "deactivated 3", []string{"up"},
		},
		"the lost payment returns": {
			1, 59, []string{"redeem ann", pay, "reported base", "reverse"}, "active 3", nil,
		},
		"the other payment is refunded, then the lost one returns": {
			1, 59, []string{"redeem ann", pay, "reported base", "refund-link up", "refund → already_refunded"}, "deactivated 3", nil,
		},
		"the second of three payments is lost": {
			1, 59, []string{"redeem ann", second, third, "reported two"}, "active 1", []string{"three"},
		},
		"the second of three returns": {
			1, 59, []string{"redeem ann", second, third, "reported two", "reverse"}, "active 3", nil,
		},
		"full price": {
			1, 59, []string{"redeem ann", "plan 3 up 179 USD 0 paid", "reported base"}, "active 3", nil,
		},
		"a difference that is too small to be charged": {
			1, 59, []string{"redeem ann", "plan 2 up 0 USD 59 shop", "reported base"}, "deactivated 2", nil,
		},
		"two currencies": {
			1, 59, []string{"redeem ann", foreign, "reported base"}, "active 2", nil,
		},
		"money in another currency covers nothing": {
			1, 59, []string{"redeem ann", foreign, "plan 3 up 0 EUR 101 shop → credit_gone", "plan 3 up 0 EUR 100 shop", "reported euro"}, "active 1", nil,
		},
		"a program changes plans without an amount": {
			1, 59, []string{"redeem ann", "plan 2 free", "reported base"}, "active 2", nil,
		},
		"a program changes plans with an amount": {
			1, 59, []string{"redeem ann", "plan 2 more 60 USD 0 api", "reported base"}, "active 2", nil,
		},
		"sold without an amount": {
			1, 0, []string{"redeem ann", "plan 2 up 59 USD 0 paid", "reported up"}, "active 1", nil,
		},
		"a change to a free plan stays": {
			1, 59, []string{"redeem ann", "plan 2 gratis 0 USD 0 shop", "reported base"}, "active 2", nil,
		},
		"paid after the money that it credits went back": {
			1, 59, []string{"redeem ann", "reported base", pay}, "deactivated 1", []string{"up"},
		},
		"and that money returns": {
			1, 59, []string{"redeem ann", "reported base", pay, "reverse"}, "active 3", nil,
		},
		"at the full price, a license that has ended stays so": {
			1, 59, []string{"redeem ann", "reported base", "plan 3 up 179 USD 0 paid → license_refunded"}, "deactivated 1", nil,
		},
		"a free change whose credit is gone": {
			1, 59, []string{"redeem ann", "plan 2 gratis 0 USD 0 shop", "reported base", "plan 1 down 0 USD 59 shop → credit_gone"}, "active 2", nil,
		},
		"a transfer keeps the money": {
			3, 179, []string{"redeem ann", down, "transfer bob", "redeem bob", back, "reported base"}, "deactivated 3", nil,
		},
		"on hold, the shop changes no plan and a program does": {
			3, 179, []string{"redeem ann", "dispute", down + " → license_held", "plan 1 api"}, "deactivated 1", nil,
		},
		"on hold, a paid change is recorded": {
			1, 59, []string{"redeem ann", "dispute", pay, "reinstate"}, "active 3", nil,
		},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHarness(t)
			open := map[int64]bool{} // reported purchases
			h.licenses.OnUncovered = func(_ context.Context, _ *sqldb.Tx, _ time.Time, lost, settled []int64) error {
				for _, id := range lost {
					open[id] = true
				}
				for _, id := range settled {
					delete(open, id)
				}
				return nil
			}
			ann := person("ann")
			order := license.Purchase{PartnerID: h.partner(), Tier: c.tier, Buyer: &ann, ExternalID: "base", AmountCents: c.amount, Currency: "USD", Shop: true}
			s := &script{harness: h, l: h.buy(order)[0]}
			s.steps(t, c.steps)
			h.verify()
			now := h.license(s.l.Key)
			if end := fmt.Sprintf("%s %d", now.Status, now.Tier); end != c.end {
				t.Errorf("it ends as %s, want %s", end, c.end)
			}
			if diff := cmp.Diff(c.lost, s.names(open)); diff != "" {
				t.Errorf("reported (-want +got)\n%s", diff)
			}
		})
	}
}

// names returns the external ids of purchases, in their order.
func (s *script) names(ids map[int64]bool) (names []string) {
	s.Helper()
	d, err := s.licenses.Inspect(s.Context(), s.l.Key)
	if err != nil {
		s.Fatal(err)
	}
	for _, k := range d.Links {
		if ids[k.Sale.ID] != (k.Open() && !k.Stands && k.Amount > 0) {
			s.Errorf("purchase %s: reported: %t; open: %t, stands: %t", k.Sale.ExternalID, ids[k.Sale.ID], k.Open(), k.Stands)
		}
		if ids[k.Sale.ID] {
			names = append(names, k.Sale.ExternalID)
		}
	}
	return names
}

// TestPartsOfAPurchase checks that each license of a purchase has its part of the amount.
func TestPartsOfAPurchase(t *testing.T) {
	h := newHarness(t)
	ann := person("ann")
	list := h.buy(license.Purchase{PartnerID: h.partner(), Tier: 2, Buyer: &ann, ExternalID: "base", Quantity: 3, AmountCents: 17701, Currency: "USD"})
	change := license.PlanChange{Tier: 1, ExternalID: "down", Shop: true, Currency: "USD", Credit: 5901}
	if _, err := h.licenses.ChangePlan(t.Context(), tester, list[0].Key, change); code(err) != license.CodeCreditGone {
		t.Errorf("a credit of more than a third: %v", err)
	}
	change.Credit = 5900
	if _, err := h.licenses.ChangePlan(t.Context(), tester, list[0].Key, change); err != nil {
		t.Fatal(err)
	}
	if _, err := h.licenses.Refund(t.Context(), tester, license.RefundOrder{PartnerID: list[0].PartnerID, PurchaseExternalID: "base", Reported: true}); err != nil {
		t.Fatal(err)
	}
	for _, l := range list {
		if now := h.license(l.Key); !now.Ended {
			t.Errorf("license %d works although its purchase was refunded", l.Ord)
		}
	}
}

// TestFreeLinksAreRefunded: a refund of what cost nothing leaves paid links open. It alone
// removes the license from the list of those that work although they were refunded.
func TestFreeLinksAreRefunded(t *testing.T) {
	h := newHarness(t)
	ann := person("ann")
	s := &script{harness: h, l: h.buy(license.Purchase{PartnerID: h.partner(), Tier: 1, Buyer: &ann, ExternalID: "base", AmountCents: 59, Currency: "USD"})[0]}
	h.exec(`INSERT INTO refunded_but_working (license_id) VALUES ($1)`, s.l.ID)
	suspects := func(want int) {
		t.Helper()
		if list, err := license.Suspects(t.Context(), h.db, 10); err != nil || len(list) != want {
			t.Errorf("%d licenses are listed, want %d; %v", len(list), want, err)
		}
	}
	s.steps(t, []string{"plan 3 up", "plan 2 down", "plan 1 last", "refund-link last"})
	suspects(1)
	order := license.RefundOrder{LicenseKey: s.l.Key, FreeOnly: true}
	if named, err := h.licenses.Named(t.Context(), order); err != nil || len(named.Open) != 2 {
		t.Errorf("it names %+v, %v", named, err)
	}
	if err := s.refund(order); err != nil {
		t.Fatal(err)
	}
	if now := h.license(s.l.Key); now.Tier != 1 || now.Ended {
		t.Errorf("it is tier %d, ended: %t", now.Tier, now.Ended)
	}
	suspects(0)
	if err := s.refund(order); code(err) != "already_refunded" {
		t.Errorf("again: %v", err)
	}
}

// TestCountEnded checks that a license counts as refunded, once, when no link stands, and no longer
// when one stands again.
func TestCountEnded(t *testing.T) {
	h := newHarness(t)
	ann := person("ann")
	p := h.partner()
	counted := func(when string, want int64) {
		t.Helper()
		n, err := (&stats.Store{DB: h.db, Now: now}).Sales(t.Context(), p, 1)
		if err != nil || n.Total.Refunded != want {
			t.Errorf("%s: %d licenses count as refunded, want %d; %v", when, n.Total.Refunded, want, err)
		}
	}
	s := &script{harness: h, l: h.buy(license.Purchase{PartnerID: p, Tier: 1, Buyer: &ann, ExternalID: "base", AmountCents: 59, Currency: "USD"})[0]}
	s.steps(t, []string{"plan 3 up 120 USD 59 paid", "reported base", "refund-link up", "reverse"})
	counted("when one link was reversed", 1)
	s.refunds = s.refunds[:1]
	s.steps(t, []string{"reverse"})
	counted("after the first refund was reversed", 0)
}

// TestLinksOfTheReleaseBefore checks that a license sold or refunded by a node of the release before
// has its amount and its end, although that node does not write them.
func TestLinksOfTheReleaseBefore(t *testing.T) {
	h := newHarness(t)
	list := h.buy(license.Purchase{
		PartnerID: h.partner(), Tier: 3, Buyer: new(person("ann")), ExternalID: "base", Quantity: 2, AmountCents: 358, Currency: "USD",
	})
	s := &script{harness: h, l: list[0]}
	h.exec(`UPDATE purchase_links SET amount = 0, currency = '' WHERE license_id = $1`, s.l.ID)
	parts, err := h.licenses.Payments(t.Context(), s.l.ID)
	if want := (license.Part{Units: 179, Currency: "USD"}); err != nil || len(parts) != 1 || parts[0].Part != want {
		t.Errorf("paid %+v, %v; want %+v", parts, err, want)
	}
	if d, err := h.licenses.Inspect(t.Context(), s.l.Key); err != nil || d.Links[0].Amount != 179 {
		t.Errorf("its chain is %+v, %v", d.Links, err)
	}
	s.steps(t, []string{"plan 1 down 0 USD 59 shop", "plan 3 back 0 USD 179 shop", "reported base", "redeem ann → license_refunded"})
	h.exec(`UPDATE licenses SET ended = FALSE WHERE id = $1`, s.l.ID)
	if l := h.license(s.l.Key); !l.Ended {
		t.Error("a refund of the release before did not end the license")
	}
	s.steps(t, []string{"reverse"})
	h.exec(`UPDATE licenses SET ended = TRUE`)
	for _, l := range list {
		if now := h.license(l.Key); now.Ended {
			t.Errorf("license %d has ended although its refund was reversed: %s", l.Ord, now.Status)
		}
	}
}
