package partner

import (
	"context"
	"fmt"

	"claviger/internal/paging"
	"claviger/internal/sqldb"
)

// Offer is a partner whose product is on sale, with its cheapest plan.
type Offer struct {
	Partner
	From Plan
}

func scanOffer(r *sqldb.Row, o *Offer) error {
	f := &o.From
	return r.Scan(o.fields(&f.Tier, &f.Name, &f.PriceCents, &f.Currency, &f.CheckoutURL, &f.ExternalRef, &f.CreatedAt, &f.UpdatedAt)...)
}

// Offers returns one page of the partners that have a plan and are not paused, by name, and whether
// more follow.
func (r *Registry) Offers(ctx context.Context, p paging.Page) (list []Offer, more bool, err error) {
	list, err = sqldb.All(ctx, r.DB, scanOffer, `SELECT `+columns+`, plans.tier, plans.name, plans.price_cents, plans.currency,
			plans.checkout_url, plans.external_ref, plans.created_at, plans.updated_at
		FROM partners JOIN plans ON plans.partner_id = partners.id AND plans.tier = (
			SELECT c.tier FROM plans AS c WHERE c.partner_id = partners.id ORDER BY c.price_cents, c.tier LIMIT 1)
		WHERE partners.paused_at = 0 ORDER BY partners.name, partners.id LIMIT $1 OFFSET $2`, p.Limit+1, p.Offset())
	if err != nil {
		return nil, false, fmt.Errorf("list what is on sale: %w", err)
	}
	if int64(len(list)) > p.Limit {
		return list[:p.Limit], true, nil
	}
	return list, false, nil
}
