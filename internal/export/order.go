package export

import (
	"context"
	"net/url"

	"claviger/internal/payment"
)

// OperatorOrders returns the list of orders, with their buyers and the kinds of their open problems.
func (x *Exporter) OperatorOrders(f payment.FindOrders) Table {
	before := int64(0)
	return Table{
		Kind: Orders, PartnerID: f.PartnerID,
		Columns: []string{
			"id", "state", "partner_id", "tier", "item", "amount_cents", "currency", "paid_cents", "paid_currency",
			"user_id", "user_email", "purchase_id", "checkout_session", "payment_intent", "charge", "problem",
			"created_at", "paid_at", "updated_at",
		},
		About: func(context.Context) (Estimate, error) { return Unknown, nil },
		Next: func(ctx context.Context) (rows [][]Cell, more bool, err error) {
			found, err := x.Payments.FindOrders(ctx, f, before, batchSize)
			if err != nil {
				return nil, false, err
			}
			users := make([]int64, 0, len(found.Orders))
			ids := make([]int64, 0, len(found.Orders))
			for _, c := range found.Orders {
				users = append(users, c.UserID)
				ids = append(ids, c.ID)
			}
			buyers, err := x.Accounts.Users(ctx, users)
			if err != nil {
				return nil, false, err
			}
			problems, err := x.Payments.ProblemsOf(ctx, ids)
			for _, c := range found.Orders {
				problem := ""
				for _, p := range problems[c.ID] {
					if p.DoneAt.IsZero() {
						problem = string(p.Kind)
					}
				}
				rows = append(rows, []Cell{
					Text(c.Ref), Text(c.Order.String()), Number(c.PartnerID), Number(c.Tier), Text(c.Item),
					Number(c.Amount), Text(c.Currency), Number(c.Paid.Units), Text(c.Paid.Currency), ID(c.UserID),
					Text(buyers[c.UserID].Address()), ID(c.PurchaseID), Text(c.SessionID), Text(c.IntentID),
					Text(c.ChargeID), Text(problem), Time(c.CreatedAt), Time(c.PaidAt), Time(c.UpdatedAt),
				})
			}
			before = found.Next
			return rows, before != 0, err
		},
	}
}

func (x *Exporter) orderFilter(ctx context.Context, q url.Values) (payment.FindOrders, error) {
	var f payment.FindOrders
	err := parseSpan(q, &f.PartnerID, &f.From, &f.To)
	if err != nil {
		return f, err
	}
	if f.State, err = payment.ParseOrderState(q.Get("state")); err != nil {
		return f, err
	}
	f.Users, err = x.people(ctx, q)
	return f, err
}
