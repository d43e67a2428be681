package license

import (
	"context"
	"errors"
	"fmt"
	"math"
	"sort"
	"strings"
	"time"

	"claviger/internal/sqldb"
)

// FindAny selects licenses of all partners; the zero value selects all.
type FindAny struct {
	Find
	PartnerID  int64
	OwnerID    int64
	ExternalID string // of a purchase in its chain
}

// FindAny returns a page of licenses, newest first, before a number from Found.Next; 0 starts with
// the newest. It costs the same at any depth.
func (r *Store) FindAny(ctx context.Context, f FindAny, before int64, limit int) (Found, error) {
	if f.PartnerID != 0 && f.OwnerID == 0 && f.ExternalID == "" {
		return r.Find(ctx, f.PartnerID, f.Find, before, limit)
	}
	var err error
	if f.Find, err = f.checked(); err != nil {
		return Found{}, err
	}
	var found Found
	err = r.DB.Read(ctx, func(tx *sqldb.Tx) error {
		low, high, err := idsBetween(ctx, tx, "licenses", f.From, f.To)
		if err != nil {
			return err
		}
		w := chunks[License]{high: high, limit: limit, fits: f.fits, at: func(l License) int64 { return l.ID }}
		if before > 0 {
			w.high = min(high, before-1)
		}
		w.read = func(high int64, n int) ([]License, error) {
			where, arg := f.indexed()
			args := []any{low, high, n}
			if arg != nil {
				args = append(args, arg)
			}
			return sqldb.All(ctx, tx, scan, `SELECT `+columns+` FROM licenses WHERE `+where+` LIMIT $3`, args...)
		}
		rows, next, stopped, err := w.page()
		found = Found{Licenses: rows, Next: next}
		if stopped {
			found.SearchedTo = w.last.CreatedAt
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
	case f.OwnerID != 0:
		return byID + ` AND owner_id = $4 AND owner_id <> 0 ORDER BY id DESC`, f.OwnerID
	default:
		return byID + ` ORDER BY id DESC`, nil
	}
}

// fits checks the conditions that no index serves.
func (f FindAny) fits(l License) bool {
	return (f.Status == 0 || l.Status == f.Status) && (f.Tier == 0 || l.Tier == f.Tier) &&
		strings.HasSuffix(l.Key, f.Key) &&
		(f.PartnerID == 0 || l.PartnerID == f.PartnerID) && (f.OwnerID == 0 || l.OwnerID == f.OwnerID) &&
		within(l.CreatedAt, f.From, f.To)
}

func within(at, from, to time.Time) bool { return !at.Before(from) && (to.IsZero() || at.Before(to)) }

// slack is the maximum difference between the order of ids and of times: rows of two partners are
// made concurrently.
const slack = time.Minute

// idsBetween returns a range of ids that contains all rows of a table made in a span of time, and
// some more. It uses a binary search; the caller checks each row's time.
func idsBetween(ctx context.Context, tx *sqldb.Tx, table string, from, to time.Time) (low, high int64, err error) {
	if from.IsZero() && to.IsZero() {
		return 1, math.MaxInt64 - 1, nil
	}
	most, err := sqldb.One(ctx, tx, sqldb.Value[int64], `SELECT coalesce(max(id), 0) FROM `+table)
	if err != nil {
		return 0, 0, err
	}
	first := func(at time.Time) int64 {
		return 1 + int64(sort.Search(int(most), func(i int) bool {
			made, e := sqldb.One(
				ctx,
				tx,
				sqldb.Value[time.Time],
				`SELECT created_at FROM `+table+` WHERE id >= $1 ORDER BY id LIMIT 1`,
				i+1,
			)
			if !errors.Is(e, sqldb.ErrNone) {
				err = errors.Join(err, e)
			}
			return !made.Before(at)
		}))
	}
	low = 1
	high = most
	if !from.IsZero() {
		low = first(from.Add(-slack))
	}
	if !to.IsZero() {
		high = first(to.Add(slack))
	}
	return low, high, err
}
