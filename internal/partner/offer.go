package partner

import (
	"context"
	"fmt"
	"strings"

	"claviger/internal/paging"
	"claviger/internal/sqldb"
)

// Offer is a partner with a product on sale, with the price of its cheapest plan.
type Offer struct {
	Partner
	Product Product
	From    Plan // only with its tier, name and price
}

func scanOffer(r *sqldb.Row, o *Offer) error {
	f := &o.From
	p := &o.Product
	err := r.Scan(o.fields(&f.Tier, &f.Name, &f.PriceCents, &f.Currency, &p.Tagline, &p.Icon)...)
	p.PartnerID = o.ID
	return err
}

// OfferFilter selects the listed offers.
type OfferFilter struct {
	Text string // in the name or the tagline, ignoring the case of A to Z; "": any

	// WithoutCheckout also lists plans without a checkout: the shop sells them itself.
	WithoutCheckout bool
}

// Offers returns one page of the partners that have a plan on sale and are not paused, by name, and
// whether more follow. Of the product it reads only the tagline and the icon's hash.
func (r *Store) Offers(ctx context.Context, f OfferFilter, p paging.Page) (list []Offer, more bool, err error) {
	list, err = sqldb.All(
		ctx,
		r.DB,
		scanOffer,
		`SELECT `+columns+`, plans.tier, plans.name, plans.price_cents, plans.currency,
			coalesce(products.tagline, ''), coalesce(products.icon, '')
		FROM partners JOIN plans ON plans.partner_id = partners.id AND plans.tier = (
			SELECT c.tier FROM plans AS c WHERE c.partner_id = partners.id AND ($1 OR c.checkout_url <> '')
			AND NOT c.recheck
			ORDER BY c.price_cents, c.tier LIMIT 1)
		LEFT JOIN products ON products.partner_id = partners.id
		WHERE partners.paused_at = 0 AND ($2 = '' OR lower(partners.name) LIKE $2 ESCAPE '!'
		OR lower(products.tagline) LIKE $2 ESCAPE '!')
		ORDER BY partners.name, partners.id LIMIT $3 OFFSET $4`,
		f.WithoutCheckout,
		f.pattern(),
		p.Limit+1,
		p.Offset(),
	)
	if err != nil {
		return nil, false, fmt.Errorf("list what is on sale: %w", err)
	}
	if int64(len(list)) > p.Limit {
		return list[:p.Limit], true, nil
	}
	return list, false, nil
}

var likeEscapes = strings.NewReplacer("!", "!!", "%", "!%", "_", "!_")

// pattern returns the text for LIKE.
func (f OfferFilter) pattern() string {
	text := strings.TrimSpace(f.Text)
	if text == "" {
		return ""
	}
	return "%" + likeEscapes.Replace(strings.ToLower(text)) + "%"
}
