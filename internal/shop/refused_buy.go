package shop

import (
	"net/http"

	"claviger/internal/fault"
	"claviger/internal/license"
	"claviger/internal/partner"
	"claviger/internal/ui"
	"claviger/internal/visitor"
	"claviger/internal/wire"
)

// ownedPlan is a plan with the maximum number of licenses for this visitor.
type ownedPlan struct {
	Limit int
	At    string // the page of the license, or the list if there may be several
}

func ownedPlanOf(plan partner.Plan, l license.License) *ownedPlan {
	owned := &ownedPlan{Limit: plan.PerBuyer(), At: "/licenses"}
	if owned.Limit == 1 {
		owned.At += "/" + l.RedemptionID
	}
	return owned
}

// markOwned marks the plans that the visitor has as often as allowed. The limit does not apply to
// plans with their own checkout, which are sold elsewhere.
func (s *Shop) markOwned(r *http.Request, v *visitor.Visitor, of partner.Partner, tiers []tierView) error {
	var limited []partner.Plan
	for _, t := range tiers {
		if (t.Test || t.Pays) && t.PerBuyer() > 0 {
			limited = append(limited, t.Plan)
		}
	}
	if !v.SignedIn() || limited == nil {
		return nil
	}
	reached, err := s.Licenses.AtLimit(r.Context(), v.User.ID, of.ID, limited)
	if err != nil {
		return err
	}
	for i, t := range tiers {
		if l, ok := reached[t.Tier]; ok {
			tiers[i].Owned = ownedPlanOf(t.Plan, l)
		}
	}
	return nil
}

// checkProven refuses a free plan to a visitor without a confirmed address: a limit per person is
// useless if anyone can make up persons.
func checkProven(v *visitor.Visitor, plan partner.Plan) error {
	if plan.PriceCents > 0 || !v.User.ProvenAt.IsZero() {
		return nil
	}
	return fault.New(fault.Forbidden, codeEmailNotConfirmed, "Confirm your email address first, then get this plan.")
}

// refusedBuyView gives the reason a plan was not bought, and the next step.
type refusedBuyView struct {
	Partner partner.Partner
	Product partner.Product
	Plan    partner.Plan
	Owned   *ownedPlan // nil: the address is not confirmed
	Email   string     // address to confirm, or ""
	Next    string     // where the visitor continues
}

// refuseBuy shows the page of a refusal that has one, and returns any other error.
func (s *Shop) refuseBuy(
	w http.ResponseWriter,
	r *http.Request,
	v *visitor.Visitor,
	p partner.Partner,
	plan partner.Plan,
	refused error,
) error {
	view := refusedBuyView{Partner: p, Plan: plan, Email: v.User.Email, Next: chosenPath(p, plan)}
	title := "Confirm your email address"
	status := http.StatusForbidden
	switch {
	case fault.Is(refused, license.CodeTooManyLicenses):
		reached, err := s.Licenses.AtLimit(r.Context(), v.User.ID, p.ID, []partner.Plan{plan})
		if err != nil {
			return err
		}
		l, ok := reached[plan.Tier]
		if !ok { // the license has ended, or the limit was raised
			return refused
		}
		view.Owned = ownedPlanOf(plan, l)
		title = "You already have this plan"
		status = http.StatusConflict
	case !fault.Is(refused, codeEmailNotConfirmed):
		return refused
	}
	var err error
	if view.Product, err = s.Partners.Product(r.Context(), p.ID); err != nil {
		return err
	}
	wire.RequestLogOf(r.Context()).Err = refused
	return s.Site.Render(w, r, v, "refused-buy", ui.View{Title: title, Status: status, NoIndex: true, Data: view})
}
