package license

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"sort"
	"strings"
	"time"

	"claviger/internal/event"
	"claviger/internal/fault"
	"claviger/internal/paging"
	"claviger/internal/sqldb"
)

// Find selects licenses of a partner; the zero value selects all.
type Find struct {
	Key      string // the whole key, or at least its last four characters
	Status   event.Status
	Tier     int
	From, To time.Time // time of the purchase: From inclusive, To exclusive; zero: no bound
}

// Found is one page of licenses, newest first.
type Found struct {
	Licenses []License
	Next     int64 // the ordinal before which the next page begins; 0: there is none

	// SearchedTo is set if the search stopped before the page was full: the time reached. Next
	// continues from there.
	SearchedTo time.Time
}

// minEnd is the minimum length of a searched key end: the length in the index.
const minEnd = 4

var keyEnd = regexp.MustCompile(`^[0-9a-f-]*[0-9a-f]{4}$`)

// Find returns a page of a partner's licenses, newest first, before an ordinal; 0 starts with the
// newest. It costs the same at any depth.
func (r *Store) Find(ctx context.Context, partnerID int64, f Find, before int64, limit int) (Found, error) {
	f, err := f.checked()
	if err != nil {
		return Found{}, err
	}
	var found Found
	err = r.DB.Read(ctx, func(tx *sqldb.Tx) error {
		low, high, err := ordinals(ctx, tx, partnerID, f.From, f.To)
		if err != nil {
			return err
		}
		w := paging.Chunks[License]{High: high, Limit: limit, At: func(l License) int64 { return l.Ord }}
		if before > 0 {
			w.High = min(high, before-1)
		}
		w.Fits = func(l License) bool { return (f.Tier == 0 || l.Tier == f.Tier) && strings.HasSuffix(l.Key, f.Key) }
		w.Read = func(high int64, n int) ([]License, error) {
			sql, args := f.query(partnerID, low, high, n)
			return sqldb.All(ctx, tx, scan, sql, args...)
		}
		rows, next, stopped, err := w.Page()
		found = Found{Licenses: rows, Next: next}
		if stopped {
			found.SearchedTo = w.Last.CreatedAt
		}
		return err
	})
	if err != nil {
		return Found{}, fmt.Errorf("find licenses: %w", err)
	}
	return found, nil
}

// checked returns f with the key in its stored form.
func (f Find) checked() (Find, error) {
	f.Key = strings.ToLower(strings.TrimSpace(f.Key))
	if f.Key != "" && !IsKey(f.Key) {
		return f, fault.Parameter("key", "must be a license key, or the last %d characters of one or more.", minEnd)
	}
	return f, nil
}

// IsKey reports whether a text has the form of a license key or of a key's end.
func IsKey(s string) bool {
	s = strings.ToLower(strings.TrimSpace(s))
	return s != "" && keyOrEnd(s)
}

// keyOrEnd reports whether s is empty or has the form of a key or its end.
func keyOrEnd(s string) bool {
	return s == "" || keyForm.MatchString(s) ||
		len(s) <= len("00000000-0000-4000-8000-000000000000") && keyEnd.MatchString(s)
}

// query returns the statement for the next licenses between two ordinals. It leaves SQLite only one
// usable index: without statistics, SQLite would read all of a partner's licenses instead of a few
// by another index.
func (f Find) query(partnerID, low, high int64, n int) (sql string, args []any) {
	args = []any{partnerID, low, high, n}
	status := ""
	if f.Status != 0 {
		args = append(args, int(f.Status))
		status = ` AND status = $5`
	}
	const between = `partner_id = $1 AND ord >= $2 AND ord <= $3`
	switch whole := keyForm.MatchString(f.Key); {
	case whole:
		args = append(args, f.Key)
		return fmt.Sprintf(
			`SELECT `+columns+` FROM licenses WHERE `+between+status+` AND license_key = $%d LIMIT $4`,
			len(args),
		), args
	case f.Key != "":
		args = append(args, f.Key[len(f.Key)-minEnd:])
		return fmt.Sprintf(
			`SELECT `+columns+` FROM licenses WHERE substr(license_key, 33) = $%d AND +partner_id = $1 AND +ord >= $2
				AND +ord <= $3`+status+`
			ORDER BY partner_id DESC, ord DESC LIMIT $4`,
			len(args),
		), args
	case status != "":
		return `SELECT ` + columns + ` FROM licenses WHERE partner_id = $1 AND ord IN (
			SELECT ord FROM licenses WHERE ` + between + status + ` ORDER BY ord DESC LIMIT $4) ORDER BY ord DESC`, args
	}
	return `SELECT ` + columns + ` FROM licenses WHERE ` + between + ` ORDER BY ord DESC LIMIT $4`, args
}

// ordinals returns the range of ordinals of a partner's licenses made in a span of time. Ordinals
// rise with time, so a binary search finds the ends.
func ordinals(ctx context.Context, tx *sqldb.Tx, partnerID int64, from, to time.Time) (low, high int64, err error) {
	high, err = sqldb.One(
		ctx,
		tx,
		sqldb.Value[int64],
		`SELECT coalesce(max(ord), 0) FROM licenses WHERE partner_id = $1`,
		partnerID,
	)
	if err != nil || from.IsZero() && to.IsZero() {
		return 1, high, err
	}
	first := func(at time.Time) int64 {
		return 1 + int64(sort.Search(int(high), func(i int) bool {
			made, e := sqldb.One(
				ctx,
				tx,
				sqldb.Value[time.Time],
				`SELECT created_at FROM licenses WHERE partner_id = $1 AND ord = $2`,
				partnerID,
				i+1,
			)
			err = errors.Join(err, e)
			return !made.Before(at)
		}))
	}
	low = 1
	if !from.IsZero() {
		low = first(from)
	}
	if !to.IsZero() {
		high = first(to) - 1
	}
	return low, high, err
}

// Versions returns a version text per license. It changes whenever the license does.
func (r *Store) Versions(ctx context.Context, ids []int64) (map[int64]string, error) {
	found, err := sqldb.Versions(
		ctx,
		r.DB,
		ids,
		4,
		`SELECT id, updated_at, status, tier, epoch FROM licenses WHERE id = ANY($1)`,
	)
	if err != nil {
		return nil, fmt.Errorf("read the versions of licenses: %w", err)
	}
	return found, nil
}
