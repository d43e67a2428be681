package console

import (
	"context"
	"fmt"
	"net/http"

	"claviger/internal/area"
	"claviger/internal/payment"
	"claviger/internal/ui"
)

// planPricePath is the page that sets the price of a plan change.
const planPricePath = plansPath + "/change-price"

// planRules describe the possible prices of a plan change.
var planRules = []ui.Option{
	{Value: string(payment.Difference), Label: "The difference: the new price, less what was paid for the license"},
	{Value: string(payment.FullPrice), Label: "The full price of the new plan"},
	{Value: string(payment.NotInShop), Label: "Not in the shop: only you change plans"},
}

func planRuleWords(rule payment.PlanRule) string {
	for _, o := range planRules {
		if o.Value == string(rule) {
			return o.Label
		}
	}
	return string(rule)
}

func seenPlanRule(rule payment.PlanRule) area.Seen {
	return area.Seen{
		Version: string(rule),
		Facts:   []area.Fact{{Name: "What a change of plan costs", Value: planRuleWords(rule)}},
	}
}

// planPrice sets the price of a plan change.
func (p *Partners) planPrice(r *http.Request, v *Visit) (area.Action, error) {
	one, _, err := p.one(r)
	if err != nil {
		return area.Action{}, err
	}
	rule, err := p.Payments.PlanRuleOf(r.Context(), one.ID)
	if err != nil {
		return area.Action{}, err
	}
	call := p.call("The same by API", http.MethodPut, fmt.Sprintf("/operator/v1/partners/%d/plan-change-price", one.ID))
	call.JSON = area.JSON(map[string]any{"plan_change_price": string(payment.FullPrice)})
	view := ui.Confirm{
		Heading: "What a change of plan costs",
		Says: []string{
			"It holds for licenses of " + one.Name + " whose plan their owner changes on the pages here, and pays " +
				"by Stripe.",
			"Nothing is ever paid back: a cheaper plan costs nothing. A license that was paid for in another " +
				"currency is not changed in the shop where the difference counts.",
		},
		Form: ui.Form{
			Fields: []ui.Field{{
				Name:     "plan_change_price",
				Label:    "Buyers pay",
				Type:     "select",
				Value:    string(rule),
				Options:  planRules,
				Required: true,
			}},
		},
		Button: ui.Button{Label: "Save", Busy: "Saving…"},
		Cancel: v.Path("%s", ofPartner(plansPath, one.ID)),
		Call:   &call,
	}
	return area.Action{Ask: view, Seen: seenPlanRule(rule), Do: func(ctx context.Context) (string, error) {
		rule, err := payment.ParsePlanRule(ui.FormText(r, "plan_change_price"))
		if err == nil {
			err = p.Payments.SetPlanRule(ctx, v.Actor(), one.ID, rule)
		}
		return "Saved. It holds from now on.", err
	}}, nil
}
