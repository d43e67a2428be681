package license_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"claviger/internal/event"
	"claviger/internal/license"
)

// TestFindAnyAgreesWithTheTable compares every page of every search over all partners with the same
// part of the sold licenses, selected in a simple way.
func TestFindAnyAgreesWithTheTable(t *testing.T) {
	h := newHarness(t)
	partners := []int64{h.partner(), h.partner(), h.partner()}
	ann, bob := person("ann"), person("bob")
	var all []license.License
	for i := range 24 {
		buyer := &ann
		if i%3 == 0 {
			buyer = &bob
		}
		l := h.buy(license.Purchase{PartnerID: partners[i%len(partners)], Tier: i%2 + 1, Buyer: buyer, ExternalID: fmt.Sprint("order-", i)})[0]
		if i%5 == 0 {
			l, _ = h.licenses.Hold(t.Context(), tester, l.Key, license.HoldOther)
		}
		all = append(all, l)
	}
	slices.Reverse(all)
	key, owner := all[7].Key, all[0].OwnerID
	orderOf := func(i int) string { return fmt.Sprint("order-", len(all)-1-i) } // of the license at that index
	for name, f := range map[string]license.FindAny{
		"all": {}, "status": {Find: license.Find{Status: event.Deactivated}}, "tier": {Find: license.Find{Tier: 2}},
		"partner": {PartnerID: partners[1]}, "owner": {Owners: []int64{owner}}, "both": {PartnerID: partners[1], Owners: []int64{owner}}, "owner of others' only": {PartnerID: partners[0], Owners: []int64{owner}}, "owners": {Owners: []int64{owner, 0, all[1].OwnerID}},
		"key": {Find: license.Find{Key: key}}, "end": {Find: license.Find{Key: key[32:]}}, "longer end": {Find: license.Find{Key: strings.ToUpper(key[20:])}},
		"since": {Find: license.Find{From: all[9].CreatedAt}}, "until": {Find: license.Find{To: all[9].CreatedAt}},
		"span of an owner": {Owners: []int64{owner}, Find: license.Find{From: all[20].CreatedAt, To: all[3].CreatedAt}},
		"nothing":          {Find: license.Find{From: time.Now().Add(time.Hour)}},
		"external id":      {ExternalID: orderOf(7)}, "external id of a partner": {ExternalID: orderOf(7), PartnerID: all[7].PartnerID},
		"external id and its key": {ExternalID: orderOf(7), Find: license.Find{Key: key}}, "external id and another key": {ExternalID: orderOf(8), Find: license.Find{Key: key}},
	} {
		want := []string{}
		for i, l := range all {
			k := strings.ToLower(f.Key)
			if (f.ExternalID == "" || f.ExternalID == orderOf(i)) && strings.HasSuffix(l.Key, k) && (f.Status == 0 || l.Status == f.Status) && (f.Tier == 0 || l.Tier == f.Tier) &&
				(f.PartnerID == 0 || l.PartnerID == f.PartnerID) && (f.Owners == nil || l.OwnerID != 0 && slices.Contains(f.Owners, l.OwnerID)) &&
				!l.CreatedAt.Before(f.From) && (f.To.IsZero() || l.CreatedAt.Before(f.To)) {
				want = append(want, l.Key)
			}
		}
		for _, limit := range []int{3, 50} {
			got, before := []string{}, int64(0)
			for {
				page, err := h.licenses.FindAny(t.Context(), f, before, limit)
				if err != nil || len(page.Licenses) > limit {
					t.Fatal(name, page, err)
				}
				got = append(got, keys(page.Licenses)...)
				if before = page.Next; before == 0 {
					break
				}
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%s by %d:\n%s", name, limit, diff)
			}
		}
	}
	for _, bad := range []string{"xyz", "123", strings.Repeat("a", 37), "zz" + key} {
		if _, err := h.licenses.FindAny(t.Context(), license.FindAny{Find: license.Find{Key: bad}}, 0, 10); code(err) != "invalid_parameter" {
			t.Errorf("key %q: %v", bad, err)
		}
	}
}

