package payment

import (
	"context"
	"fmt"

	"claviger/internal/audit"
	"claviger/internal/license"
	"claviger/internal/partner"
	"claviger/internal/sqldb"
)

// PaidFor returns the payments for a license that reduce the price of another plan.
func (b *Store) PaidFor(ctx context.Context, l license.License) (list []Paid, err error) {
	err = b.DB.Read(ctx, func(tx *sqldb.Tx) error {
		list, err = b.paidFor(ctx, tx, l)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("read what was paid for a license: %w", err)
	}
	return list, nil
}

func (b *Store) paidFor(ctx context.Context, tx *sqldb.Tx, l license.License) ([]Paid, error) {
	purchases, err := b.Licenses.Within(tx).Payments(ctx, l.ID)
	if err != nil {
		return nil, err
	}
	var ids []int64
	for _, p := range purchases {
		ids = append(ids, p.ID)
	}
	gone, err := goneBack(ctx, tx, ids)
	if err != nil {
		return nil, err
	}
	var list []Paid
	for _, p := range purchases {
		left := p.Part.Units - gone[p.ID]
		if !p.Refunded && left > 0 {
			list = append(list, Paid{Amount{left, p.Part.Currency}, p.BuyerID == l.OwnerID})
		}
	}
	return list, nil
}

// goneBack returns for each purchase the amount that was refunded or is being refunded. For a
// payment with an open dispute this is the whole amount.
func goneBack(ctx context.Context, tx *sqldb.Tx, purchases []int64) (map[int64]int64, error) {
	type row struct{ purchase, units int64 }
	scan := func(r *sqldb.Row, v *row) error { return r.Scan(&v.purchase, &v.units) }
	refunds := sqldb.QueueQuery(tx, scan, `SELECT c.purchase_id, CAST(sum(f.amount) AS bigint) FROM checkouts AS c
		JOIN payment_refunds AS f ON f.checkout_id = c.id AND f.currency = c.paid_currency
		AND f.status <> `+sqldb.Literal(RefundFailed)+`
		WHERE c.purchase_id = ANY($1) AND c.purchase_id <> 0 GROUP BY c.purchase_id`, purchases)
	disputes := sqldb.QueueQuery(tx, scan, `SELECT c.purchase_id, c.amount FROM checkouts AS c
		JOIN payment_disputes AS d ON d.checkout_id = c.id AND d.held
		WHERE c.purchase_id = ANY($1) AND c.purchase_id <> 0`, purchases)
	gone := map[int64]int64{}
	for _, result := range []*sqldb.Result[row]{refunds, disputes} {
		rows, err := result.All(ctx)
		if err != nil {
			return nil, fmt.Errorf("read what went back of payments: %w", err)
		}
		for _, v := range rows {
			gone[v.purchase] += v.units
		}
	}
	return gone, nil
}

// ChangeFree changes the plan of a license if the change is free. It computes the price under the
// partner's lock. If the credit was refunded by then, the change is refused.
func (b *Store) ChangeFree(
	ctx context.Context,
	by audit.Actor,
	l license.License,
	plan partner.Plan,
	externalID string,
) error {
	rule, err := b.PlanRuleOf(ctx, l.PartnerID)
	if err != nil {
		return err
	}
	return b.DB.Write(ctx, func(tx *sqldb.Tx) error {
		if _, err := partner.Lock(tx, l.PartnerID).One(ctx); err != nil {
			return fmt.Errorf("lock partner %d: %w", l.PartnerID, err)
		}
		paid, err := b.paidFor(ctx, tx, l)
		if err != nil {
			return err
		}
		price := PriceOfPlan(rule, plan, paid)
		if price.Amount.Units > 0 || !price.InShop {
			return license.ErrCreditGone()
		}
		named, err := partner.ByID(ctx, tx, []int64{l.PartnerID})
		if err != nil {
			return err
		}
		_, err = b.Licenses.Within(tx).ChangePlan(ctx, by, l.Key, license.PlanChange{
			Tier: plan.Tier, Currency: plan.Currency, Credit: price.Credits, ExternalID: externalID, Shop: true,
			Then: b.FreeOrder(Order{
				PartnerID: l.PartnerID, Partner: named[l.PartnerID].Name, Tier: plan.Tier, PlanName: plan.DisplayName(),
				Currency: plan.Currency, Credit: price.Credits, UserID: l.OwnerID, LicenseKey: l.Key,
			}),
		})
		return err
	})
}
