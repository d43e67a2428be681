package operator

import (
	"context"
	"net/http"
	"strconv"
)

// RefundOutcome is what became of an order to refund: it is recorded or, where something
// of it was paid by Stripe, Stripe is asked, and PaymentRefunds says how far that is.
type RefundOutcome struct {
	Refunded
	AskedRefunds
}

// PaymentRefund returns how far a refund by Stripe is.
func (c *Client) PaymentRefund(ctx context.Context, id int64) (PaymentRefund, error) {
	return get[PaymentRefund](ctx, c, base+"payments/refunds/"+strconv.FormatInt(id, 10))
}

// PaymentProblems lists the payments that need a person.
func (c *Client) PaymentProblems(ctx context.Context) (PaymentProblemList, error) {
	return get[PaymentProblemList](ctx, c, base+"payments/problems")
}

// RefundPaymentProblem has the money of a payment go back that bought nothing.
func (c *Client) RefundPaymentProblem(ctx context.Context, id int64) (PaymentRefund, error) {
	return post[PaymentRefund](ctx, c, base+"payments/problems/"+strconv.FormatInt(id, 10)+"/refund", nil)
}

// DismissPaymentProblem says that somebody has dealt with one.
func (c *Client) DismissPaymentProblem(ctx context.Context, id int64) (PaymentProblem, error) {
	return post[PaymentProblem](ctx, c, base+"payments/problems/"+strconv.FormatInt(id, 10)+"/dismiss", nil)
}

// PlanChangePrice returns what a change of plan costs in the shop.
func (c *Client) PlanChangePrice(ctx context.Context, partnerID int64) (PlanChangePrice, error) {
	return get[PlanChangePrice](ctx, c, partnerPath(partnerID, "/plan-change-price"))
}

// SetPlanChangePrice sets it.
func (c *Client) SetPlanChangePrice(ctx context.Context, partnerID int64, p PlanChangePrice) (PlanChangePrice, error) {
	return call[PlanChangePrice](ctx, c, http.MethodPut, partnerPath(partnerID, "/plan-change-price"), p)
}
