package license

import (
	"context"
	"fmt"
	"slices"
	"time"

	"claviger/internal/paging"
	"claviger/internal/sqldb"
)

// FindSales selects purchases and plan changes; the zero value selects all.
type FindSales struct {
	PartnerID  int64
	Users      []int64 // the buyers; none: all
	ExternalID string
	From, To   time.Time // From inclusive, To exclusive; zero: no bound
}

// FoundSales is one page of purchases, newest first, without their licenses.
type FoundSales struct {
	Sales []Sale
	Next  int64 // the number before which the next page begins; 0: there is none

	// SearchedTo is set if the search stopped before the page was full: the time reached. Next
	// continues from there.
	SearchedTo time.Time
}

// FindSales returns a page of purchases, newest first, before a number; 0 starts with the newest.
// It costs the same at any depth.
func (r *Store) FindSales(ctx context.Context, f FindSales, before int64, limit int) (FoundSales, error) {
	var found FoundSales
	err := r.DB.Read(ctx, func(tx *sqldb.Tx) error {
		low, high, err := sqldb.IDsBetween(ctx, tx, "purchases", f.From, f.To)
		if err != nil {
			return err
		}
		w := paging.Chunks[Sale]{High: high, Limit: limit, Fits: f.fits, At: func(s Sale) int64 { return s.ID }}
		if before > 0 {
			w.High = min(high, before-1)
		}
		w.Read = func(high int64, n int) ([]Sale, error) {
			where, arg := f.indexed()
			args := []any{low, high, n}
			if arg != nil {
				args = append(args, arg)
			}
			return sqldb.All(
				ctx,
				tx,
				scanSale,
				`SELECT `+saleColumns+` FROM purchases WHERE `+where+` LIMIT $3`,
				args...)
		}
		rows, next, stopped, err := w.Page()
		found = FoundSales{Sales: rows, Next: next}
		if stopped {
			found.SearchedTo = w.Last.CreatedAt
		}
		return err
	})
	if err != nil {
		return FoundSales{}, fmt.Errorf("find purchases: %w", err)
	}
	return found, nil
}

// indexed returns the one condition that an index serves, with the order. An external id is unique
// per partner and kind: id + 0 keeps the databases from reading all purchases by id.
func (f FindSales) indexed() (where string, arg any) {
	const byID = `id >= $1 AND id <= $2`
	switch {
	case f.ExternalID != "":
		return `id + 0 >= $1 AND id + 0 <= $2 AND external_id = $4 AND external_id <> ''
			ORDER BY id + 0 DESC`, f.ExternalID
	case len(f.Users) == 1:
		return byID + ` AND user_id = $4 AND user_id <> 0 ORDER BY id DESC`, f.Users[0]
	case len(f.Users) > 1:
		return `id + 0 >= $1 AND id + 0 <= $2 AND user_id = ANY($4) AND user_id <> 0 ORDER BY id + 0 DESC`, f.Users
	case f.PartnerID != 0:
		return byID + ` AND partner_id = $4 ORDER BY id DESC`, f.PartnerID
	default:
		return byID + ` ORDER BY id DESC`, nil
	}
}

// OfPartner reports whether f selects all purchases of a partner, or of all partners.
func (f FindSales) OfPartner() bool {
	return f.Users == nil && f.ExternalID == "" && f.From.IsZero() && f.To.IsZero()
}

// fits checks the conditions that no index serves.
func (f FindSales) fits(s Sale) bool {
	return (f.PartnerID == 0 || s.PartnerID == f.PartnerID) && (f.Users == nil || slices.Contains(f.Users, s.UserID)) &&
		(f.ExternalID == "" || s.ExternalID == f.ExternalID) && within(s.CreatedAt, f.From, f.To)
}

// RefundsByReference returns the refunds with an external id, of all partners, newest first,
// without their licenses; at most ten.
func (r *Store) RefundsByReference(ctx context.Context, externalID string) ([]Refund, error) {
	list, err := sqldb.All(ctx, r.DB, scanRefund, `SELECT `+refundColumns+` FROM refunds
		WHERE external_id = $1 AND external_id <> '' ORDER BY id + 0 DESC LIMIT 10`, externalID)
	if err != nil {
		return nil, fmt.Errorf("find refunds: %w", err)
	}
	return list, nil
}
