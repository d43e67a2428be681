package operator

import (
	"context"
	"net/http"

	"claviger/internal/account"
	"claviger/internal/payment"
	"claviger/internal/support"
	"claviger/internal/wire"
)

// orderRoutes returns the routes of orders.
func (o *Operator) orderRoutes(
	on func(account.Scope, string, string, wire.Handler[account.Token]) wire.Route,
	list func(string, wire.Handler[account.Token]) wire.Route,
) []wire.Route {
	return []wire.Route{
		list("/orders", o.listOrders),
		on(account.Read, "GET", "/orders/{id}", o.getOrder),
	}
}

// orderJSON is an order on the wire.
type orderJSON struct {
	ID            string    `json:"id"`
	State         string    `json:"state"`
	PartnerID     int64     `json:"partner_id"`
	Tier          int       `json:"tier"`
	Item          string    `json:"item"`
	Amount        int64     `json:"amount_cents"`
	Currency      string    `json:"currency"`
	Paid          int64     `json:"paid_cents"`
	PaidCurrency  string    `json:"paid_currency"`
	Free          bool      `json:"free"`
	UserID        int64     `json:"user_id"`
	Email         string    `json:"email"`
	LicenseKey    string    `json:"changes_license"` // "": a new license
	PurchaseID    int64     `json:"purchase_id"`     // 0: nothing was sold
	SessionID     string    `json:"checkout_session"`
	PaymentIntent string    `json:"payment_intent"`
	Charge        string    `json:"charge"`
	Problems      []string  `json:"problems"`
	CreatedAt     wire.Time `json:"created_at"`
	ExpiresAt     mayTime   `json:"expires_at"`
	PaidAt        mayTime   `json:"paid_at"`
	UpdatedAt     wire.Time `json:"updated_at"`
}

func orderOf(c payment.Checkout, buyer account.User, problems []payment.Problem) orderJSON {
	out := orderJSON{
		ID: c.Ref, State: c.Order.String(), PartnerID: c.PartnerID, Tier: c.Tier, Item: c.Item, Amount: c.Amount,
		Currency: c.Currency, Paid: c.Paid.Units, PaidCurrency: c.Paid.Currency, Free: c.Free(), UserID: c.UserID,
		Email: buyer.Address(), LicenseKey: c.LicenseKey, PurchaseID: c.PurchaseID, SessionID: c.SessionID,
		PaymentIntent: c.IntentID, Charge: c.ChargeID, Problems: []string{}, CreatedAt: wire.Time(c.CreatedAt),
		ExpiresAt: mayTime(c.ExpiresAt), PaidAt: mayTime(c.PaidAt), UpdatedAt: wire.Time(c.UpdatedAt),
	}
	for _, p := range problems {
		if p.DoneAt.IsZero() {
			out.Problems = append(out.Problems, string(p.Kind))
		}
	}
	return out
}

// ordersOf returns orders on the wire, with their buyers and problems.
func (o *Operator) ordersOf(ctx context.Context, list []payment.Checkout) ([]orderJSON, error) {
	users := make([]int64, len(list))
	ids := make([]int64, len(list))
	for i, c := range list {
		users[i] = c.UserID
		ids[i] = c.ID
	}
	buyers, err := o.Accounts.Users(ctx, users)
	if err != nil {
		return nil, err
	}
	problems, err := o.Payments.ProblemsOf(ctx, ids)
	out := make([]orderJSON, len(list))
	for i, c := range list {
		out[i] = orderOf(c, buyers[c.UserID], problems[c.ID])
	}
	return out, err
}

func (o *Operator) listOrders(w http.ResponseWriter, r *http.Request, _ account.Token) error {
	q, err := wire.Query(r, "state", "partner_id", "email", "from", "to", "cursor", "page", "limit")
	if err != nil {
		return err
	}
	var f payment.FindOrders
	p, before, err := cursor(q)
	if err != nil {
		return err
	}
	if f.State, err = payment.ParseOrderState(q.Get("state")); err != nil {
		return err
	}
	if f.PartnerID, err = naturalParam(q, "partner_id", 1); err != nil {
		return err
	}
	if f.From, f.To, err = timesOf(q); err != nil {
		return err
	}
	var nobody bool
	if f.Users, nobody, err = o.people(r.Context(), q); err != nil {
		return err
	}
	var found payment.FoundOrders
	if !nobody {
		if found, err = o.Payments.FindOrders(r.Context(), f, before, int(p.Limit)); err != nil {
			return err
		}
	}
	list, err := o.ordersOf(r.Context(), found.Orders)
	if err != nil {
		return err
	}
	cursorAnswer(w, r, p, found.Next, found.SearchedTo)
	return wire.JSON(w, http.StatusOK, wire.List(list))
}

// orderCaseJSON is an order with its story on the wire.
type orderCaseJSON struct {
	orderJSON
	Licenses []string                         `json:"license_keys"`
	Next     []string                         `json:"next"`
	Entries  wire.Envelope[timelineEntryJSON] `json:"entries"`
	Refunds  wire.Envelope[paymentRefundJSON] `json:"payment_refunds"`
	Disputes wire.Envelope[orderDisputeJSON]  `json:"disputes"`
}

// orderDisputeJSON is a dispute of an order on the wire.
type orderDisputeJSON struct {
	ID          string    `json:"id"`
	Status      string    `json:"status"`
	Reason      string    `json:"reason"`
	Amount      int64     `json:"amount_cents"`
	Currency    string    `json:"currency"`
	DueBy       mayTime   `json:"due_by"`
	Submissions int       `json:"submission_count"`
	CreatedAt   wire.Time `json:"created_at"`
	UpdatedAt   wire.Time `json:"updated_at"`
}

func orderDisputeOf(d payment.Dispute) orderDisputeJSON {
	return orderDisputeJSON{
		d.ID, d.Status, d.Reason, d.Amount, d.Currency, mayTime(d.DueBy), d.Submissions, wire.Time(d.CreatedAt),
		wire.Time(d.UpdatedAt),
	}
}

func (o *Operator) getOrder(w http.ResponseWriter, r *http.Request, _ account.Token) error {
	c, err := o.Support.Order(r.Context(), r.PathValue("id"))
	if err != nil {
		return err
	}
	return wire.JSON(w, http.StatusOK, orderCaseOf(c))
}

func orderCaseOf(c support.OrderCase) orderCaseJSON {
	out := orderCaseJSON{
		orderJSON: orderOf(c.Order, c.Buyer, c.Problems), Licenses: []string{}, Next: c.Next,
		Entries: wire.ListOf(c.Entries, timelineEntryOf), Refunds: wire.ListOf(c.Refunds, paymentRefundOf),
		Disputes: wire.ListOf(c.Disputes, orderDisputeOf),
	}
	for _, l := range c.Licenses {
		out.Licenses = append(out.Licenses, l.Key)
	}
	return out
}
