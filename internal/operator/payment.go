package operator

import (
	"cmp"
	"net/http"

	"claviger/internal/account"
	"claviger/internal/license"
	"claviger/internal/payment"
	"claviger/internal/wire"
)

// paymentRoutes returns the routes of payments.
func (o *Operator) paymentRoutes(
	on func(account.Scope, string, string, wire.Handler[account.Token]) wire.Route,
) []wire.Route {
	return []wire.Route{
		on(account.Read, "GET", "/payments/refunds/{id}", o.getPaymentRefund),
		on(account.Read, "GET", "/payments/problems", o.listPaymentProblems),
		on(account.Sell, "POST", "/payments/problems/{id}/refund", o.refundProblem),
		on(account.Sell, "POST", "/payments/problems/{id}/dismiss", o.dismissProblem),
		on(account.Read, "GET", "/partners/{id}/plan-change-price", o.getPlanRule),
		on(account.Admin, "PUT", "/partners/{id}/plan-change-price", o.putPlanRule),
	}
}

// paymentRefundJSON is a refund by the payment provider on the wire.
type paymentRefundJSON struct {
	ID         int64     `json:"id"`
	PurchaseID int64     `json:"purchase_id"` // 0: the payment bought nothing
	ProviderID string    `json:"provider_id"`
	Amount     int64     `json:"amount_cents"`
	Currency   string    `json:"currency"`
	Status     string    `json:"status"`
	Failure    string    `json:"failure"`
	CreatedAt  wire.Time `json:"created_at"`
	UpdatedAt  wire.Time `json:"updated_at"`
}

func paymentRefundOf(f payment.Refund) paymentRefundJSON {
	return paymentRefundJSON{
		ID: f.ID, PurchaseID: f.PurchaseID, ProviderID: f.ProviderID, Amount: f.Amount, Currency: f.Currency,
		Status: f.Status.String(), Failure: f.Failure,
		CreatedAt: wire.Time(f.CreatedAt), UpdatedAt: wire.Time(f.UpdatedAt),
	}
}

// askedJSON is the result of a refund order for payments by the provider.
type askedJSON struct {
	Asked wire.Envelope[paymentRefundJSON] `json:"payment_refunds"`
}

// askRefund asks the provider for the refunds of an order, if it was paid there.
func (o *Operator) askRefund(
	w http.ResponseWriter,
	r *http.Request,
	t account.Token,
	order license.RefundOrder,
) (done bool, err error) {
	name := cmp.Or(order.ExternalID, order.Idempotency.Scope+" "+order.Idempotency.Key)
	list, here, err := o.Payments.AskRefunds(r.Context(), actor(t), order, name)
	if err != nil || !here {
		return false, err
	}
	return true, wire.JSON(w, http.StatusAccepted, askedJSON{wire.ListOf(list, paymentRefundOf)})
}

func (o *Operator) getPaymentRefund(w http.ResponseWriter, r *http.Request, _ account.Token) error {
	f, err := o.Payments.RefundByID(r.Context(), pathID(r))
	if err != nil {
		return err
	}
	return wire.JSON(w, http.StatusOK, paymentRefundOf(f))
}

// problemJSON is a payment that needs attention, on the wire.
type problemJSON struct {
	ID         int64     `json:"id"`
	Kind       string    `json:"kind"`
	PartnerID  int64     `json:"partner_id"`
	ObjectID   string    `json:"object_id"`
	IntentID   string    `json:"payment_intent"`
	Amount     int64     `json:"amount_cents"`
	Currency   string    `json:"currency"`
	Refundable bool      `json:"refundable"`
	CreatedAt  wire.Time `json:"created_at"`
	DoneAt     mayTime   `json:"done_at"`
}

func problemOf(p payment.Problem) problemJSON {
	return problemJSON{
		ID: p.ID, Kind: string(p.Kind), PartnerID: p.PartnerID, ObjectID: p.ObjectID, IntentID: p.IntentID,
		Amount: p.Amount, Currency: p.Currency,
		Refundable: p.Refundable(), CreatedAt: wire.Time(p.CreatedAt), DoneAt: mayTime(p.DoneAt),
	}
}

func (o *Operator) listPaymentProblems(w http.ResponseWriter, r *http.Request, _ account.Token) error {
	list, err := o.Payments.Problems(r.Context())
	if err != nil {
		return err
	}
	return wire.JSON(w, http.StatusOK, wire.ListOf(list, problemOf))
}

func (o *Operator) refundProblem(w http.ResponseWriter, r *http.Request, t account.Token) error {
	if err := noMembers(w, r); err != nil {
		return err
	}
	f, err := o.Payments.RefundProblem(r.Context(), actor(t), pathID(r))
	if err != nil {
		return err
	}
	return wire.JSON(w, http.StatusAccepted, paymentRefundOf(f))
}

func (o *Operator) dismissProblem(w http.ResponseWriter, r *http.Request, t account.Token) error {
	if err := noMembers(w, r); err != nil {
		return err
	}
	if err := o.Payments.Dismiss(r.Context(), actor(t), pathID(r)); err != nil {
		return err
	}
	p, err := o.Payments.Problem(r.Context(), pathID(r))
	if err != nil {
		return err
	}
	return wire.JSON(w, http.StatusOK, problemOf(p))
}

// planRuleJSON is the price of a plan change in the shop.
type planRuleJSON struct {
	Rule string `json:"plan_change_price"`
}

func (o *Operator) getPlanRule(w http.ResponseWriter, r *http.Request, _ account.Token) error {
	if _, err := o.Partners.Get(r.Context(), pathID(r)); err != nil {
		return err
	}
	rule, err := o.Payments.PlanRuleOf(r.Context(), pathID(r))
	if err != nil {
		return err
	}
	return wire.JSON(w, http.StatusOK, planRuleJSON{string(rule)})
}

func (o *Operator) putPlanRule(w http.ResponseWriter, r *http.Request, t account.Token) error {
	if _, err := o.Partners.Get(r.Context(), pathID(r)); err != nil {
		return err
	}
	var b planRuleJSON
	if _, err := decode(w, r, &b); err != nil {
		return err
	}
	rule, err := payment.ParsePlanRule(b.Rule)
	if err != nil {
		return err
	}
	if err := o.Payments.SetPlanRule(r.Context(), actor(t), pathID(r), rule); err != nil {
		return err
	}
	return wire.JSON(w, http.StatusOK, planRuleJSON{string(rule)})
}
