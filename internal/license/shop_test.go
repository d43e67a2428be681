package license_test

import (
	"testing"

	"claviger/internal/license"
	"claviger/internal/paging"
)

// TestShopSalesAreRemembered checks that each purchase and plan change records whether the shop
// made it. The same external id of the shop and of a program is not one order.
func TestShopSalesAreRemembered(t *testing.T) {
	h := newHarness(t)
	p, ada := h.partner(), person("ada")
	l := h.buy(license.Purchase{PartnerID: p, Tier: 1, Buyer: &ada, ExternalID: "a", Shop: true})[0]
	h.buy(license.Purchase{PartnerID: p, Tier: 1, Buyer: &ada, ExternalID: "b"})
	for _, c := range []license.PlanChange{{Tier: 2, ExternalID: "c", Shop: true}, {Tier: 3, ExternalID: "d"}} {
		if _, err := h.licenses.ChangePlan(t.Context(), tester, l.Key, c); err != nil {
			t.Fatal(err)
		}
	}
	list, _, err := h.licenses.Purchases(t.Context(), license.SaleFilter{PartnerID: p}, paging.Page{Number: 1, Limit: 10, Order: paging.OldestFirst})
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]bool{"a": true, "b": false, "c": true, "d": false}
	for _, sale := range list {
		if shop, ok := want[sale.ExternalID]; !ok || shop != sale.Shop {
			t.Errorf("purchase %q: of the shop: %t, want %t", sale.ExternalID, sale.Shop, shop)
		}
		delete(want, sale.ExternalID)
	}
	if len(want) > 0 {
		t.Errorf("not listed: %v", want)
	}
	_, err = h.tryBuy(license.Purchase{PartnerID: p, Tier: 1, Buyer: &ada, ExternalID: "a"})
	if got := code(err); got != "external_id_reused" {
		t.Errorf("the shop's order repeated by a program: %q", got)
	}
}
