package operator

import (
	"context"
	"net/http"
	"strconv"
)

// RefundOutcome is the result of a refund order. It is recorded or, if a part was paid with Stripe,
// requested there, and PaymentRefunds has the progress.
type RefundOutcome struct {
	Refunded
	AskedRefunds
}

// PaymentRefund returns the progress of a refund by Stripe.
func (c *Client) PaymentRefund(ctx context.Context, id int64) (PaymentRefund, error) {
	return get[PaymentRefund](ctx, c, base+"payments/refunds/"+strconv.FormatInt(id, 10))
}

// PaymentProblems lists the payments that need a person.
func (c *Client) PaymentProblems(ctx context.Context) (PaymentProblemList, error) {
	return get[PaymentProblemList](ctx, c, base+"payments/problems")
}

// RefundPaymentProblem refunds a payment that bought nothing.
func (c *Client) RefundPaymentProblem(ctx context.Context, id int64) (PaymentRefund, error) {
	return post[PaymentRefund](ctx, c, base+"payments/problems/"+strconv.FormatInt(id, 10)+"/refund", nil)
}

// DismissPaymentProblem marks a problem as solved.
func (c *Client) DismissPaymentProblem(ctx context.Context, id int64) (PaymentProblem, error) {
	return post[PaymentProblem](ctx, c, base+"payments/problems/"+strconv.FormatInt(id, 10)+"/dismiss", nil)
}

// PlanChangePrice returns the price rule for plan changes in the shop.
func (c *Client) PlanChangePrice(ctx context.Context, partnerID int64) (PlanChangePrice, error) {
	return get[PlanChangePrice](ctx, c, partnerPath(partnerID, "/plan-change-price"))
}

// SetPlanChangePrice sets it.
func (c *Client) SetPlanChangePrice(ctx context.Context, partnerID int64, p PlanChangePrice) (PlanChangePrice, error) {
	return call[PlanChangePrice](ctx, c, http.MethodPut, partnerPath(partnerID, "/plan-change-price"), p)
}
