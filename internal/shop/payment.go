package shop

import (
	"io"
	"net/http"

	"claviger/internal/fault"
	"claviger/internal/partner"
	"claviger/internal/payment"
	"claviger/internal/visitor"
	"claviger/internal/wire"
)

// paymentRoutes are the way back from the page where a buyer pays, and what Stripe calls.
func (s *Shop) paymentRoutes() []wire.Route {
	return []wire.Route{
		s.public(http.MethodGet, "/checkout/{ref}", s.checkout),
		wire.Public(http.MethodPost, "/stripe/webhook", s.stripeEvent),
	}
}

// formTo is where a form that pays may end: Stripe's page may have any name.
func (s *Shop) formTo() []string {
	if s.Payments.Takes() {
		return []string{"https:"}
	}
	return nil
}

// pay begins the payment of an order and returns the page where it is paid, or that of what
// it has become.
func (s *Shop) pay(w http.ResponseWriter, r *http.Request, o payment.Order) (string, error) {
	c, err := s.Payments.Begin(r.Context(), o)
	if err != nil {
		return "", err
	}
	s.markBrowser(w, c)
	if c.State != payment.Open {
		return checkoutPath(c), nil
	}
	return c.SessionURL, nil
}

// paidOrder is what a visitor pays for.
func paidOrder(v *visitor.Visitor, p partner.Partner, plan partner.Plan, amount payment.Amount, back string) payment.Order {
	return payment.Order{
		PartnerID: p.ID, Partner: p.Name, Tier: plan.Tier, PlanName: plan.DisplayName(), Amount: amount.Units, Currency: amount.Currency,
		UserID: v.User.ID, CancelPath: back,
	}
}

// maxEvent bounds an event of Stripe: the evidence of a dispute alone may have 150,000
// characters.
const maxEvent = 1 << 20

// stripeEvent takes an event. What is no fault is answered 500, and Stripe repeats it.
func (s *Shop) stripeEvent(w http.ResponseWriter, r *http.Request) error {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxEvent))
	if err != nil {
		return fault.New(fault.TooLarge, codeEventTooLarge, "The body could not be read, or has more than 1 MiB.")
	}
	if err := s.Payments.Receive(r.Context(), body, r.Header.Get("Stripe-Signature")); err != nil {
		return err
	}
	return wire.JSON(w, http.StatusOK, struct {
		Received bool `json:"received"`
	}{true})
}

// planPrice is what a change to a plan costs its owner now.
func (s *Shop) planPrice(r *http.Request, o ownedView, plan partner.Plan) (payment.PlanPrice, error) {
	tiers := []tierView{{Plan: plan, Pays: true, Now: payment.Amount{Units: plan.PriceCents, Currency: plan.Currency}}}
	if err := s.pricePlans(r, o, tiers); err != nil {
		return payment.PlanPrice{}, err
	}
	if !tiers[0].Pays {
		return payment.PlanPrice{}, errNoPlan()
	}
	return payment.PlanPrice{Amount: tiers[0].Now, Credits: tiers[0].Credits, InShop: true}, nil
}

// pricePlans says what a change to each plan costs the owner of a license, where payments
// are taken here.
func (s *Shop) pricePlans(r *http.Request, o ownedView, tiers []tierView) error {
	if !s.Payments.Takes() {
		return nil
	}
	rule, err := s.Payments.PlanRuleOf(r.Context(), o.Partner.ID)
	if err != nil {
		return err
	}
	paid, err := s.Licenses.Payments(r.Context(), o.License.ID)
	if err != nil {
		return err
	}
	for i := range tiers {
		t := &tiers[i]
		if !t.Pays {
			continue
		}
		price := payment.PriceOfPlan(rule, t.Plan, paid)
		t.Pays, t.Now, t.Credits = price.InShop, price.Amount, price.Credits
	}
	return nil
}
