package portal

import (
	"net/http"
	"strconv"
	"time"

	"claviger/internal/area"
	"claviger/internal/fault"
	"claviger/internal/partner"
	"claviger/internal/ui"
	"claviger/internal/wire"
)

const (
	productPath     = "/product"
	productIconPath = productPath + "/icon"
	productPlanPath = productPath + "/plans/{tier}"
)

// productTable returns the rows of the product page in the shop.
func (h *Handler) productTable() []Route {
	icon := row(Act, productIconPath, partner.Admin, h.changeIcon)
	icon.Upload = true
	return []Route{
		row(Page, productPath, partner.Viewer, h.product),
		row(Act, productPath, partner.Admin, h.changeProduct),
		icon,
		row(Page, productPlanPath, partner.Admin, h.askPlanTexts),
		row(Act, productPlanPath, partner.Admin, h.changePlanTexts),
	}
}

func (h *Handler) product(w http.ResponseWriter, r *http.Request, v *Visit) error {
	return h.showProduct(w, r, v, nil)
}

// showProduct shows the current product texts, and after a refusal the errors.
func (h *Handler) showProduct(w http.ResponseWriter, r *http.Request, v *Visit, refused error) error {
	product, err := h.Partners.Product(r.Context(), v.Partner.ID)
	if err != nil {
		return err
	}
	plans, err := h.Partners.Plans(r.Context(), v.Partner.ID)
	if err != nil {
		return err
	}
	pages := area.ProductPages{
		URL: v.Path(productPath), Heading: "Product", May: v.Covers(partner.Admin),
		Call: h.call("The same by API", http.MethodPatch, "/v2/product"),
		Plan: func(p partner.Plan) string {
			if !h.has(productPlanPath, v) {
				return ""
			}
			return v.Path(productPath+"/plans/%d", p.Tier)
		},
	}
	view := pages.View(product, plans)
	status := http.StatusOK
	if f := fault.Of(refused); f != nil {
		status = wire.Status(f.Kind)
		view.Refuse(r, refused)
	}
	return h.render(w, r, v, area.PageProduct, ui.View{Title: "Product", Status: status, Data: view})
}

// changeProduct saves the texts, unless they have changed since they were shown.
func (h *Handler) changeProduct(w http.ResponseWriter, r *http.Request, v *Visit) error {
	if err := ui.ReadForm(r); err != nil {
		return err
	}
	product, err := h.Partners.Product(r.Context(), v.Partner.ID)
	if err != nil {
		return err
	}
	if err := area.SeenProduct(product).Unchanged(r); err != nil {
		return h.showProduct(w, r, v, err)
	}
	return h.saveProduct(w, r, v, area.ReadProduct(r))
}

func (h *Handler) changeIcon(w http.ResponseWriter, r *http.Request, v *Visit) error {
	change, err := area.ReadIcon(r)
	if fault.Of(err) != nil {
		return h.showProduct(w, r, v, err)
	}
	if err != nil {
		return err
	}
	return h.saveProduct(w, r, v, change)
}

func (h *Handler) saveProduct(w http.ResponseWriter, r *http.Request, v *Visit, change partner.ProductChange) error {
	_, err := h.Partners.ChangeProduct(r.Context(), v.Actor(), v.Partner.ID, change)
	if fault.Of(err) != nil {
		return h.showProduct(w, r, v, err)
	}
	if err != nil {
		return err
	}
	return h.done(w, r, v, productPath, "Saved. Buyers see it from now on.")
}

// planTextsView builds the form for the texts of the path's plan. The marketplace sets its name and
// price.
func (h *Handler) planTextsView(r *http.Request, v *Visit) (confirmView, partner.Plan, error) {
	plan, err := h.Partners.Plan(r.Context(), v.Partner.ID, int(id(r, "tier")))
	if err != nil {
		return confirmView{}, plan, missing(err)
	}
	call := h.call("The same by API", http.MethodPatch, "/v2/plans/"+strconv.Itoa(plan.Tier))
	call.JSON = `{"features":["Ten seats"],"recommended":true}`
	return confirmView{
		Heading: "What buyers read about “" + plan.DisplayName() + "”",
		Says:    []string{"Its name and its price are set by the marketplace."},
		Form:    ui.Form{Fields: area.PlanTextFields(plan)},
		Action:  v.Path(productPath+"/plans/%d", plan.Tier), Cancel: v.Path(productPath),
		Hidden: []ui.Param{seenPlanTexts(plan).Param()},
		Button: ui.Button{Label: "Save", Busy: "Saving…"}, Call: &call,
	}, plan, nil
}

// seenPlanTexts returns the state of a plan that the page showed.
func seenPlanTexts(p partner.Plan) area.Seen {
	return area.Seen{Version: p.UpdatedAt.Format(time.RFC3339Nano), Facts: area.PlanTextFacts(p)}
}

func (h *Handler) askPlanTexts(w http.ResponseWriter, r *http.Request, v *Visit) error {
	view, _, err := h.planTextsView(r, v)
	if err != nil {
		return err
	}
	return h.confirm(w, r, v, http.StatusOK, view)
}

func (h *Handler) changePlanTexts(w http.ResponseWriter, r *http.Request, v *Visit) error {
	if err := ui.ReadForm(r); err != nil {
		return err
	}
	view, plan, err := h.planTextsView(r, v)
	if err != nil {
		return err
	}
	texts, err := area.ReadPlanTexts(r, &view.Form)
	if err == nil {
		err = seenPlanTexts(plan).Unchanged(r)
	}
	if err == nil {
		_, err = h.Partners.DescribePlan(r.Context(), v.Actor(), v.Partner.ID, plan.Tier, texts)
	}
	if err != nil {
		return h.refuse(w, r, v, view, err)
	}
	return h.done(w, r, v, productPath, "Saved. Buyers see it from now on.")
}
