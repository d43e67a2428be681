package license

import (
	"context"
	"fmt"

	"claviger/internal/event"
	"claviger/internal/sqldb"
)

// repeatedSales reads the purchases that orders of a set repeat. The queries run with the commit,
// so that they take no extra round trip.
type repeatedSales struct {
	sales    *sqldb.Result[Sale]
	licenses *sqldb.Result[soldLicense]
}

type soldLicense struct {
	saleID int64
	License
}

func (s *saleSet) queueRepeated() (q repeatedSales) {
	var ids []int64
	for _, o := range s.orders {
		if o.repeats != 0 {
			ids = append(ids, o.repeats)
		}
	}
	if ids == nil {
		return q
	}
	q.sales = sqldb.QueueQuery(s.tx, scanSale, `SELECT `+saleColumns+` FROM purchases WHERE id = ANY($1)`, ids)
	q.licenses = sqldb.QueueQuery(s.tx, func(r *sqldb.Row, l *soldLicense) error {
		return r.Scan(&l.saleID, &l.ID, &l.PartnerID, &l.Ord, &l.Key, &l.RedemptionID, &l.CreatedAt)
	}, `SELECT k.purchase_id, l.id, l.partner_id, l.ord, l.license_key, l.redemption_id, l.created_at
		FROM purchase_links AS k JOIN licenses AS l ON l.id = k.license_id WHERE k.purchase_id = ANY($1)
		ORDER BY l.ord`, ids)
	return q
}

// answer gives each repeat the purchase that it repeats, with its licenses in their state after the
// purchase: inactive, of the purchased tier and never changed.
func (s *saleSet) answer(ctx context.Context, q repeatedSales) error {
	if q.sales == nil {
		return nil
	}
	list, err := q.sales.All(ctx)
	if err != nil {
		return fmt.Errorf("read repeated purchases: %w", err)
	}
	licenses, err := q.licenses.All(ctx)
	if err != nil {
		return fmt.Errorf("read the licenses of repeated purchases: %w", err)
	}
	sales := make(map[int64]*Sale, len(list))
	for i := range list {
		sales[list[i].ID] = &list[i]
	}
	for _, l := range licenses {
		sale := sales[l.saleID]
		l.Status = event.Inactive
		l.Tier = sale.Tier
		l.OwnerID = sale.UserID
		l.UpdatedAt = l.CreatedAt
		sale.Licenses = append(sale.Licenses, l.License)
	}
	for _, o := range s.orders {
		if o.repeats == 0 {
			continue
		}
		if sales[o.repeats] == nil {
			return fmt.Errorf("there is no purchase %d, which an order repeats", o.repeats)
		}
		o.result.Sale = *sales[o.repeats]
	}
	return nil
}
