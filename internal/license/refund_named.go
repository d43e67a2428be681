package license

import (
	"context"
	"fmt"

	"claviger/internal/sqldb"
)

// Named has the purchases that a refund order names.
type Named struct {
	PartnerID  int64
	LicenseKey string  // of a license that is refunded as a whole; "" if a purchase is named
	Sales      []int64 // purchases and plan changes, oldest first
	Open       []int64 // those that are not refunded
}

// Named returns the purchases that a refund order names, and refuses an order that names none.
func (r *Store) Named(ctx context.Context, o RefundOrder) (Named, error) {
	o, err := r.resolved(ctx, o)
	if err != nil {
		return Named{}, err
	}
	n := Named{PartnerID: o.PartnerID}
	type row struct {
		sale int64
		open bool
	}
	err = r.DB.Read(ctx, func(tx *sqldb.Tx) error {
		where := `license_id = (SELECT id FROM licenses WHERE license_key = $1)`
		arg := any(o.LicenseKey)
		if o.PurchaseExternalID != "" || o.PurchaseID != 0 {
			id, err := (&partnerTx{tx: tx}).refundSale(ctx, o)
			if err != nil {
				return err
			}
			where = `purchase_id = $1`
			arg = id
		} else {
			n.LicenseKey = o.LicenseKey
		}
		if o.FreeOnly {
			where += ` AND amount = 0`
		}
		rows, err := sqldb.All(
			ctx,
			tx,
			func(r *sqldb.Row, v *row) error { return r.Scan(&v.sale, &v.open) },
			`SELECT purchase_id, min(refund_id) = 0 FROM purchase_links
				WHERE `+where+` GROUP BY purchase_id ORDER BY purchase_id`,
			arg,
		)
		n.Sales = nil
		n.Open = nil
		for _, v := range rows {
			n.Sales = append(n.Sales, v.sale)
			if v.open {
				n.Open = append(n.Open, v.sale)
			}
		}
		return err
	})
	if err != nil {
		return Named{}, fmt.Errorf("find what is refunded: %w", err)
	}
	return n, nil
}

// resolved adds the partner to the order.
func (r *Store) resolved(ctx context.Context, o RefundOrder) (RefundOrder, error) {
	if o.LicenseKey != "" {
		l, err := r.ByKey(ctx, o.LicenseKey)
		if err != nil {
			return o, err
		}
		if o.PartnerID != 0 && o.PartnerID != l.PartnerID {
			return o, errUnknown()
		}
		o.PartnerID = l.PartnerID
	}
	if o.PurchaseID != 0 && o.PartnerID == 0 {
		sale, err := r.sale(ctx, r.reader(), o.PurchaseID)
		if err != nil {
			return o, err
		}
		o.PartnerID = sale.PartnerID
	}
	return o, nil
}
