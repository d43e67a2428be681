package license_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"claviger/internal/event"
	"claviger/internal/license"
	"claviger/internal/paging"
)

// TestCounts compares the counts of licenses and purchases with what was sold.
func TestCounts(t *testing.T) {
	h, ctx := newHarness(t), t.Context()
	p, other, none := h.partner(), h.partner(), h.partner()
	sold := h.buy(license.Purchase{PartnerID: p, Tier: 1, Quantity: 4, Buyer: new(person("ann"))})
	h.buy(license.Purchase{PartnerID: p, Tier: 1})
	h.buy(license.Purchase{PartnerID: other, Tier: 1, Quantity: 2})
	if _, err := h.licenses.Activate(ctx, tester, sold[0].Key, nil); err != nil {
		t.Fatal(err)
	}
	for _, l := range sold[1:3] {
		if _, err := h.licenses.Hold(ctx, tester, l.Key, license.HoldOther); err != nil {
			t.Fatal(err)
		}
	}
	all, err := h.licenses.Stats(ctx)
	if diff := cmp.Diff(map[event.Status]int64{event.Inactive: 4, event.Active: 1, event.Deactivated: 2}, all); diff != "" || err != nil {
		t.Errorf("%v, licenses (-want +got)\n%s", err, diff)
	}
	waiting, err := license.Unredeemed(ctx, h.db, []int64{p, other, none})
	if diff := cmp.Diff(map[int64]int64{p: 2, other: 2}, waiting); diff != "" || err != nil {
		t.Errorf("%v, not redeemed (-want +got)\n%s", err, diff)
	}
	byID, err := h.licenses.Keys(ctx, []int64{sold[0].ID, sold[3].ID, 999})
	if diff := cmp.Diff(map[int64]string{sold[0].ID: sold[0].Key, sold[3].ID: sold[3].Key}, byID); diff != "" || err != nil {
		t.Errorf("%v, keys (-want +got)\n%s", err, diff)
	}
	for name, c := range map[string]struct {
		partnerID, most int64
		want            string
	}{
		"all partners": {0, 1, "3 false"}, "fewer than at most": {p, 3, "2 false"}, "exactly at most": {p, 2, "2 false"},
		"more than at most": {p, 1, "1 true"}, "none": {none, 1, "0 false"},
	} {
		n, more, err := h.licenses.SalesCounted(ctx, c.partnerID, c.most)
		if got := fmt.Sprint(n, more); got != c.want || err != nil {
			t.Errorf("purchases, %s: %s, %v, want %s", name, got, err, c.want)
		}
	}
}

// TestOfPartner: only a filter by nothing but the partner has the counts of the partner.
func TestOfPartner(t *testing.T) {
	for name, c := range map[string]struct {
		licenses license.FindAny
		sales    license.FindSales
		want     bool
	}{
		"nothing":     {license.FindAny{}, license.FindSales{}, true},
		"partner":     {license.FindAny{PartnerID: 1}, license.FindSales{PartnerID: 1}, true},
		"nobody":      {license.FindAny{Owners: []int64{}}, license.FindSales{Users: []int64{}}, false},
		"external id": {license.FindAny{ExternalID: "x"}, license.FindSales{ExternalID: "x"}, false},
		"from":        {license.FindAny{Find: license.Find{From: time.Unix(1, 0)}}, license.FindSales{From: time.Unix(1, 0)}, false},
		"to":          {license.FindAny{Find: license.Find{To: time.Unix(1, 0)}}, license.FindSales{To: time.Unix(1, 0)}, false},
	} {
		if got := c.licenses.OfPartner(); got != c.want {
			t.Errorf("licenses by %s: %t", name, got)
		}
		if got := c.sales.OfPartner(); got != c.want {
			t.Errorf("purchases by %s: %t", name, got)
		}
	}
}

