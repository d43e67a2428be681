package license

import (
	"context"
	"fmt"

	"claviger/internal/sqldb"
)

// Named is what an order of a refund names.
type Named struct {
	PartnerID  int64
	LicenseKey string  // of the license that is refunded as a whole; "" where a purchase is named
	Sales      []int64 // purchases and plan changes, oldest first
	Open       []int64 // those of them that are not refunded
}

// Named returns what an order of a refund names, and refuses one that names nothing.
func (r *Registry) Named(ctx context.Context, o RefundOrder) (Named, error) {
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
		where, arg := `license_id = (SELECT id FROM licenses WHERE license_key = $1)`, any(o.LicenseKey)
		if o.PurchaseExternalID != "" || o.PurchaseID != 0 {
			id, err := (&partnerTx{tx: tx}).refundSale(ctx, o)
			if err != nil {
				return err
			}
			where, arg = `purchase_id = $1`, id
		} else {
			n.LicenseKey = o.LicenseKey
		}
		rows, err := sqldb.All(ctx, tx, func(r *sqldb.Row, v *row) error { return r.Scan(&v.sale, &v.open) },
			`SELECT purchase_id, min(refund_id) = 0 FROM purchase_links WHERE `+where+` GROUP BY purchase_id ORDER BY purchase_id`, arg)
		n.Sales, n.Open = nil, nil
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

// resolved is the order with the partner of what it names.
func (r *Registry) resolved(ctx context.Context, o RefundOrder) (RefundOrder, error) {
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
