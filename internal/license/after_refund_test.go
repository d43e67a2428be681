package license_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"claviger/internal/license"
	"claviger/internal/sqldb"
)

// TestAfterRefund: the license that a refund is said to leave is the one that it leaves.
func TestAfterRefund(t *testing.T) {
	const down = "plan 1 down 0 USD 59 shop"
	for name, c := range map[string]struct {
		steps  []string // from tier 3 for 179
		refund []string // purchases
		act    string
	}{
		"of nothing":                       {nil, nil, ""},
		"of the only purchase":             {[]string{"redeem ann"}, []string{"base"}, "reported base"},
		"of the newest purchase":           {[]string{"redeem ann", "plan 2 api"}, []string{"api"}, "reported api"},
		"of all purchases":                 {[]string{"plan 2 api"}, []string{"api", "base"}, "refund"},
		"of the money of a free change":    {[]string{"redeem ann", down}, []string{"base"}, "reported base"},
		"of a license on hold":             {[]string{"redeem ann", "hold"}, []string{"base"}, "reported base"},
		"of what was refunded already":     {[]string{"redeem ann", "plan 2 api", "refund-link api"}, []string{"api"}, "reported api"},
		"of the rest after an earlier one": {[]string{"plan 2 api", "refund-link api"}, []string{"base"}, "reported base"},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHarness(t)
			order := license.Purchase{
				PartnerID: h.partner(), Tier: 3, Buyer: new(person("ann")), ExternalID: "base", AmountCents: 179, Currency: "USD", Shop: true,
			}
			s := &script{harness: h, l: h.buy(order)[0]}
			s.steps(t, c.steps)
			var ids []int64
			for _, name := range c.refund {
				ids = append(ids, h.count(`SELECT id FROM purchases WHERE external_id = $1`, name))
			}
			before := h.license(s.l.Key)
			want, err := h.licenses.AfterRefund(t.Context(), before, ids)
			if err != nil || h.license(s.l.Key) != before {
				t.Fatalf("it became %+v, %v", h.license(s.l.Key), err)
			}
			if len(ids) > 0 {
				s.steps(t, []string{c.act})
			}
			got := h.license(s.l.Key)
			if got.Status != want.Status || got.Tier != want.Tier || got.Ended != want.Ended {
				t.Errorf("it is %s %d, ended: %t, want %s %d %t", got.Status, got.Tier, got.Ended, want.Status, want.Tier, want.Ended)
			}
		})
	}
}

// TestRefundedIsSettled: a refund of a purchase that stood settles it, and its reversal does not.
func TestRefundedIsSettled(t *testing.T) {
	h := newHarness(t)
	var all []int64
	h.licenses.OnUncovered = func(_ context.Context, _ *sqldb.Tx, _ time.Time, lost, settled []int64) error {
		if len(lost) > 0 {
			t.Errorf("lost %v", lost)
		}
		all = append(all, settled...)
		return nil
	}
	sale, err := h.tryBuy(license.Purchase{PartnerID: h.partner(), Tier: 1, ExternalID: "base", AmountCents: 1, Currency: "USD"})
	if err != nil {
		t.Fatal(err)
	}
	s := &script{harness: h, l: sale.Licenses[0]}
	s.steps(t, []string{"hold", "refund-link base", "reverse", "reinstate"})
	if want := []int64{sale.ID}; !slices.Equal(all, want) {
		t.Errorf("settled %v, want %v", all, want)
	}
}
