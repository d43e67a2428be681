package partner_test

import (
	"testing"

	"claviger/internal/fault"
	"claviger/internal/partner"
)

// TestPerBuyer checks that an unset limit follows from the price, and 0 is no limit.
func TestPerBuyer(t *testing.T) {
	for name, c := range map[string]struct {
		limit partner.BuyerLimit
		price int64
		want  int
	}{
		"not set, free":  {partner.BuyerLimit{}, 0, 1},
		"not set, paid":  {partner.BuyerLimit{}, 4900, 0},
		"no limit, free": {partner.BuyerLimitOf(0), 0, 0},
		"no limit, paid": {partner.BuyerLimitOf(0), 4900, 0},
		"three, free":    {partner.BuyerLimitOf(3), 0, 3},
		"three, paid":    {partner.BuyerLimitOf(3), 4900, 3},
	} {
		if got := (partner.Plan{PriceCents: c.price, MaxPerBuyer: c.limit}).PerBuyer(); got != c.want {
			t.Errorf("%s: %d, want %d", name, got, c.want)
		}
	}
}

// TestPutPlanLimit checks that each limit, even an unset one, is stored and read unchanged, and
// that a change without a limit keeps it.
func TestPutPlanLimit(t *testing.T) {
	d := open(t)
	p, _ := d.create(t, partner.Draft{Name: "a"})
	for _, n := range []int{-1, 0, 1, partner.MaxPerBuyer, -1} {
		plan := pro
		plan.MaxPerBuyer = partner.BuyerLimitOf(n)
		if _, _, err := d.PutPlan(t.Context(), operator, p.ID, plan); err != nil {
			t.Fatalf("put %d: %v", n, err)
		}
		keeps := func(how string, change func() error) {
			t.Helper()
			if err := change(); err != nil {
				t.Errorf("%s, limit %d: %v", how, n, err)
			}
			got, err := d.Plan(t.Context(), p.ID, pro.Tier)
			if err != nil || got.MaxPerBuyer.Number() != n || got.MaxPerBuyer.Set != (n != -1) {
				t.Errorf("%s, limit %d: read %+v, %v", how, n, got.MaxPerBuyer, err)
			}
		}
		keeps("put", func() error { return nil })
		keeps("put without a limit", func() error {
			dearer := pro
			dearer.PriceCents += int64(n) + 10
			_, _, err := d.PutPlanWith(t.Context(), operator, p.ID, dearer, partner.PlanTexts{})
			return err
		})
		keeps("described without a limit", func() error {
			_, err := d.DescribePlan(t.Context(), operator, p.ID, pro.Tier, partner.PlanTexts{Sort: new(n)})
			return err
		})
	}
	for _, n := range []int{-2, partner.MaxPerBuyer + 1} {
		plan := pro
		plan.MaxPerBuyer = partner.BuyerLimitOf(n)
		if _, _, err := d.PutPlan(t.Context(), operator, p.ID, plan); fault.Of(err) == nil || fault.Of(err).Field != "max_per_buyer" {
			t.Errorf("limit %d: %v", n, err)
		}
	}
}
