package license_test

import (
	"fmt"
	"slices"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"claviger/internal/license"
	"claviger/internal/sqldb"
)

// counter models the sets of one partner as the table of commands describes them: the order and the
// purchase under each external id.
type counter struct {
	*harness
	*cutter
	partner int64
	sold    map[string]ordered
	amount  int64 // of all licenses
}

type ordered struct {
	tier, quantity int
	amount         int64
	buyer          string
	sale           int64 // 0: in the current set
}

// newCounter returns the counter of a partner with one sold license, base.
func newCounter(h *harness, c *cutter, base license.Purchase, l license.License) *counter {
	h.Helper()
	o := ordered{tier: base.Tier, quantity: 1, amount: base.AmountCents}
	if base.Buyer != nil {
		o.buyer = base.Buyer.Email
	}
	o.sale = h.count(`SELECT purchase_id FROM purchase_links WHERE license_id = $1 AND seq = 1`, l.ID)
	return &counter{harness: h, cutter: c, partner: base.PartnerID, sold: map[string]ordered{base.ExternalID: o}, amount: 1}
}

// set sells a set with few names. Orders repeat one another, earlier ones and the base, conflict
// with one under the same name, or are refused. The connection may be cut before any of its
// statements; then it changes nothing.
func (c *counter) set(rt *rapid.T, buyer string) {
	var orders []license.Order
	var want []string
	next, amount := map[string]ordered{}, c.amount
	for range rapid.IntRange(1, 5).Draw(rt, "orders") {
		name := rapid.SampledFrom([]string{"", "base", "s1", "s2", "s3"}).Draw(rt, "external")
		o := ordered{tier: rapid.IntRange(1, 4).Draw(rt, "tier"), quantity: rapid.IntRange(1, 2).Draw(rt, "quantity")}
		p := license.Purchase{PartnerID: c.partner, Tier: o.tier, Quantity: o.quantity, ExternalID: name}
		if rapid.Bool().Draw(rt, "to a buyer") {
			to := person(buyer)
			p.Buyer, o.buyer = &to, to.Email
		}
		orders = append(orders, license.Order{Purchase: p, By: tester})
		earlier, known := c.sold[name]
		if !known {
			earlier, known = next[name]
		}
		same := earlier.tier == o.tier && earlier.quantity == o.quantity && earlier.amount == o.amount && earlier.buyer == o.buyer
		switch {
		case known && !same:
			want = append(want, "external_id_reused")
			continue
		case known:
		case o.tier > 3:
			want = append(want, "unknown_tier")
			continue
		default:
			amount += int64(o.quantity)
			if name != "" {
				next[name] = o
			}
		}
		want = append(want, "")
	}
	c.expect(rt, orders, want, next, amount)
}

// expect sells the orders, with or without a cut, and checks their answers.
func (c *counter) expect(rt *rapid.T, orders []license.Order, want []string, next map[string]ordered, amount int64) {
	cut := 0
	if rapid.Bool().Draw(rt, "is cut off") {
		cut = rapid.IntRange(1, 40).Draw(rt, "before statement")
	}
	results, through := c.cutting(cut, func() []license.Result { return c.licenses.PurchaseAll(c.Context(), orders) })
	if !through {
		for i, r := range results {
			if !sqldb.IsUnavailable(r.Err) {
				rt.Fatalf("cut off before statement %d, order %d: %v", cut, i, r.Err)
			}
		}
	} else {
		if diff := cmp.Diff(want, codes(results)); diff != "" {
			rt.Fatalf("set %+v (-want +got)\n%s", orders, diff)
		}
		for i, r := range results {
			c.same(rt, orders[i], r, next)
		}
		c.amount = amount
	}
	if n := c.count(`SELECT count(*) FROM licenses WHERE partner_id = $1`, c.partner); n != c.amount {
		rt.Fatalf("the partner has %d licenses after a set, want %d", n, c.amount)
	}
}

// same checks that a sold order has the purchase of its name.
func (c *counter) same(rt *rapid.T, o license.Order, r license.Result, next map[string]ordered) {
	if r.Err != nil {
		return
	}
	if len(r.Sale.Licenses) != o.Quantity || slices.ContainsFunc(r.Sale.Licenses, func(l license.License) bool { return l.Tier != o.Tier }) {
		rt.Fatalf("%+v was answered with %+v", o, r.Sale)
	}
	if o.ExternalID == "" {
		return
	}
	first, known := c.sold[o.ExternalID]
	if !known {
		first = next[o.ExternalID]
		first.sale = r.Sale.ID
		c.sold[o.ExternalID] = first
	}
	if first.sale != r.Sale.ID {
		rt.Fatalf("%s is purchase %d, was %d", o.ExternalID, r.Sale.ID, first.sale)
	}
}

// sellTogether sells a set with a repeated and a refused order, while others sell the same. It
// returns the first wrong answer.
func (s *script) sellTogether(names ...string) error {
	var set []license.Order
	for _, name := range append(names, names[0], "", "none") {
		o := license.Order{By: tester, Purchase: license.Purchase{PartnerID: s.l.PartnerID, Tier: 1, Quantity: 1, ExternalID: name}}
		if name == "none" {
			o.Tier = 9
		}
		set = append(set, o)
	}
	results := s.licenses.PurchaseAll(s.Context(), set)
	n := len(names)
	for i, got := range codes(results) {
		if want := map[bool]string{true: "unknown_tier"}[i == n+2]; got != want {
			return fmt.Errorf("order %d of a set of %d was answered with %q, want %q", i, len(set), got, want)
		}
	}
	if results[0].Sale.ID != results[n].Sale.ID || results[0].Sale.ID == results[n+1].Sale.ID {
		return fmt.Errorf("the first order is purchase %d, its repeat %d, another order %d", results[0].Sale.ID, results[n].Sale.ID, results[n+1].Sale.ID)
	}
	return nil
}
