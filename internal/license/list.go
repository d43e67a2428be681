package license

import (
	"context"
	"fmt"
	"time"

	"claviger/internal/event"
	"claviger/internal/paging"
	"claviger/internal/sqldb"
)

// Filter narrows a partner's list of licenses; the zero value lists all.
type Filter struct {
	Status       event.Status
	UpdatedSince time.Time // inclusive
	After        Position  // with UpdatedSince: only licenses after it in the page's order
}

// List is one page of licenses.
type List struct {
	Licenses []License
	Total    int64 // -1 when a filter makes it unknown
	More     bool  // whether a next page exists, when Total is unknown

	// Next is the start of the next page, if there is one and the list is by changes.
	Next Position
}

// List lists a partner's licenses in order of creation; with UpdatedSince in the order of their
// changes.
func (r *Store) List(ctx context.Context, partnerID int64, f Filter, p paging.Page) (List, error) {
	var list List
	var err error
	switch {
	case !f.UpdatedSince.IsZero():
		list, err = r.updatedSince(ctx, partnerID, f, p)
	case f.Status != 0:
		list, err = r.byStatus(ctx, partnerID, f.Status, p)
	default:
		list, err = r.byOrdinal(ctx, partnerID, p)
	}
	if err != nil {
		return List{}, fmt.Errorf("list licenses: %w", err)
	}
	return list, nil
}

// shown are the columns that a partner sees. The hot list reads no others.
const shown = `license_key, redemption_id, status, tier, created_at, updated_at`

func scanShown(r *sqldb.Row, l *License) error {
	return r.Scan(&l.Key, &l.RedemptionID, (*int)(&l.Status), &l.Tier, &l.CreatedAt, &l.UpdatedAt)
}

// byOrdinal reads a page as a range of ordinals, in one statement and at the
// same cost at any depth. Ordinals are dense, so the highest is the total.
func (r *Store) byOrdinal(ctx context.Context, partnerID int64, p paging.Page) (List, error) {
	const total = `(SELECT coalesce(max(ord), 0) FROM licenses WHERE partner_id = $1)`
	within := `ord > ` + total + ` - $2 - $3 AND ord <= ` + total + ` - $2 ORDER BY ord DESC`
	if p.Order == paging.OldestFirst {
		within = `ord > $2 AND ord <= $2 + $3 ORDER BY ord ASC`
	}
	list := List{Licenses: make([]License, 0, p.Limit)}
	// Each row is scanned into the result itself, and each has the total.
	_, err := sqldb.All(ctx, r.DB, func(r *sqldb.Row, _ *struct{}) error {
		list.Licenses = append(list.Licenses, License{})
		l := &list.Licenses[len(list.Licenses)-1]
		return r.Scan(&l.Key, &l.RedemptionID, (*int)(&l.Status), &l.Tier, &l.CreatedAt, &l.UpdatedAt, &list.Total)
	}, `SELECT `+shown+`, `+total+` FROM licenses WHERE partner_id = $1 AND `+within, partnerID, p.Offset(), p.Limit)
	if err == nil && len(list.Licenses) == 0 { // past the end: no row has the total
		list.Total, err = sqldb.One(
			ctx,
			r.DB,
			sqldb.Value[int64],
			`SELECT coalesce(max(ord), 0) FROM licenses WHERE partner_id = $1`,
			partnerID,
		)
	}
	return list, err
}

// byStatus finds the page by the counts of its blocks; see paging.Seek.
func (r *Store) byStatus(ctx context.Context, partnerID int64, s event.Status, p paging.Page) (List, error) {
	var list List
	err := r.DB.Read(ctx, func(tx *sqldb.Tx) error {
		blocks, err := sqldb.All(
			ctx,
			tx,
			func(r *sqldb.Row, b *paging.Block) error { return r.Scan(&b.Index, &b.N) },
			`SELECT block, n FROM license_blocks WHERE partner_id = $1 AND status = $2 AND n > 0 ORDER BY block`,
			partnerID,
			int(s),
		)
		if err != nil {
			return err
		}
		from, skip, total, ok := p.Seek(blocks)
		list = List{Licenses: []License{}, Total: total}
		if !ok {
			return nil
		}
		side := "<="
		order := "DESC"
		if p.Order == paging.OldestFirst {
			side = ">="
			order = "ASC"
		}
		// The subquery walks only the index; the outer query reads rows.
		list.Licenses, err = sqldb.All(ctx, tx, scanShown, `SELECT `+shown+` FROM licenses
			WHERE partner_id = $1 AND status = $2 AND ord `+side+` (
				SELECT ord FROM licenses WHERE partner_id = $1 AND status = $2 AND ord `+side+` $3
				ORDER BY ord `+order+` LIMIT 1 OFFSET $4)
			ORDER BY ord `+order+` LIMIT $5`, partnerID, int(s), from, skip, p.Limit)
		return err
	})
	return list, err
}
