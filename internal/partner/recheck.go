package partner

import (
	"context"
	"fmt"

	"claviger/internal/sqldb"
)

// Unchecked is a plan whose price must be reviewed before it is sold again; see Plan.Recheck.
type Unchecked struct {
	PartnerID int64
	Partner   string // its name
	Plan      Plan   // only with its tier, name and price
}

// ListUnchecked returns up to most such plans.
func ListUnchecked(ctx context.Context, from sqldb.Reader, most int) ([]Unchecked, error) {
	list, err := sqldb.All(ctx, from, func(r *sqldb.Row, u *Unchecked) error {
		return r.Scan(&u.PartnerID, &u.Partner, &u.Plan.Tier, &u.Plan.Name, &u.Plan.PriceCents, &u.Plan.Currency)
	}, `SELECT plans.partner_id, partners.name, plans.tier, plans.name, plans.price_cents, plans.currency
		FROM plans JOIN partners ON partners.id = plans.partner_id WHERE plans.recheck
		ORDER BY partners.name, plans.tier LIMIT $1`, most)
	if err != nil {
		return nil, fmt.Errorf("list plans whose price must be looked at: %w", err)
	}
	return list, nil
}
