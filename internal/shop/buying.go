package shop

import (
	"cmp"
	"net/http"
	"net/url"
	"strconv"

	"claviger/internal/account"
	"claviger/internal/fault"
	"claviger/internal/license"
	"claviger/internal/partner"
	"claviger/internal/payment"
	"claviger/internal/secret"
	"claviger/internal/ui"
	"claviger/internal/validate"
	"claviger/internal/visitor"
	"claviger/internal/wire"
)

// buyingRoutes returns the pages of products and of the buyer's licenses.
func (s *Shop) buyingRoutes() []wire.Route {
	return append(secretPath(
		s.buyers(http.MethodGet, "/licenses/{id}", s.license),
		s.buyers(http.MethodGet, "/licenses/{id}/release", s.releasePage),
		s.buyers(http.MethodPost, "/licenses/{id}/release", s.release),
		s.signedIn(http.MethodGet, "/licensing/{id}/change_plan", s.plans),
		s.signedIn(http.MethodPost, "/licensing/{id}/change_plan", s.changePlan),
	),
		s.public(http.MethodGet, "/", s.home),
		s.public(http.MethodGet, "/products/{id}", s.product),
		wire.Public(http.MethodGet, "/products/{id}/icon/{name}", s.icon),
		s.public(http.MethodPost, "/products/{id}/buy", s.buy),
		s.signedIn(http.MethodGet, "/products/{id}/buy", s.buyChosen),
		s.public(http.MethodGet, "/products/{id}/guest", s.guestPage),
		s.public(http.MethodPost, "/products/{id}/guest", s.buyAsGuest),
		s.signedIn(http.MethodGet, "/licenses", s.licenses),
		s.payers(http.MethodGet, "/receipts/{id}", s.receipt),
	)
}

// OnSale reports whether the plan can be bought now.
func (t tierView) OnSale() bool { return t.Checkout != "" || t.Test || t.Pays }

// Free reports whether the plan costs nothing.
func (t tierView) Free() bool { return t.Now.Units == 0 }

// onSale reports whether a plan of an application can be bought now.
func (s *Shop) onSale(of partner.Partner, p partner.Plan) bool {
	return !of.Paused() && !p.Recheck && (p.CheckoutURL != "" || s.sells())
}

// sells reports whether the shop sells plans without their own checkout.
func (s *Shop) sells() bool { return s.TestMoney || s.Payments.Takes() }

// tierView is one plan on a page of plans.
type tierView struct {
	partner.Plan
	Current  bool           // the license has it
	Filled   bool           // its button stands out
	Checkout string         // where it is paid; if "", see Test
	Test     bool           // it can be bought with test money
	Pays     bool           // paid at Stripe, or free
	Now      payment.Amount // due today
	Credits  int64          // earlier payments that reduce the price
	Covered  string         // the same in words, or ""
	Kept     bool           // it costs less than was paid, and the difference is not refunded
	Returns  bool           // going back to the current plan is free
	Gained   []string       // features that the current plan lacks
	Lost     []string       // features of the current plan that it lacks
	Action   string         // target of the form
	Order    string         // distinguishes a form sent twice from two orders
	Owned    *ownedPlan     // nil: the visitor may buy another license of it
}

// tiers returns the plans of an application, with their ways to buy. While it is paused, none is on
// sale. With a license, the checkout URL names the license.
func (s *Shop) tiers(of partner.Partner, plans []partner.Plan, l *license.License, action string) []tierView {
	list := make([]tierView, len(plans))
	order := secret.UUID()
	for i, p := range plans {
		if !s.onSale(of, p) {
			list[i] = tierView{
				Plan:    p,
				Current: l != nil && l.Tier == p.Tier,
				Now:     payment.Amount{Units: p.PriceCents, Currency: p.Currency},
			}
			continue
		}
		here := p.CheckoutURL == ""
		list[i] = tierView{
			Plan: p, Checkout: p.CheckoutURL, Pays: here && s.Payments.Takes(),
			Test: here && !s.Payments.Takes(), Action: action, Order: order,
			Now: payment.Amount{Units: p.PriceCents, Currency: p.Currency},
		}
		if l == nil {
			continue
		}
		list[i].Current = l.Tier == p.Tier
		if p.CheckoutURL != "" {
			list[i].Checkout = validate.WithQuery(p.CheckoutURL, url.Values{"license_key": {l.Key}})
		}
	}
	return list
}

