package partner_test

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"claviger/internal/paging"
	"claviger/internal/partner"
)

func TestOffers(t *testing.T) {
	d := open(t)
	for _, name := range []string{"Zebra", "Ant", "Nothing to sell", "Bee"} {
		p, _ := d.create(t, partner.Draft{Name: name})
		if name == "Nothing to sell" {
			continue
		}
		for tier, price := range map[int]int64{1: 9900, 2: 4900, 3: 19900} {
			if _, _, err := d.PutPlan(t.Context(), operator, p.ID, partner.Plan{Tier: tier, Name: "Plan", PriceCents: price, Currency: "USD"}); err != nil {
				t.Fatal(err)
			}
		}
	}
	read := func(number int64) (names []string, more bool) {
		list, more, err := d.Offers(t.Context(), partner.OfferFilter{WithoutCheckout: true}, paging.Page{Number: number, Limit: 2})
		if err != nil {
			t.Fatal(err)
		}
		for _, o := range list {
			if o.From.Tier != 2 || o.From.PriceCents != 4900 {
				t.Errorf("%s is offered from %+v, which is not its cheapest plan", o.Name, o.From)
			}
			names = append(names, o.Name)
		}
		return names, more
	}
	first, more := read(1)
	if diff := cmp.Diff([]string{"Ant", "Bee"}, first); diff != "" || !more {
		t.Errorf("page 1, more %v (-want +got):\n%s", more, diff)
	}
	second, more := read(2)
	if diff := cmp.Diff([]string{"Zebra"}, second); diff != "" || more {
		t.Errorf("page 2, more %v (-want +got):\n%s", more, diff)
	}
}

// TestOffersOnSale checks that a plan without a checkout is on sale only if the shop sells it
// itself. A search matches name and tagline.
func TestOffersOnSale(t *testing.T) {
	d := open(t)
	for name, checkout := range map[string]string{"Ant": "https://pay.example/ant", "Bee": "", "100%": "https://pay.example/100"} {
		p, _ := d.create(t, partner.Draft{Name: name})
		for _, plan := range []partner.Plan{
			{Tier: 1, Name: "Small", PriceCents: 100, Currency: "USD"},
			{Tier: 2, Name: "Large", PriceCents: 900, Currency: "USD", CheckoutURL: checkout},
		} {
			if _, _, err := d.PutPlan(t.Context(), operator, p.ID, plan); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := d.ChangeProduct(t.Context(), operator, p.ID, partner.ProductChange{Tagline: new("About " + name)}); err != nil {
			t.Fatal(err)
		}
	}
	for _, tt := range []struct {
		name   string
		filter partner.OfferFilter
		want   []string
	}{
		{"by checkout", partner.OfferFilter{}, []string{"100% from 900", "Ant from 900"}},
		{"also without", partner.OfferFilter{WithoutCheckout: true}, []string{"100% from 100", "Ant from 100", "Bee from 100"}},
		{"by name", partner.OfferFilter{Text: " aNT"}, []string{"Ant from 900"}},
		{"by tagline", partner.OfferFilter{Text: "about a"}, []string{"Ant from 900"}},
		{"by a character of LIKE", partner.OfferFilter{Text: "0%"}, []string{"100% from 900"}},
		{"by nothing that is there", partner.OfferFilter{Text: "b_e", WithoutCheckout: true}, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			list, _, err := d.Offers(t.Context(), tt.filter, paging.Page{Number: 1, Limit: 10})
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, o := range list {
				got = append(got, fmt.Sprintf("%s from %d", o.Name, o.From.PriceCents))
				if o.Product.Tagline != "About "+o.Name || o.Product.PartnerID != o.ID {
					t.Errorf("%s comes with %+v", o.Name, o.Product)
				}
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}