// TestFindSalesAgreesWithTheTable does the same for purchases and plan changes.
func TestFindSalesAgreesWithTheTable(t *testing.T) {
	h := newHarness(t)
	partners := []int64{h.partner(), h.partner()}
	ann := person("ann")
	var all []license.Sale
	for i := range 12 {
		p := license.Purchase{PartnerID: partners[i%2], Tier: 1, ExternalID: []string{"order 1", "order 2", ""}[i/2%3], Quantity: 1}
		if i >= 6 {
			p.ExternalID += "b"
		}
		if i%3 == 0 {
			p.Buyer = &ann
		}
		s, err := h.tryBuy(p)
		if err != nil {
			t.Fatal(err)
		}
		s.Licenses = nil
		all = append(all, s)
	}
	slices.Reverse(all)
	for name, f := range map[string]license.FindSales{
		"all": {}, "partner": {PartnerID: partners[0]}, "buyer": {Users: []int64{all[2].UserID}}, "buyers": {Users: []int64{all[2].UserID, 0, all[1].UserID}}, "reference": {ExternalID: "order 1"},
		"both": {ExternalID: "order 1", PartnerID: partners[1]}, "since": {From: all[4].CreatedAt}, "until": {To: all[4].CreatedAt, PartnerID: partners[0]},
		"nobody": {Users: []int64{999}},
	} {
		var want, got []int64
		for _, s := range all {
			if (f.PartnerID == 0 || s.PartnerID == f.PartnerID) && (f.Users == nil || s.UserID != 0 && slices.Contains(f.Users, s.UserID)) && (f.ExternalID == "" || s.ExternalID == f.ExternalID) &&
				!s.CreatedAt.Before(f.From) && (f.To.IsZero() || s.CreatedAt.Before(f.To)) {
				want = append(want, s.ID)
			}
		}
		for before := int64(0); ; {
			page, err := h.licenses.FindSales(t.Context(), f, before, 2)
			if err != nil {
				t.Fatal(name, err)
			}
			for _, s := range page.Sales {
				got = append(got, s.ID)
			}
			if before = page.Next; before == 0 {
				break
			}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s:\n%s", name, diff)
		}
	}
}

// TestInspectHasTheChain checks that a license's links show which of them can be refunded, and that
// its refunds stay after a reversal.
func TestInspectHasTheChain(t *testing.T) {
	h := newHarness(t)
	p, ann := h.partner(), person("ann")
	sale, err := h.tryBuy(license.Purchase{PartnerID: p, Tier: 1, Buyer: &ann, Quantity: 2, ExternalID: "order"})
	if err != nil {
		t.Fatal(err)
	}
	key := sale.Licenses[0].Key
	if _, err := h.licenses.ChangePlan(t.Context(), tester, key, license.PlanChange{Tier: 2, ExternalID: "up"}); err != nil {
		t.Fatal(err)
	}
	look := func() (links []string) {
		d, err := h.licenses.Inspect(t.Context(), key)
		if err != nil {
			t.Fatal(err)
		}
		for _, k := range d.Links {
			links = append(links, k.Sale.ExternalID+map[bool]string{true: " open"}[k.Open()]+map[bool]string{true: " refundable"}[k.Refundable])
		}
		return links
	}
	if diff := cmp.Diff([]string{"order open", "up open refundable"}, look()); diff != "" {
		t.Error(diff)
	}
	up, err := h.licenses.Inspect(t.Context(), key)
	if err != nil {
		t.Fatal(err)
	}
	f, err := h.licenses.Refund(t.Context(), tester, license.RefundOrder{PurchaseID: up.Links[1].Sale.ID, ExternalID: "r1"})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"order open refundable", "up"}, look()); diff != "" {
		t.Error(diff)
	}
	if _, err := h.licenses.ReverseRefund(t.Context(), tester, f.ID); err != nil {
		t.Fatal(err)
	}
	d, err := h.licenses.Sale(t.Context(), sale.ID)
	if err != nil || len(d.Items) != 2 || len(d.Items[0].Refunds) != 1 || d.Items[0].Refunds[0].ReversedAt.IsZero() || len(d.Items[1].Refunds) != 0 {
		t.Errorf("the purchase is %+v, %v", d, err)
	}
	if diff := cmp.Diff(keys(sale.Licenses), keys(d.Licenses)); diff != "" {
		t.Errorf("its licenses (-want +got)\n%s", diff)
	}
	back, err := h.licenses.RefundByID(t.Context(), f.ID)
	if err != nil || back.ID != f.ID || back.ReversedAt.IsZero() || len(back.Closed) != 1 || back.Closed[0].Sale.ExternalID != "up" {
		t.Errorf("the refund is %+v, %v", back, err)
	}
	if _, err := h.licenses.RefundByID(t.Context(), 999); code(err) != license.CodeUnknownRefund {
		t.Errorf("an unknown refund: %v", err)
	}
	for _, id := range []int64{0, -1, 999} {
		if _, err := h.licenses.Sale(t.Context(), id); code(err) != license.CodeUnknownPurchase {
			t.Errorf("purchase %d: %v", id, err)
		}
	}
	if _, err := h.licenses.Refund(t.Context(), tester, license.RefundOrder{PurchaseID: 999, ExternalID: "x"}); code(err) != license.CodeUnknownPurchase {
		t.Error(err)
	}
}
