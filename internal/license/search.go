package license

import (
	"context"
	"fmt"
	"strings"

	"claviger/internal/event"
	"claviger/internal/paging"
	"claviger/internal/sqldb"
)

// Search is an operator's search; zero fields do not narrow it.
type Search struct {
	Key        string
	Owners     []int64 // none: all
	ExternalID string  // of a purchase in its chain
	PartnerID  int64
	Status     event.Status
}

// Search finds licenses of any partner, newest first unless the page says
// otherwise, without a total.
func (r *Store) Search(ctx context.Context, q Search, p paging.Page) (List, error) {
	terms := []string{`1 = 1`}
	args := []any{p.Limit + 1, p.Offset()}
	add := func(format string, value any) {
		args = append(args, value)
		terms = append(terms, fmt.Sprintf(format, len(args)))
	}
	if q.Key != "" {
		if !keyForm.MatchString(q.Key) {
			return List{Licenses: []License{}, Total: -1}, nil
		}
		add(`license_key = $%d`, q.Key)
	}
	if q.Owners != nil {
		add(`owner_id = ANY($%d) AND owner_id <> 0`, q.Owners)
	}
	if q.ExternalID != "" {
		add(`id IN (SELECT k.license_id FROM purchases AS b JOIN purchase_links AS k ON k.purchase_id = b.id
			WHERE b.external_id = $%d AND b.external_id <> '')`, q.ExternalID)
	}
	if q.PartnerID != 0 {
		add(`partner_id = $%d`, q.PartnerID)
	}
	if q.Status != 0 {
		add(`status = $%d`, int(q.Status))
	}
	order := "DESC"
	if p.Order == paging.OldestFirst {
		order = "ASC"
	}
	// Within one partner, ordinals rise with ids and have the index.
	by := `id ` + order
	if q.PartnerID != 0 {
		by = `ord ` + order
	}
	rows, err := sqldb.All(ctx, r.DB, scan, `SELECT `+columns+` FROM licenses WHERE `+strings.Join(terms, ` AND `)+`
		ORDER BY `+by+` LIMIT $1 OFFSET $2`, args...)
	if err != nil {
		return List{}, fmt.Errorf("search licenses: %w", err)
	}
	list := List{Licenses: rows, Total: -1}
	if list.More = int64(len(rows)) > p.Limit; list.More {
		list.Licenses = rows[:p.Limit]
	}
	return list, nil
}

// SaleFilter narrows a list of purchases; zero fields do not narrow it.
type SaleFilter struct {
	PartnerID  int64
	ExternalID string
}

// Purchases lists purchases and plan changes, newest first unless the page says
// otherwise, without their licenses.
func (r *Store) Purchases(ctx context.Context, f SaleFilter, p paging.Page) (sales []Sale, more bool, err error) {
	terms := []string{`1 = 1`}
	args := []any{p.Limit + 1, p.Offset()}
	if f.PartnerID != 0 {
		args = append(args, f.PartnerID)
		terms = append(terms, fmt.Sprintf(`partner_id = $%d`, len(args)))
	}
	if f.ExternalID != "" {
		args = append(args, f.ExternalID)
		terms = append(terms, fmt.Sprintf(`external_id = $%d AND external_id <> ''`, len(args)))
	}
	order := "DESC"
	if p.Order == paging.OldestFirst {
		order = "ASC"
	}
	sales, err = sqldb.All(
		ctx,
		r.DB,
		scanSale,
		`SELECT `+saleColumns+` FROM purchases WHERE `+strings.Join(terms, ` AND `)+`
		ORDER BY id `+order+` LIMIT $1 OFFSET $2`,
		args...)
	if err != nil {
		return nil, false, fmt.Errorf("list purchases: %w", err)
	}
	if more = int64(len(sales)) > p.Limit; more {
		sales = sales[:p.Limit]
	}
	return sales, more, nil
}

// Stats counts licenses by status.
func (r *Store) Stats(ctx context.Context) (map[event.Status]int64, error) {
	type count struct {
		status int
		n      int64
	}
	counts, err := sqldb.All(ctx, r.DB, func(r *sqldb.Row, c *count) error { return r.Scan(&c.status, &c.n) },
		`SELECT status, CAST(sum(n) AS bigint) FROM license_blocks GROUP BY status`)
	if err != nil {
		return nil, fmt.Errorf("count licenses: %w", err)
	}
	all := map[event.Status]int64{event.Inactive: 0, event.Active: 0, event.Deactivated: 0}
	for _, c := range counts {
		all[event.Status(c.status)] = c.n
	}
	return all, nil
}

const unredeemed = `SELECT partner_id, CAST(sum(n) AS bigint) FROM license_blocks WHERE partner_id = ANY($1)
	AND status = $2 GROUP BY partner_id`

// Unredeemed counts the purchased licenses of partners that are not redeemed yet, by partner. It
// reads the counts of blocks.
func Unredeemed(ctx context.Context, r sqldb.Reader, partnerIDs []int64) (map[int64]int64, error) {
	type count struct{ partnerID, n int64 }
	counts, err := sqldb.All(ctx, r, func(r *sqldb.Row, c *count) error { return r.Scan(&c.partnerID, &c.n) },
		unredeemed, partnerIDs, int(event.Inactive))
	if err != nil {
		return nil, fmt.Errorf("count licenses that are not redeemed: %w", err)
	}
	all := make(map[int64]int64, len(counts))
	for _, c := range counts {
		all[c.partnerID] = c.n
	}
	return all, nil
}
