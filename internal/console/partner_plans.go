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
		view.Add, view.SetRule = v.Path("%s", ofPartner(newPlanPath, one.ID)), v.Path(
			"%s", ofPartner(planPricePath, one.ID),
		)
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

// planView builds the page that adds or changes a plan.
func (p *Partners) planView(v *Visit, one partner.Partner, plan partner.Plan) ui.Confirm {
	call := p.call(
		"The same by API", http.MethodPut,
		fmt.Sprintf("/operator/v1/partners/%d/plans/%d", one.ID, max(plan.Tier, 1)),
	)
	call.JSON = jsonBody(map[string]any{"name": "Pro", "price_cents": 4900, "currency": "USD"})
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
		Action: v.Path("%s/%d", ofPartner(plansPath, one.ID), plan.Tier), Hidden: []ui.Param{seenPlan(plan).Param()},
		Button: ui.Button{Label: "Save", Busy: "Saving…"}, Cancel: v.Path("%s", ofPartner(plansPath, one.ID)),
		Call: &call,
	}
	if plan.CreatedAt.IsZero() {
		view.Heading, view.Button, view.Action = "Add a plan of "+one.Name, ui.Button{Label: "Add the plan", Busy: "Adding…"}, v.Path("%s", ofPartner(newPlanPath, one.ID))
		view.Says = []string{"It can be sold from now on. A higher tier includes more."}
		view.Fields = append(
			[]ui.Field{{
				Name: "tier", Label: "Tier", Value: tierText(plan.Tier), Required: true, Autocomplete: "off",
				Hint: "A whole number from 1.",
			}},
			view.Fields...,
		)
	}
	return view
}

func tierText(tier int) string {
	if tier == 0 {
		return ""
	}
	return strconv.Itoa(tier)
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

func (p *Partners) askNewPlan(w http.ResponseWriter, r *http.Request, v *Visit) error {
	one, _, err := p.one(r)
	if err != nil {
		return err
	}
	return p.area.Confirm(w, r, v, http.StatusOK, p.planView(v, one, partner.Plan{}))
}

func (p *Partners) askPlan(w http.ResponseWriter, r *http.Request, v *Visit) error {
	one, plan, err := p.planOf(r)
	if err != nil {
		return err
	}
	return p.area.Confirm(w, r, v, http.StatusOK, p.planView(v, one, plan))
}

// addPlan adds a plan for a tier that is not yet sold.
func (p *Partners) addPlan(w http.ResponseWriter, r *http.Request, v *Visit) error {
	if err := ui.ReadForm(r); err != nil {
		return err
	}
	one, _, err := p.one(r)
	if err != nil {
		return err
	}
	view := p.planView(v, one, partner.Plan{})
	tier, err := strconv.Atoi(typed(r, &view, "tier"))
	if err != nil {
		return p.area.Refuse(
			w, r, v, view, fault.Field("tier", "must be a whole number from 1 to %d.", partner.MaxTier),
		)
	}
	stored, err := p.Partners.Plan(r.Context(), one.ID, tier)
	switch {
	case err == nil:
		return p.area.Refuse(
			w, r, v, view,
			fault.New(fault.Conflict, codePlanExists, "The tier %d is sold already, as “%s”. Nothing was changed; change that plan instead.", tier, stored.Name).On("tier"),
		)
	case !fault.Is(err, partner.CodeUnknownPlan):
		return err
	}
	return p.savePlan(w, r, v, one, partner.Plan{Tier: tier}, view)
}

func (p *Partners) changePlan(w http.ResponseWriter, r *http.Request, v *Visit) error {
	if err := ui.ReadForm(r); err != nil {
		return err
	}
	one, plan, err := p.planOf(r)
	if err != nil {
		return err
	}
	return p.savePlan(w, r, v, one, plan, p.planView(v, one, plan))
}

// savePlan saves the typed values, unless the plan has changed since it was shown.
func (p *Partners) savePlan(
	w http.ResponseWriter, r *http.Request, v *Visit, one partner.Partner, plan partner.Plan, view ui.Confirm,
) error {
	changed := partner.Plan{
		Tier: plan.Tier, Name: typed(r, &view, "name"), Currency: typed(r, &view, "currency"),
		CheckoutURL: typed(r, &view, "checkout_url"), ExternalRef: typed(r, &view, "external_ref"),
	}
	var err error
	if changed.PriceCents, changed.Currency, err = amount("price", typed(r, &view, "price"), changed.Currency); err != nil {
		return p.area.Refuse(w, r, v, view, err)
	}
	texts, err := area.ReadPlanTexts(r, &view.Form)
	if err != nil {
		return p.area.Refuse(w, r, v, view, err)
	}
	if err := seenPlan(plan).Unchanged(r); err != nil {
		return p.area.Refuse(w, r, v, view, err)
	}
	if _, _, err := p.Partners.PutPlanWith(r.Context(), v.Actor(), one.ID, changed, texts); err != nil {
		return p.area.Refuse(w, r, v, view, err)
	}
	return p.area.Done(w, r, v, ofPartner(plansPath, one.ID), fmt.Sprintf("The plan of tier %d is saved.", plan.Tier))
}

// typed returns the typed value of a field and keeps it for when the page is shown again.
func typed(r *http.Request, view *ui.Confirm, name string) string {
	for i := range view.Fields {
		if view.Fields[i].Name == name {
			view.Fields[i].Value = ui.FormText(r, name)
		}
	}
	return ui.FormText(r, name)
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
		Says:    []string{"Nobody can buy it from now on, or change to it. Licenses of this tier stay as they are; the tier has no name any more."},
		Button:  ui.Button{Label: "Remove from sale", Busy: "Removing…", Kind: "danger"},
		Cancel:  v.Path("%s", ofPartner(plansPath, one.ID)), Call: &call,
	}
	return area.Action{Ask: view, Seen: seenPlan(plan), Do: func(ctx context.Context) (string, error) {
		err := p.Partners.DeletePlan(ctx, v.Actor(), one.ID, plan.Tier)
		return fmt.Sprintf("“%s” is no longer sold.", plan.DisplayName()), err
	}}, nil
}
