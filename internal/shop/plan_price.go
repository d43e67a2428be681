package shop

import (
	"net/http"
	"slices"

	"claviger/internal/money"
	"claviger/internal/partner"
	"claviger/internal/payment"
)

// planPrice returns the current price of a plan change for the owner of a license.
func (s *Shop) planPrice(r *http.Request, o ownedView, plan partner.Plan) (payment.PlanPrice, error) {
	tiers := []tierView{{Plan: plan, Pays: true, Now: payment.Amount{Units: plan.PriceCents, Currency: plan.Currency}}}
	if err := s.pricePlans(r, o, tiers); err != nil {
		return payment.PlanPrice{}, err
	}
	if !tiers[0].Pays {
		return payment.PlanPrice{}, errNoPlan()
	}
	return payment.PlanPrice{Amount: tiers[0].Now, Credits: tiers[0].Credits, InShop: true}, nil
}

// pricePlans adds the price of a change to each plan, and the features that change. Prices are
// known only if payments are taken here.
func (s *Shop) pricePlans(r *http.Request, o ownedView, tiers []tierView) error {
	for i := range tiers {
		tiers[i].Gained = without(tiers[i].Features, o.Plan.Features)
		tiers[i].Lost = without(o.Plan.Features, tiers[i].Features)
	}
	if !s.Payments.Takes() {
		return nil
	}
	rule, err := s.Payments.PlanRuleOf(r.Context(), o.Partner.ID)
	if err != nil {
		return err
	}
	paid, err := s.Payments.PaidFor(r.Context(), o.License)
	if err != nil {
		return err
	}
	back := payment.PriceOfPlan(rule, o.Plan, paid)
	returns := o.Plan.PriceCents > 0 && back.InShop && back.Amount.Units == 0 && s.onSale(o.Partner, o.Plan)
	for i := range tiers {
		t := &tiers[i]
		if !t.Pays {
			continue
		}
		price := payment.PriceOfPlan(rule, t.Plan, paid)
		t.Pays = price.InShop
		t.Now = price.Amount
		t.Credits = price.Credits
		t.Covered = covered(price, paid)
		t.Returns = returns && t.Free()
		t.Kept = t.Free() && total(paid, t.Currency) > t.PriceCents && t.PriceCents > 0
	}
	return nil
}

// covered says how much of a price was paid before. It names only money of the current owner:
// payments of a former owner are private.
func covered(price payment.PlanPrice, paid []payment.Paid) string {
	if price.Credits == 0 {
		return ""
	}
	mine := slices.DeleteFunc(slices.Clone(paid), func(p payment.Paid) bool { return !p.Mine })
	own := total(mine, price.Amount.Currency)
	text := money.Text(own, price.Amount.Currency)
	switch {
	case price.Amount.Units > 0 && own >= price.Credits:
		return money.Text(
			price.Credits,
			price.Amount.Currency,
		) + " of the price is already covered by what you've paid."
	case price.Amount.Units > 0:
		return money.Text(price.Credits, price.Amount.Currency) + " of the price is already covered."
	case own >= price.Credits && len(mine) == 1:
		return "Your payment of " + text + " covers it."
	case own >= price.Credits:
		return "Your payments of " + text + " cover it."
	}
	return "The price is already covered."
}

// total returns the sum of the money in one currency.
func total(paid []payment.Paid, currency string) int64 {
	var sum int64
	for _, p := range paid {
		if p.Currency == currency {
			sum += p.Units
		}
	}
	return sum
}

// without returns the features that are not among others.
func without(features, others []string) []string {
	return slices.DeleteFunc(slices.Clone(features), func(f string) bool { return slices.Contains(others, f) })
}
