package console

import (
	"fmt"
	"net/http"

	"claviger/internal/area"
	"claviger/internal/partner"
	"claviger/internal/payment"
	"claviger/internal/ui"
)

// planPricePath is the page that sets what a change of plan costs.
const planPricePath = plansPath + "/change-price"

// planRules are what a change of plan can cost, in words.
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
	return area.Seen{Version: string(rule), Facts: []area.Fact{{Name: "What a change of plan costs", Value: planRuleWords(rule)}}}
}

// planPriceView asks what a change of plan costs.
func (p *Partners) planPriceView(r *http.Request, v *Visit) (ui.Confirm, partner.Partner, payment.PlanRule, error) {
	one, _, err := p.one(r)
	if err != nil {
		return ui.Confirm{}, one, "", err
	}
	rule, err := p.Payments.PlanRuleOf(r.Context(), one.ID)
	if err != nil {
		return ui.Confirm{}, one, "", err
	}
	call := p.call("The same by API", http.MethodPut, fmt.Sprintf("/operator/v1/partners/%d/plan-change-price", one.ID))
	call.JSON = jsonBody(map[string]any{"plan_change_price": string(payment.FullPrice)})
	return ui.Confirm{
		Heading: "What a change of plan costs",
		Says: []string{
			"It holds for licenses of " + one.Name + " whose plan their owner changes on the pages here, and pays by Stripe.",
			"Nothing is ever paid back: a cheaper plan costs nothing. A license that was paid for in another currency is not changed in the shop where the difference counts.",
		},
		Form:   ui.Form{Fields: []ui.Field{{Name: "plan_change_price", Label: "Buyers pay", Type: "select", Value: string(rule), Options: planRules, Required: true}}},
		Action: v.Path("%s", ofPartner(planPricePath, one.ID)), Hidden: []ui.Param{seenPlanRule(rule).Param()},
		Button: ui.Button{Label: "Save", Busy: "Saving…"}, Cancel: v.Path("%s", ofPartner(plansPath, one.ID)), Call: &call,
	}, one, rule, nil
}

func (p *Partners) askPlanPrice(w http.ResponseWriter, r *http.Request, v *Visit) error {
	view, _, _, err := p.planPriceView(r, v)
	if err != nil {
		return err
	}
	return p.area.Confirm(w, r, v, http.StatusOK, view)
}

func (p *Partners) setPlanPrice(w http.ResponseWriter, r *http.Request, v *Visit) error {
	if err := ui.ReadForm(r); err != nil {
		return err
	}
	view, one, was, err := p.planPriceView(r, v)
	if err != nil {
		return err
	}
	rule, err := payment.ParsePlanRule(typed(r, &view, "plan_change_price"))
	if err == nil {
		err = seenPlanRule(was).Unchanged(r)
	}
	if err == nil {
		err = p.Payments.SetPlanRule(r.Context(), v.Actor(), one.ID, rule)
	}
	if err != nil {
		return p.area.Refuse(w, r, v, view, err)
	}
	return p.area.Done(w, r, v, ofPartner(plansPath, one.ID), "Saved. It holds from now on.")
}
