package shop

import (
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"claviger/internal/partner"
	"claviger/internal/secret"
	"claviger/internal/ui"
	"claviger/internal/visitor"
)

// planCookie remembers the plan that was chosen before sign-in. It is not in the session, because
// anyone could fill the table of sessions. Its value is the tier and a name of the order.
const (
	planCookie = "claviger-plan"
	planLife   = time.Hour
)

// chosenPath returns the page after sign-in for a visitor who pressed Buy before.
func chosenPath(p partner.Partner, plan partner.Plan) string {
	return buyPath(p) + "?" + url.Values{"tier": {strconv.Itoa(plan.Tier)}}.Encode()
}

func buyPath(p partner.Partner) string { return partner.ProductPath(p.ID) + "/buy" }

// rememberPlan makes this browser remember the chosen plan.
func (s *Shop) rememberPlan(w http.ResponseWriter, p partner.Partner, plan partner.Plan) {
	s.setCookie(
		w,
		http.Cookie{
			Name:   planCookie,
			Value:  strconv.Itoa(plan.Tier) + "." + secret.UUID(),
			Path:   buyPath(p),
			MaxAge: int(planLife / time.Second),
		},
	)
}

// rememberedOrder returns the name of the order if this browser remembers the plan, otherwise "".
// Only a remembered plan can be bought by a link.
func rememberedOrder(r *http.Request, plan partner.Plan) string {
	c, err := r.Cookie(planCookie)
	if err != nil {
		return ""
	}
	tier, order, _ := strings.Cut(c.Value, ".")
	if tier != strconv.Itoa(plan.Tier) || len(order) > maxOrder {
		return ""
	}
	return order
}

// confirmBuyView asks before a plan is bought.
type confirmBuyView struct {
	Partner partner.Partner
	Product partner.Product
	Plan    tierView
}

// buyChosen continues with a plan that was chosen before sign-in. A browser that does not remember
// it, such as the one that opened an emailed link, asks first.
func (s *Shop) buyChosen(w http.ResponseWriter, r *http.Request, v *visitor.Visitor) error {
	p, err := s.partnerInPath(r)
	if err != nil {
		return err
	}
	plan, err := s.soldHere(r, p.ID, r.URL.Query().Get("tier"))
	if err != nil {
		return err
	}
	order := rememberedOrder(r, plan)
	switch {
	case order == "":
		return s.confirmBuy(w, r, v, p, plan)
	case r.Method == http.MethodHead:
		return nil // HEAD buys nothing
	}
	s.setCookie(w, http.Cookie{Name: planCookie, Path: buyPath(p), MaxAge: -1})
	to, err := s.buyPlan(w, r, v, p, plan, "test-"+order)
	if err != nil {
		return s.refuseBuy(w, r, v, p, plan, err)
	}
	if strings.HasPrefix(to, "/") {
		ui.SeeOther(w, r, to)
		return nil
	}
	// Not a redirect: the page with the sign-in form does not let its form end at Stripe.
	return s.Site.Render(w, r, v, "to-payment", ui.View{
		Title: "Going to the payment page", NoIndex: true, Data: p.Name + ", " + plan.DisplayName(),
		DelayedRedirect: &ui.DelayedRedirect{To: to, Wait: func() {}},
	})
}

func (s *Shop) confirmBuy(
	w http.ResponseWriter,
	r *http.Request,
	v *visitor.Visitor,
	p partner.Partner,
	plan partner.Plan,
) error {
	product, err := s.Partners.Product(r.Context(), p.ID)
	if err != nil {
		return err
	}
	tiers := s.tiers(p, []partner.Plan{plan}, nil, buyPath(p))
	tiers[0].Filled = true
	if err := s.markOwned(r, v, p, tiers); err != nil {
		return err
	}
	return s.Site.Render(
		w,
		r,
		v,
		"confirm-buy",
		ui.View{Title: "Buy " + p.Name, NoIndex: true, FormTo: s.formTo(), Data: confirmBuyView{p, product, tiers[0]}},
	)
}