// partnerInPath returns the partner of the path.
func (s *Shop) partnerInPath(r *http.Request) (partner.Partner, error) {
	id, err := strconv.ParseInt(r.PathValue("id"), 10, 64)
	if err != nil {
		return partner.Partner{}, errNoProduct()
	}
	p, err := s.Partners.Get(r.Context(), id)
	if fault.Is(err, partner.CodeUnknownPartner) {
		return partner.Partner{}, errNoProduct()
	}
	return p, err
}

func errNoProduct() error {
	return fault.New(
		fault.Missing,
		codeUnknownProduct,
		"There is no such product. The front page lists what is for sale.",
	)
}

// maxOrder is the maximum length of a form's order name.
const maxOrder = 100

// order reads a form that buys a plan here.
func (s *Shop) order(r *http.Request, partnerID int64) (partner.Plan, string, error) {
	if err := ui.ReadForm(r); err != nil {
		return partner.Plan{}, "", err
	}
	plan, err := s.soldHere(r, partnerID, r.PostFormValue("tier"))
	if err != nil {
		return partner.Plan{}, "", err
	}
	order, err := validate.Line("order", r.PostFormValue("order"), 0, maxOrder)
	return plan, "test-" + cmp.Or(order, secret.UUID()), err
}

// soldHere returns a plan that is bought here, and not in another checkout.
func (s *Shop) soldHere(r *http.Request, partnerID int64, tier string) (partner.Plan, error) {
	n, err := strconv.Atoi(tier)
	if err != nil {
		return partner.Plan{}, errNoPlan()
	}
	plan, err := s.Partners.Plan(r.Context(), partnerID, n)
	switch {
	case fault.Is(err, partner.CodeUnknownPlan):
		return partner.Plan{}, errNoPlan()
	case err != nil:
		return partner.Plan{}, err
	case plan.Recheck:
		return partner.Plan{}, errNoPlan()
	case !s.sells() || plan.CheckoutURL != "":
		return partner.Plan{}, fault.New(
			fault.Forbidden,
			codeNoTestMoney,
			"This plan is paid for in the marketplace's checkout.",
		)
	}
	return plan, nil
}

func errNoPlan() error {
	return fault.New(
		fault.Missing,
		partner.CodeUnknownPlan,
		"This plan is no longer for sale. Go back and choose another.",
	)
}

// buy sends the buyer to the payment page of a plan. A plan that is free, or paid with test money,
// is sold immediately, and the redeem page follows. Visitors type an address for a plan that costs
// money, and sign in for others.
func (s *Shop) buy(w http.ResponseWriter, r *http.Request, v *visitor.Visitor) error {
	p, err := s.partnerInPath(r)
	if err != nil {
		return err
	}
	plan, order, err := s.order(r, p.ID)
	if err != nil {
		return err
	}
	if !v.SignedIn() {
		s.rememberPlan(w, p, plan)
		if s.sellsToGuests(plan) && !p.Paused() {
			ui.SeeOther(w, r, guestPath(p, plan))
			return nil
		}
		ui.SeeOther(w, r, visitor.SignIn(chosenPath(p, plan)))
		return nil
	}
	to, err := s.buyPlan(w, r, v, p, plan, order)
	if err != nil {
		return s.refuseBuy(w, r, v, p, plan, err)
	}
	ui.SeeOther(w, r, to)
	return nil
}

// buyPlan buys a plan, or starts its payment, and returns the next page.
func (s *Shop) buyPlan(
	w http.ResponseWriter,
	r *http.Request,
	v *visitor.Visitor,
	p partner.Partner,
	plan partner.Plan,
	order string,
) (string, error) {
	if err := checkProven(v, plan); err != nil {
		return "", err
	}
	price := payment.Amount{Units: plan.PriceCents, Currency: plan.Currency}
	paid := paidOrder(v, p, plan, price, partner.ProductPath(p.ID))
	if plan.PriceCents > 0 && s.Payments.Takes() {
		return s.pay(w, r, paid)
	}
	buyer := account.Person{Email: v.User.Email, ExternalID: v.User.ExternalID}
	sale, err := s.Payments.SellFree(r.Context(), v.Actor(), paid, license.Purchase{
		PartnerID: p.ID, Tier: plan.Tier, Buyer: &buyer, Quantity: 1,
		AmountCents: plan.PriceCents, Currency: plan.Currency, ExternalID: order, Shop: true,
	})
	if err != nil {
		return "", err
	}
	return redeemPath(sale.Licenses[0].RedemptionID), nil
}

// redeemPath returns the page that connects a license.
func redeemPath(redemptionID string) string { return "/licensing/" + redemptionID + "/redeem/" }
