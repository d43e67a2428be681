package operator

import (
	"net/http"

	"claviger/internal/account"
	"claviger/internal/fault"
	"claviger/internal/partner"
	"claviger/internal/wire"
)

// planJSON is a plan on the wire.
type planJSON struct {
	PartnerID   int64     `json:"partner_id"`
	Tier        int       `json:"tier"`
	Name        string    `json:"name"`
	PriceCents  int64     `json:"price_cents"`
	Currency    string    `json:"currency"`
	CheckoutURL string    `json:"checkout_url"`
	ExternalRef string    `json:"external_ref"`
	Description string    `json:"description"`
	Features    []string  `json:"features"`
	Recommended bool      `json:"recommended"`
	Sort        int       `json:"sort"`
	MaxPerBuyer int       `json:"max_per_buyer"` // -1: not set
	CreatedAt   wire.Time `json:"created_at"`
	UpdatedAt   wire.Time `json:"updated_at"`
}

func planOf(partnerID int64, p partner.Plan) planJSON {
	return planJSON{
		PartnerID: partnerID, Tier: p.Tier, Name: p.Name, PriceCents: p.PriceCents, Currency: p.Currency,
		CheckoutURL: p.CheckoutURL, ExternalRef: p.ExternalRef,
		Description: p.Description, Features: append([]string{}, p.Features...), Recommended: p.Recommended,
		Sort:        p.Sort,
		MaxPerBuyer: p.MaxPerBuyer.Number(), CreatedAt: wire.Time(p.CreatedAt), UpdatedAt: wire.Time(p.UpdatedAt),
	}
}

// planBody is a whole plan without its tier, which is in the path. Missing texts and a missing
// limit per buyer stay unchanged: people write them, and a program that sets prices must not erase
// them.
type planBody struct {
	Name        string `json:"name"`
	PriceCents  int64  `json:"price_cents"`
	Currency    string `json:"currency"`
	CheckoutURL string `json:"checkout_url"`
	ExternalRef string `json:"external_ref"`

	Description *string   `json:"description"`
	Features    *[]string `json:"features"`
	Recommended *bool     `json:"recommended"`
	Sort        *int      `json:"sort"`
	MaxPerBuyer *int      `json:"max_per_buyer"`
}

func (b planBody) texts() partner.PlanTexts {
	texts := partner.PlanTexts{
		Description: b.Description,
		Features:    b.Features,
		Recommended: b.Recommended,
		Sort:        b.Sort,
	}
	if b.MaxPerBuyer != nil {
		texts.MaxPerBuyer = new(partner.BuyerLimitOf(*b.MaxPerBuyer))
	}
	return texts
}

// pathTier returns the tier in the path. An invalid tier has no plan.
func pathTier(r *http.Request) (int, error) {
	tier, ok := wire.PathID(r, "tier")
	if !ok || tier > partner.MaxTier {
		return 0, fault.New(
			fault.Missing,
			partner.CodeUnknownPlan,
			"There is no plan of this tier; tiers are whole numbers from 1 to %d.",
			partner.MaxTier,
		)
	}
	return int(tier), nil
}

func (o *Operator) listPlans(w http.ResponseWriter, r *http.Request, _ account.Token) error {
	id := pathID(r)
	list, err := o.Partners.Plans(r.Context(), id)
	if err != nil {
		return err
	}
	return wire.JSON(w, http.StatusOK, wire.ListOf(list, func(p partner.Plan) planJSON { return planOf(id, p) }))
}

func (o *Operator) getPlan(w http.ResponseWriter, r *http.Request, _ account.Token) error {
	tier, err := pathTier(r)
	if err != nil {
		return err
	}
	p, err := o.Partners.Plan(r.Context(), pathID(r), tier)
	if err != nil {
		return err
	}
	return wire.JSON(w, http.StatusOK, planOf(pathID(r), p))
}

func (o *Operator) putPlan(w http.ResponseWriter, r *http.Request, t account.Token) error {
	tier, err := pathTier(r)
	if err != nil {
		return err
	}
	var b planBody
	if err := decodeChange(w, r, &b, planJSON{}); err != nil {
		return err
	}
	p, created, err := o.Partners.PutPlanWith(r.Context(), actor(t), pathID(r), partner.Plan{
		Tier: tier, Name: b.Name, PriceCents: b.PriceCents, Currency: b.Currency, CheckoutURL: b.CheckoutURL,
		ExternalRef: b.ExternalRef,
	}, b.texts())
	if err != nil {
		return err
	}
	return wire.JSON(w, createdOr(created), planOf(pathID(r), p))
}

func (o *Operator) deletePlan(w http.ResponseWriter, r *http.Request, t account.Token) error {
	tier, err := pathTier(r)
	if err != nil {
		return err
	}
	if err := o.Partners.DeletePlan(r.Context(), actor(t), pathID(r), tier); err != nil {
		return err
	}
	return wire.NoContent(w)
}

// createdOr returns 201 if something was created, otherwise 200.
func createdOr(created bool) int {
	if created {
		return http.StatusCreated
	}
	return http.StatusOK
}