// TestPurchasesAreListed: a list has the purchases of its partner and external id, page by page.
func TestPurchasesAreListed(t *testing.T) {
	h, ctx := newHarness(t), t.Context()
	p, other := h.partner(), h.partner()
	for _, o := range []license.Purchase{
		{PartnerID: p, ExternalID: "a"}, {PartnerID: other, ExternalID: "a"}, {PartnerID: p}, {PartnerID: p, ExternalID: "b"},
	} {
		o.Tier = 1
		h.buy(o)
	}
	for name, c := range map[string]struct {
		filter license.SaleFilter
		page   paging.Page
		want   string
	}{
		"all":                  {license.SaleFilter{}, paging.Page{Number: 1, Limit: 9}, "[4 3 2 1] false"},
		"partner":              {license.SaleFilter{PartnerID: p}, paging.Page{Number: 1, Limit: 3}, "[4 3 1] false"},
		"partner, first page":  {license.SaleFilter{PartnerID: p}, paging.Page{Number: 1, Limit: 2}, "[4 3] true"},
		"partner, second page": {license.SaleFilter{PartnerID: p}, paging.Page{Number: 2, Limit: 2}, "[1] false"},
		"oldest first":         {license.SaleFilter{PartnerID: p}, paging.Page{Number: 1, Limit: 9, Order: paging.OldestFirst}, "[1 3 4] false"},
		"external id":          {license.SaleFilter{ExternalID: "a"}, paging.Page{Number: 1, Limit: 9}, "[2 1] false"},
		"both":                 {license.SaleFilter{PartnerID: other, ExternalID: "a"}, paging.Page{Number: 1, Limit: 9}, "[2] false"},
	} {
		list, more, err := h.licenses.Purchases(ctx, c.filter, c.page)
		var ids []int64
		for _, s := range list {
			ids = append(ids, s.ID)
		}
		if got := fmt.Sprint(ids, more); got != c.want || err != nil {
			t.Errorf("%s: %s, %v, want %s", name, got, err, c.want)
		}
	}
}

// TestSearchIsPaged: a page of a search has its rows and says whether there are more.
func TestSearchIsPaged(t *testing.T) {
	h := newHarness(t)
	p := h.partner()
	sold := h.buy(license.Purchase{PartnerID: p, Tier: 1, Quantity: 3})
	h.buy(license.Purchase{PartnerID: h.partner(), Tier: 1})
	for name, c := range map[string]struct {
		search license.Search
		page   paging.Page
		want   []license.License
		more   bool
	}{
		"first page":    {license.Search{PartnerID: p}, paging.Page{Number: 1, Limit: 2}, []license.License{sold[2], sold[1]}, true},
		"second page":   {license.Search{PartnerID: p}, paging.Page{Number: 2, Limit: 2}, sold[:1], false},
		"whole page":    {license.Search{PartnerID: p}, paging.Page{Number: 1, Limit: 3, Order: paging.OldestFirst}, sold, false},
		"key":           {license.Search{Key: sold[1].Key}, paging.First(), sold[1:2], false},
		"no key":        {license.Search{Key: "x"}, paging.First(), nil, false},
		"key of others": {license.Search{Key: sold[1].Key, PartnerID: 99}, paging.First(), nil, false},
	} {
		list, err := h.licenses.Search(t.Context(), c.search, c.page)
		if err != nil || list.More != c.more || list.Total != -1 {
			t.Errorf("%s: more: %t, total %d, %v", name, list.More, list.Total, err)
		}
		if diff := cmp.Diff(keys(c.want), keys(list.Licenses)); diff != "" {
			t.Errorf("%s (-want +got)\n%s", name, diff)
		}
	}
}

// TestPayer returns the buyer of a purchase, or nobody.
func TestPayer(t *testing.T) {
	h := newHarness(t)
	p := h.partner()
	sale, err := h.tryBuy(license.Purchase{PartnerID: p, Tier: 1, Buyer: new(person("ann"))})
	if err != nil {
		t.Fatal(err)
	}
	for id, want := range map[int64]int64{sale.ID: h.user("ann").ID, 999: 0} {
		if got, err := h.licenses.Payer(t.Context(), id); got != want || err != nil {
			t.Errorf("purchase %d: %d, %v, want %d", id, got, err, want)
		}
	}
}

// TestSaleIsAudited: the audit entry of a sale names its licenses.
func TestSaleIsAudited(t *testing.T) {
	h := newHarness(t)
	list := h.buy(license.Purchase{PartnerID: h.partner(), Tier: 1, Quantity: 2})
	like := fmt.Sprintf(`%%"license_keys":["%s","%s"]%%`, list[0].Key, list[1].Key)
	if n := h.count(`SELECT count(*) FROM audit_entries WHERE action = 'purchase.create' AND after LIKE $1`, like); n != 1 {
		t.Errorf("%d entries have both licenses", n)
	}
}
