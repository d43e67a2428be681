package partner_test

import (
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
		list, more, err := d.Offers(t.Context(), paging.Page{Number: number, Limit: 2})
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
