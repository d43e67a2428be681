package payment

import (
	"context"
	"time"

	"claviger/internal/audit"
	"claviger/internal/license"
	"claviger/internal/sqldb"
)

// SellFree sells a license for which nothing is paid here: its plan is free, or it is paid with
// test money. Its order is written in the transaction of the sale, once.
func (b *Store) SellFree(ctx context.Context, by audit.Actor, o Order, p license.Purchase) (license.Sale, error) {
	return b.Licenses.Sell(ctx, license.Order{Purchase: p, By: by, Then: func(tx *sqldb.Tx, sale license.Sale) {
		o.UserID = sale.UserID
		b.queueFree(tx, o, sale.ID)
	}})
}

// FreeOrder returns a function that queues the order of a plan change for which nothing is paid here,
// in the transaction of the change.
func (b *Store) FreeOrder(o Order) func(tx *sqldb.Tx, saleID int64) {
	return func(tx *sqldb.Tx, saleID int64) { b.queueFree(tx, o, saleID) }
}

// queueFree queues the order of a sale without a payment.
func (b *Store) queueFree(tx *sqldb.Tx, o Order, saleID int64) {
	c := b.fresh(o)
	c.State = Sold
	c.PurchaseID = saleID
	c.PaidAt = c.CreatedAt
	c.ExpiresAt = time.Time{} // there is no page to pay on
	c.NextAt = time.Time{}
	queueCheckout(tx, c)
}

// Free reports whether the order never had a payment page: its plan was free, or it was paid with
// test money.
func (c Checkout) Free() bool { return c.ExpiresAt.IsZero() }
