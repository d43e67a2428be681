package payment

import (
	"context"
	"slices"

	"claviger/internal/audit"
	"claviger/internal/fault"
	"claviger/internal/license"
)

// PaidHere returns the checkouts of a refund order that were paid here and can be refunded.
func (b *Store) PaidHere(ctx context.Context, o license.RefundOrder) ([]Checkout, error) {
	if !b.Takes() {
		return nil, nil
	}
	n, err := b.Licenses.Named(ctx, o)
	if err != nil {
		return nil, err
	}
	list, err := b.OfPurchases(ctx, n.Open)
	return slices.DeleteFunc(list, func(c Checkout) bool { return c.Paid.Units == 0 }), err
}

// AskRefunds requests refunds for every payment of an order that was made here. A repeated order,
// recognized by name, returns the first refunds. If nothing was paid here, paidHere is false and
// package license only records the refund.
func (b *Store) AskRefunds(
	ctx context.Context,
	by audit.Actor,
	o license.RefundOrder,
	name string,
) (list []Refund, paidHere bool, err error) {
	if !b.Takes() {
		return nil, false, nil
	}
	n, err := b.Licenses.Named(ctx, o)
	if err != nil {
		return nil, false, err
	}
	all, err := b.OfPurchases(ctx, n.Sales)
	if err != nil {
		return nil, false, err
	}
	paid := slices.DeleteFunc(all, func(c Checkout) bool { return c.Paid.Units == 0 })
	if len(paid) == 0 {
		return nil, false, nil
	}
	if list, err = b.askedAs(ctx, paid, name); err != nil || len(list) > 0 {
		return list, true, err
	}
	open := slices.DeleteFunc(paid, func(c Checkout) bool { return !slices.Contains(n.Open, c.PurchaseID) })
	if len(open) == 0 {
		return nil, len(n.Open) == 0, alreadyRefunded(len(n.Open) == 0)
	}
	for _, c := range open {
		f, err := b.AskRefund(ctx, by, c, Ask{LicenseKey: n.LicenseKey, ExternalID: name, Reason: o.Reason})
		if err != nil {
			return nil, true, err
		}
		f.PurchaseID = c.PurchaseID
		list = append(list, f)
	}
	return list, true, nil
}

func alreadyRefunded(all bool) error {
	if !all {
		return nil // the rest was not paid here
	}
	return fault.New(fault.Conflict, codeAlreadyRefunded, "This was refunded before.")
}

// askedAs returns the refunds of checkouts that were requested under a name.
func (b *Store) askedAs(ctx context.Context, list []Checkout, name string) ([]Refund, error) {
	ids := make([]int64, len(list))
	for i, c := range list {
		ids[i] = c.ID
	}
	refunds, _, err := b.Facts(ctx, ids)
	for i := range refunds {
		for _, c := range list {
			if c.ID == refunds[i].CheckoutID {
				refunds[i].PurchaseID = c.PurchaseID
			}
		}
	}
	return slices.DeleteFunc(
		refunds,
		func(f Refund) bool { return f.request == "" || f.ExternalID != name || name == "" },
	), err
}
