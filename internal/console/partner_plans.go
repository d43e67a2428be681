package console

import (
	"context"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"claviger/internal/account"
	"claviger/internal/area"
	"claviger/internal/fault"
	"claviger/internal/money"
	"claviger/internal/partner"
	"claviger/internal/ui"
)

const (
	plansPath      = partnerPath + "/plans"
	newPlanPath    = plansPath + "/new"
	planPath       = plansPath + "/{tier}"
	removePlanPath = planPath + "/remove"
)

// plansView lists the plans of a partner.
type plansView struct {
	Partner partner.Partner
	Tabs    ui.Tabs
	Table   ui.Table
	Add     string // "" if the person may not
	Rule    string // price of a plan change; "" if payments are not taken here
	SetRule string // "" if the person may not
	Call    ui.Curl
}

func (p *Partners) plans(w http.ResponseWriter, r *http.Request, v *Visit) error {
	one, _, err := p.one(r)
	if err != nil {
		return err
	}
	list, err := p.Partners.Plans(r.Context(), one.ID)
	if err != nil {
		return err
	}
	view := plansView{
		Partner: one, Tabs: p.tabs(v, one, plansPath),
		Table: ui.Table{
			ID: "plans", Caption: "Plans, in the order of the product page", Cards: true,
			Columns: []ui.Column{
				{Label: "Tier"},
				{Label: "Name"},
				{Label: "Price", Number: true},
				{Label: "Checkout", Wrap: true},
				{Label: "Reference"},
				{Label: "Last change"},
			},
		},
		Call: p.call("List these plans by API", http.MethodGet, fmt.Sprintf("/operator/v1/partners/%d/plans", one.ID)),
	}
	if p.Payments.Takes() {
		rule, err := p.Payments.PlanRuleOf(r.Context(), one.ID)
		if err != nil {
			return err
		}
		view.Rule = planRuleWords(rule)
	}
	if v.May(account.Admin) {
		view.Add = v.Path("%s", ofPartner(newPlanPath, one.ID))
		view.SetRule = v.Path("%s", ofPartner(planPricePath, one.ID))
	}
	for _, plan := range list {
		tier := ui.Cell{Text: strconv.Itoa(plan.Tier)}
		if v.May(account.Admin) {
			at := v.Path("%s/%d", ofPartner(plansPath, one.ID), plan.Tier)
			tier.Acts = ui.Links(
				ui.RowLink{Label: "Change", Of: plan.DisplayName(), URL: at},
				ui.RowLink{Label: "Remove from sale", Of: plan.DisplayName(), URL: at + "/remove"},
			)
		}
		view.Table.Rows = append(view.Table.Rows, ui.Row{ID: fmt.Sprintf("plan-%d", plan.Tier), Cells: []ui.Cell{
			tier,
			{Text: plan.Name},
			{Text: money.Text(plan.PriceCents, plan.Currency)},
			{Text: plan.CheckoutURL},
			{Text: plan.ExternalRef},
			{At: plan.UpdatedAt},
		}})
	}
	return p.render(w, r, v, "plans", ui.View{Title: "Plans of " + one.Name, Data: view})
}

// seenPlan returns the state of a plan that a page showed; a missing plan has one, too.
func seenPlan(plan partner.Plan) area.Seen {
	if plan.CreatedAt.IsZero() {
		return area.Seen{Version: "none", Facts: []area.Fact{{Name: "Name", Value: ""}}}
	}
	return area.Seen{Version: plan.UpdatedAt.Format(time.RFC3339Nano), Facts: append([]area.Fact{
		{Name: "Name", Value: plan.Name},
		{Name: "Price", Value: money.Text(plan.PriceCents, plan.Currency)},
		{Name: "Checkout URL", Value: plan.CheckoutURL},
		{Name: "Reference", Value: plan.ExternalRef},
	}, area.PlanTextFacts(plan)...)}
}

// putPlan adds or changes a plan.
func (p *Partners) putPlan(r *http.Request, v *Visit, one partner.Partner, plan partner.Plan) area.Action {
	call := p.call(
		"The same by API", http.MethodPut,
		fmt.Sprintf("/operator/v1/partners/%d/plans/%d", one.ID, max(plan.Tier, 1)),
	)
	call.JSON = area.JSON(map[string]any{"name": "Pro", "price_cents": 4900, "currency": "USD"})
	view := ui.Confirm{
		Heading: "Change the plan of tier " + strconv.Itoa(plan.Tier),
		Says: []string{
			"It is sold so from now on. Licenses that were sold stay as they are; their tier has the new name.",
		},
		Form: ui.Form{Fields: append([]ui.Field{
			{Name: "name", Label: "Name", Value: plan.Name, Required: true, Autocomplete: "off"},
			{
				Name: "price", Label: "Price", Value: money.Input(plan.PriceCents, plan.Currency), Required: true,
				Autocomplete: "off", Hint: "Such as 49.00.",
			},
			{
				Name: "currency", Label: "Currency", Value: plan.Currency, Autocomplete: "off",
				Hint: "Three letters, such as USD.",
			},
			{
				Name: "checkout_url", Label: "Checkout URL", Type: "url", Value: plan.CheckoutURL,
				Autocomplete: "off", Hint: "Where the buyer pays, or nothing.",
			},
			{
				Name: "external_ref", Label: "Reference", Value: plan.ExternalRef, Autocomplete: "off",
				Hint: "What your own systems call it, or nothing.",
			},
		}, area.PlanTextFields(plan)...)},
		Button: ui.Button{Label: "Save", Busy: "Saving…"}, Cancel: v.Path("%s", ofPartner(plansPath, one.ID)),
		Call: &call,
	}
	if plan.CreatedAt.IsZero() {
		view.Heading = "Add a plan of " + one.Name
		view.Button = ui.Button{Label: "Add the plan", Busy: "Adding…"}
		view.Says = []string{"It can be sold from now on. A higher tier includes more."}
		view.Fields = append(
			[]ui.Field{{
				Name: "tier", Label: "Tier", Required: true, Autocomplete: "off",
				Hint: "A whole number from 1.",
			}},
			view.Fields...,
		)
	}
	return area.Action{Ask: view, Seen: seenPlan(plan), Do: func(ctx context.Context) (string, error) {
		return p.savePlan(ctx, r, v, one, plan)
	}}
}

