package license

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"claviger/internal/paging"
	"claviger/internal/sqldb"
)

// FindAny selects licenses of all partners; the zero value selects all.
type FindAny struct {
	Find
	PartnerID  int64
	Owners     []int64 // none: all
	ExternalID string  // of a purchase in its chain
}

// FindAny returns a page of licenses, newest first, before a number from Found.Next; 0 starts with
// the newest. It costs the same at any depth.
func (r *Store) FindAny(ctx context.Context, f FindAny, before int64, limit int) (Found, error) {
	if f.PartnerID != 0 && f.Owners == nil && f.ExternalID == "" {
		return r.Find(ctx, f.PartnerID, f.Find, before, limit)
	}
	var err error
	if f.Find, err = f.checked(); err != nil {
		return Found{}, err
	}
	var found Found
	err = r.DB.Read(ctx, func(tx *sqldb.Tx) error {
		low, high, err := sqldb.IDsBetween(ctx, tx, "licenses", f.From, f.To)
		if err != nil {
			return err
		}
		w := paging.Chunks[License]{High: high, Limit: limit, Fits: f.fits, At: func(l License) int64 { return l.ID }}
		if before > 0 {
			w.High = min(high, before-1)
		}
		w.Read = func(high int64, n int) ([]License, error) {
			where, arg := f.indexed()
			args := []any{low, high, n}
			if arg != nil {
				args = append(args, arg)
			}
			return sqldb.All(ctx, tx, scan, `SELECT `+columns+` FROM licenses WHERE `+where+` LIMIT $3`, args...)
		}
		rows, next, stopped, err := w.Page()
		found = Found{Licenses: rows, Next: next}
		if stopped {
			found.SearchedTo = w.Last.CreatedAt
		}
		return err
	})
	if err != nil {
		return Found{}, fmt.Errorf("find licenses of all partners: %w", err)
	}
	return found, nil
}

// indexed returns the one condition that an index serves, with the order; fits checks the others,
// except for the external id. Few licenses have the same end of a key: id + 0 keeps the databases
// from reading all of them by id.
func (f FindAny) indexed() (where string, arg any) {
	const byID = `id >= $1 AND id <= $2`
	switch {
	case f.ExternalID != "":
		return byID + ` AND id IN (SELECT k.license_id FROM purchases AS b
			JOIN purchase_links AS k ON k.purchase_id = b.id
			WHERE b.external_id = $4 AND b.external_id <> '') ORDER BY id DESC`, f.ExternalID
	case keyForm.MatchString(f.Key):
		return byID + ` AND license_key = $4 ORDER BY id DESC`, f.Key
	case f.Key != "":
		return `id + 0 >= $1 AND id + 0 <= $2 AND substr(license_key, 33) = $4
			ORDER BY id + 0 DESC`, f.Key[len(f.Key)-minEnd:]
	case len(f.Owners) == 1:
		return byID + ` AND owner_id = $4 AND owner_id <> 0 ORDER BY id DESC`, f.Owners[0]
	case len(f.Owners) > 1:
		return `id + 0 >= $1 AND id + 0 <= $2 AND owner_id = ANY($4) AND owner_id <> 0 ORDER BY id + 0 DESC`, f.Owners
	default:
		return byID + ` ORDER BY id DESC`, nil
	}
}

// OfPartner reports whether f selects all licenses of a partner, or of all partners.
func (f FindAny) OfPartner() bool {
	return f.Find == Find{} && f.Owners == nil && f.ExternalID == ""
}

// fits checks the conditions that no index serves.
func (f FindAny) fits(l License) bool {
	return (f.Status == 0 || l.Status == f.Status) && (f.Tier == 0 || l.Tier == f.Tier) &&
		strings.HasSuffix(l.Key, f.Key) &&
		(f.PartnerID == 0 || l.PartnerID == f.PartnerID) && (f.Owners == nil || slices.Contains(f.Owners, l.OwnerID)) &&
		within(l.CreatedAt, f.From, f.To)
}

func within(at, from, to time.Time) bool { return !at.Before(from) && (to.IsZero() || at.Before(to)) }
