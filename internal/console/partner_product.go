package console

import (
	"fmt"
	"net/http"

	"claviger/internal/account"
	"claviger/internal/area"
	"claviger/internal/fault"
	"claviger/internal/partner"
	"claviger/internal/ui"
	"claviger/internal/wire"
)

const (
	productPath     = partnerPath + "/product"
	productIconPath = productPath + "/icon"
)

// productTable returns the routes of a partner's product page in the shop.
func (p *Partners) productTable() []Route {
	icon := row(Act, productIconPath, account.Admin, p.changeIcon)
	icon.Upload = true
	return []Route{
		row(Page, productPath, account.Read, p.product),
		row(Act, productPath, account.Admin, p.changeProduct),
		icon,
	}
}

func (p *Partners) product(w http.ResponseWriter, r *http.Request, v *Visit) error {
	return p.showProduct(w, r, v, nil)
}

// showProduct shows the current product texts, and after a refusal the errors.
func (p *Partners) showProduct(w http.ResponseWriter, r *http.Request, v *Visit, refused error) error {
	one, _, err := p.one(r)
	if err != nil {
		return err
	}
	product, err := p.Partners.Product(r.Context(), one.ID)
	if err != nil {
		return err
	}
	plans, err := p.Partners.Plans(r.Context(), one.ID)
	if err != nil {
		return err
	}
	tabs := p.tabs(v, one, productPath)
	pages := area.ProductPages{
		URL: v.Path(
			"%s",
			ofPartner(productPath, one.ID),
		), Tabs: &tabs, Heading: "Product of " + one.Name, May: v.May(account.Admin),
		Call: p.call("The same by API", http.MethodPatch, fmt.Sprintf("/operator/v1/partners/%d/product", one.ID)),
		Plan: func(plan partner.Plan) string {
			if !v.May(account.Admin) {
				return ""
			}
			return v.Path("%s/%d", ofPartner(plansPath, one.ID), plan.Tier)
		},
	}
	view := pages.View(product, plans)
	status := http.StatusOK
	if f := fault.Of(refused); f != nil {
		status = wire.Status(f.Kind)
		view.Refuse(r, refused)
	}
	return p.render(w, r, v, area.PageProduct, ui.View{Title: view.Heading, Status: status, Data: view})
}

// changeProduct saves the texts, unless they have changed since they were shown.
func (p *Partners) changeProduct(w http.ResponseWriter, r *http.Request, v *Visit) error {
	if err := ui.ReadForm(r); err != nil {
		return err
	}
	one, _, err := p.one(r)
	if err != nil {
		return err
	}
	product, err := p.Partners.Product(r.Context(), one.ID)
	if err != nil {
		return err
	}
	if err := area.SeenProduct(product).Unchanged(r); err != nil {
		return p.showProduct(w, r, v, err)
	}
	return p.saveProduct(w, r, v, one, area.ReadProduct(r))
}

func (p *Partners) changeIcon(w http.ResponseWriter, r *http.Request, v *Visit) error {
	one, _, err := p.one(r)
	if err != nil {
		return err
	}
	change, err := area.ReadIcon(r)
	if fault.Of(err) != nil {
		return p.showProduct(w, r, v, err)
	}
	if err != nil {
		return err
	}
	return p.saveProduct(w, r, v, one, change)
}

func (p *Partners) saveProduct(
	w http.ResponseWriter,
	r *http.Request,
	v *Visit,
	one partner.Partner,
	change partner.ProductChange,
) error {
	_, err := p.Partners.ChangeProduct(r.Context(), v.Actor(), one.ID, change)
	if fault.Of(err) != nil {
		return p.showProduct(w, r, v, err)
	}
	if err != nil {
		return err
	}
	return p.area.Done(w, r, v, ofPartner(productPath, one.ID), "Saved. Buyers see it from now on.")
}