// planOf reads the partner and the plan of the path.
func (p *Partners) planOf(r *http.Request) (partner.Partner, partner.Plan, error) {
	one, _, err := p.one(r)
	if err != nil {
		return one, partner.Plan{}, err
	}
	plan, err := p.Partners.Plan(r.Context(), one.ID, int(area.ID(r, "tier")))
	return one, plan, area.Missing(err)
}

// newPlan adds a plan.
func (p *Partners) newPlan(r *http.Request, v *Visit) (area.Action, error) {
	one, _, err := p.one(r)
	return p.putPlan(r, v, one, partner.Plan{}), err
}

// plan changes the plan of the path.
func (p *Partners) plan(r *http.Request, v *Visit) (area.Action, error) {
	one, plan, err := p.planOf(r)
	return p.putPlan(r, v, one, plan), err
}

// savePlan saves the typed values. A plan without a tier is a new one.
func (p *Partners) savePlan(
	ctx context.Context, r *http.Request, v *Visit, one partner.Partner, plan partner.Plan,
) (done string, err error) {
	changed := partner.Plan{
		Tier: plan.Tier, Name: ui.FormText(r, "name"), CheckoutURL: ui.FormText(r, "checkout_url"),
		ExternalRef: ui.FormText(r, "external_ref"),
	}
	if plan.Tier == 0 {
		if changed.Tier, err = p.freeTier(ctx, one, ui.FormText(r, "tier")); err != nil {
			return "", err
		}
	}
	changed.PriceCents, changed.Currency, err = amount("price", ui.FormText(r, "price"), ui.FormText(r, "currency"))
	if err != nil {
		return "", err
	}
	texts, err := area.ReadPlanTexts(r)
	if err == nil {
		_, _, err = p.Partners.PutPlanWith(ctx, v.Actor(), one.ID, changed, texts)
	}
	return fmt.Sprintf("The plan of tier %d is saved.", changed.Tier), err
}

// freeTier returns a typed tier that is not yet sold.
func (p *Partners) freeTier(ctx context.Context, one partner.Partner, text string) (int, error) {
	tier, err := strconv.Atoi(text)
	if err != nil {
		return 0, fault.Field("tier", "must be a whole number from 1 to %d.", partner.MaxTier)
	}
	stored, err := p.Partners.Plan(ctx, one.ID, tier)
	switch {
	case err == nil:
		return 0, fault.New(
			fault.Conflict, codePlanExists,
			"The tier %d is sold already, as “%s”. Nothing was changed; change that plan instead.", tier, stored.Name,
		).On("tier")
	case !fault.Is(err, partner.CodeUnknownPlan):
		return 0, err
	}
	return tier, nil
}

// removePlan removes a plan from sale.
func (p *Partners) removePlan(r *http.Request, v *Visit) (area.Action, error) {
	one, plan, err := p.planOf(r)
	if err != nil {
		return area.Action{}, err
	}
	call := p.call(
		"The same by API", http.MethodDelete, fmt.Sprintf("/operator/v1/partners/%d/plans/%d", one.ID, plan.Tier),
	)
	view := ui.Confirm{
		Heading: fmt.Sprintf("Remove “%s” from sale", plan.DisplayName()),
		Says: []string{
			"Nobody can buy it from now on, or change to it. Licenses of this tier stay as they are; the tier has no " +
				"name any more.",
		},
		Button: ui.Button{Label: "Remove from sale", Busy: "Removing…", Kind: "danger"},
		Cancel: v.Path("%s", ofPartner(plansPath, one.ID)), Call: &call,
	}
	return area.Action{Ask: view, Seen: seenPlan(plan), Do: func(ctx context.Context) (string, error) {
		err := p.Partners.DeletePlan(ctx, v.Actor(), one.ID, plan.Tier)
		return fmt.Sprintf("“%s” is no longer sold.", plan.DisplayName()), err
	}}, nil
}
