package payment

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"claviger/internal/fault"
	"claviger/internal/sqldb"
)

// OrderState is the state of an order as people and programs see it. It follows from the checkout
// and its refunds and disputes; see orderState.
type OrderState int

// The states of an order.
const (
	OrderBegun          OrderState = iota + 1 // nothing is paid, and the payment page is open
	OrderPending                              // the buyer has finished, the bank has not
	OrderPaid                                 // or free, or paid and not sold; then a problem has the reason
	OrderFailed                               // the bank or the provider refused the payment
	OrderExpired                              // the payment page ended unpaid
	OrderPartlyRefunded                       // some of the money went back
	OrderRefunded                             // all of it did, or a dispute is lost
	OrderDisputed                             // a dispute is open, whatever was refunded
)

var orderStates = []string{
	"", "begun", "pending", "paid", "failed", "expired", "partly_refunded", "refunded", "disputed",
}

// OrderStates lists the words of all states.
func OrderStates() []string { return slices.Clone(orderStates[1:]) }

func (s OrderState) String() string { return orderStates[s] }

// ParseOrderState parses the state of a filter; "" is every state.
func ParseOrderState(s string) (OrderState, error) {
	i := slices.Index(orderStates, s)
	if i < 0 {
		return 0, fault.Parameter("state", "must be one of %s.", strings.Join(OrderStates(), ", "))
	}
	return OrderState(i), nil
}

// orderState derives the state of an order. No other function does.
func orderState(c Checkout, refunds []*Refund, disputes []*Dispute) OrderState {
	switch c.State {
	case Open:
		return OrderBegun
	case Pending:
		return OrderPending
	case Closed:
		if c.Refused {
			return OrderFailed
		}
		return OrderExpired
	case Sold, Unsold:
	}
	lost := false
	for _, d := range disputes {
		if d.holds() {
			return OrderDisputed
		}
		lost = lost || d.lost()
	}
	switch sum := returned(c.Paid.Currency, refunds); {
	case lost, sum > 0 && sum >= c.Paid.Units:
		return OrderRefunded
	case sum > 0:
		return OrderPartlyRefunded
	}
	return OrderPaid
}

// returned returns the amount that went back to the buyer.
func returned(currency string, refunds []*Refund) int64 {
	var sum int64
	for _, f := range refunds {
		if f.Status == RefundSucceeded && f.Currency == currency {
			sum += f.Amount
		}
	}
	return sum
}

// stale reports whether the stored state of the order may be outdated: a node of the previous
// release wrote its facts, and that release knows no such state.
func (c Checkout) stale() bool { return !c.UpdatedAt.Equal(c.statedAt) }

// stateBatch is the maximum number of orders whose state one transaction derives.
const stateBatch = jobBatch

// staleOrders reads at most $1 orders whose stored state may be outdated. Only the partial index has
// this order: PostgreSQL expects most rows to match, and would read the whole table otherwise.
const staleOrders = `SELECT ` + checkoutColumns + ` FROM checkouts WHERE updated_at <> stated_at
	ORDER BY stated_at, id LIMIT $1`

// stateOrders derives the states of orders that nodes of the previous release wrote, also all those
// from before the upgrade. It skips rows that another transaction is changing.
func (b *Store) stateOrders(ctx context.Context) (n int, err error) {
	some, err := sqldb.All(ctx, b.DB, scanCheckout, staleOrders, 1)
	if err != nil {
		return 0, fmt.Errorf("look for orders without a state: %w", err)
	}
	if len(some) == 0 {
		return 0, nil
	}
	err = b.DB.Write(ctx, func(tx *sqldb.Tx) error {
		list, err := sqldb.All(ctx, tx, scanCheckout, staleOrders+tx.SkipLocked, stateBatch)
		if err != nil {
			return err
		}
		n = len(list)
		if err := derive(ctx, tx, list); err != nil {
			return err
		}
		for _, c := range list {
			tx.Queue(`UPDATE checkouts SET order_state = $2, stated_at = $3 WHERE id = $1`, c.ID, int(c.Order),
				c.UpdatedAt)
		}
		return nil
	})
	if err != nil {
		return 0, fmt.Errorf("derive the states of orders: %w", err)
	}
	return n, nil
}

// derive sets the states of checkouts from their facts.
func derive(ctx context.Context, tx *sqldb.Tx, list []Checkout) error {
	ids := make([]int64, len(list))
	for i, c := range list {
		ids[i] = c.ID
	}
	refunds := sqldb.QueueQuery(tx, scanRefund, refundsOf, ids)
	disputes := sqldb.QueueQuery(tx, scanDispute, disputesOf, ids)
	back, err := refunds.All(ctx)
	if err != nil {
		return err
	}
	open, err := disputes.All(ctx)
	if err != nil {
		return err
	}
	for i := range list {
		r, d := ofCheckout(list[i].ID, back, open)
		list[i].Order = orderState(list[i], r, d)
	}
	return nil
}

// ofCheckout returns the refunds and disputes of one checkout.
func ofCheckout(id int64, refunds []Refund, disputes []Dispute) (r []*Refund, d []*Dispute) {
	for i := range refunds {
		if refunds[i].CheckoutID == id {
			r = append(r, &refunds[i])
		}
	}
	for i := range disputes {
		if disputes[i].CheckoutID == id {
			d = append(d, &disputes[i])
		}
	}
	return r, d
}
