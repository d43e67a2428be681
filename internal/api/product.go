package api

import (
	"encoding/base64"
	"net/http"

	"claviger/internal/fault"
	"claviger/internal/partner"
	"claviger/internal/wire"
)

// maxProductBody fits the largest icon in base64 with the texts.
const maxProductBody = 1 << 20

// productRoutes returns the routes of the product texts.
func (a *API) productRoutes(auth *wire.AuthRoutes[partner.Partner]) []wire.Route {
	return []wire.Route{
		auth.Route("GET", "/v2/product", a.readProduct),
		auth.Route("PATCH", "/v2/product", a.changeProduct),
		auth.Route("GET", "/v2/plans", a.listPlans),
		auth.Route("PATCH", "/v2/plans/{tier}", a.describePlan),
	}
}

// productAnswer is the product texts of the application on the wire.
type productAnswer struct {
	Tagline      string `json:"tagline"`
	Description  string `json:"description"`
	Website      string `json:"website"`
	SupportEmail string `json:"support_email"`
	RefundTerms  string `json:"refund_terms"`
	RefundDays   int    `json:"refund_days"`
	IconURL      string `json:"icon_url"`
	ProductURL   string `json:"product_url"`
}

func (a *API) productOf(who partner.Partner, p partner.Product) productAnswer {
	out := productAnswer{
		Tagline: p.Tagline, Description: p.Description, Website: p.Website, SupportEmail: p.SupportEmail,
		RefundTerms: p.RefundTerms, RefundDays: p.RefundDays,
		ProductURL: a.PublicURL + partner.ProductPath(who.ID),
	}
	if p.Icon != "" {
		out.IconURL = a.PublicURL + p.IconPath()
	}
	return out
}

func (a *API) readProduct(w http.ResponseWriter, r *http.Request, p partner.Partner) error {
	product, err := a.Partners.Product(r.Context(), p.ID)
	if err != nil {
		return err
	}
	return wire.JSON(w, http.StatusOK, a.productOf(p, product))
}

func (a *API) changeProduct(w http.ResponseWriter, r *http.Request, p partner.Partner) error {
	var in struct {
		Tagline      *string `json:"tagline"`
		Description  *string `json:"description"`
		Website      *string `json:"website"`
		SupportEmail *string `json:"support_email"`
		RefundTerms  *string `json:"refund_terms"`
		RefundDays   *int    `json:"refund_days"`
		Icon         *string `json:"icon"` // base64
	}
	if _, err := (wire.Decoder{Limit: maxProductBody, ReadOnly: productAnswer{}}).Decode(w, r, &in); err != nil {
		return err
	}
	change := partner.ProductChange{
		Tagline:      in.Tagline,
		Description:  in.Description,
		Website:      in.Website,
		SupportEmail: in.SupportEmail,
		RefundTerms:  in.RefundTerms,
		RefundDays:   in.RefundDays,
	}
	if in.Icon != nil {
		icon, err := base64.StdEncoding.DecodeString(*in.Icon)
		if err != nil {
			return fault.Field(
				"icon",
				"is not base64; send the bytes of a PNG, JPEG or WebP in base64 (RFC 4648, section 4).",
			)
		}
		change.Icon = &icon
	}
	product, err := a.Partners.ChangeProduct(r.Context(), actor(p), p.ID, change)
	if err != nil {
		return err
	}
	return wire.JSON(w, http.StatusOK, a.productOf(p, product))
}

// planAnswer is a plan on the wire.
type planAnswer struct {
	Tier        int      `json:"tier"`
	Name        string   `json:"name"`
	PriceCents  int64    `json:"price_cents"`
	Currency    string   `json:"currency"`
	Description string   `json:"description"`
	Features    []string `json:"features"`
	Recommended bool     `json:"recommended"`
	Sort        int      `json:"sort"`
	MaxPerBuyer int      `json:"max_per_buyer"` // -1: not set
}

func planOf(p partner.Plan) planAnswer {
	return planAnswer{
		Tier: p.Tier, Name: p.Name, PriceCents: p.PriceCents, Currency: p.Currency,
		Description: p.Description, Features: append([]string{}, p.Features...), Recommended: p.Recommended,
		Sort:        p.Sort,
		MaxPerBuyer: p.MaxPerBuyer.Number(),
	}
}

func (a *API) listPlans(w http.ResponseWriter, r *http.Request, p partner.Partner) error {
	list, err := a.Partners.Plans(r.Context(), p.ID)
	if err != nil {
		return err
	}
	return wire.JSON(w, http.StatusOK, wire.ListOf(list, planOf))
}

// describePlan changes the texts of a plan. The marketplace sets its name and price.
func (a *API) describePlan(w http.ResponseWriter, r *http.Request, p partner.Partner) error {
	var in struct {
		Description *string   `json:"description"`
		Features    *[]string `json:"features"`
		Recommended *bool     `json:"recommended"`
		Sort        *int      `json:"sort"`
		MaxPerBuyer *int      `json:"max_per_buyer"`
	}
	if _, err := (wire.Decoder{Limit: maxBody, JSONOnly: true, ReadOnly: planAnswer{}}).Decode(w, r, &in); err != nil {
		return err
	}
	tier, ok := wire.PathID(r, "tier")
	if !ok || tier > partner.MaxTier {
		tier = 0 // no plan has it
	}
	texts := partner.PlanTexts{
		Description: in.Description,
		Features:    in.Features,
		Recommended: in.Recommended,
		Sort:        in.Sort,
	}
	if in.MaxPerBuyer != nil {
		texts.MaxPerBuyer = new(partner.BuyerLimitOf(*in.MaxPerBuyer))
	}
	plan, err := a.Partners.DescribePlan(r.Context(), actor(p), p.ID, int(tier), texts)
	if err != nil {
		return err
	}
	return wire.JSON(w, http.StatusOK, planOf(plan))
}
