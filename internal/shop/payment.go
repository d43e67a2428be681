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

// paymentRoutes returns the page after a payment, and the webhook of Stripe.
func (s *Shop) paymentRoutes() []wire.Route {
	return []wire.Route{
		s.public(http.MethodGet, "/checkout/{ref}", s.checkout),
		s.public(http.MethodPost, "/checkout/{ref}/mail", s.mailAgain),
		wire.Public(http.MethodPost, "/stripe/webhook", s.stripeEvent),
	}
}

// formTo returns the allowed targets of a form that pays: Stripe's page may have any name.
func (s *Shop) formTo() []string {
	if s.Payments.Takes() {
		return []string{"https:"}
	}
	return nil
}

// pay starts the payment of an order and returns the payment page, or the page of its result.
func (s *Shop) pay(w http.ResponseWriter, r *http.Request, o payment.Order) (string, error) {
	c, err := s.Payments.Begin(r.Context(), o)
	if err != nil {
		return "", err
	}
	guest, err := s.guestOf(r, c)
	if err != nil {
		return "", err
	}
	s.markBrowser(w, c, guest)
	if c.State != payment.Open {
		return checkoutPath(c), nil
	}
	return c.SessionURL, nil
}

// paidOrder returns the order of a visitor.
func paidOrder(
	v *visitor.Visitor,
	p partner.Partner,
	plan partner.Plan,
	amount payment.Amount,
	back string,
) payment.Order {
	return payment.Order{
		PartnerID: p.ID, Partner: p.Name, Tier: plan.Tier, PlanName: plan.DisplayName(), Amount: amount.Units,
		Currency: amount.Currency,
		UserID:   v.User.ID, Email: v.User.Address(), CancelPath: back,
	}
}

// maxEvent bounds an event of Stripe: the evidence of a dispute alone may have 150,000 characters.
const maxEvent = 1 << 20

// stripeEvent receives an event. Errors that are no faults are answered with 500, and Stripe
// repeats the event.
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
