// Package sealing handles the sealed values in the database. It checks that all of them open with
// the configured secret keys, and seals them again after a key change. It owns the pepper, which
// outlives every key.
package sealing

import (
	"context"
	"errors"
	"fmt"
	"time"

	"claviger/internal/secret"
	"claviger/internal/sqldb"
)

// Column is a column of sealed values. The package that owns the table provides the SQL that reads
// and writes it, ordered by a text or a number that names the row.
type Column struct {
	Name  string // in words
	First string // sorts before the name of every row
	Page  string // SELECT name, argument of Label, value … name > $1 ORDER BY name LIMIT $2, names as text
	Save  string // UPDATE … value = $3 WHERE name = $1 AND value = $2
	Label func(string) string
}

// value is a sealed value of a row.
type value struct{ row, of, sealed string }

func scanValue(r *sqldb.Row, v *value) error { return r.Scan(&v.row, &v.of, &v.sealed) }

// page is the number of values per read and write.
const page = 500

// pages calls each with the values of a column, page by page.
func (c Column) pages(ctx context.Context, db *sqldb.DB, each func([]value) error) error {
	for after := c.First; ; {
		list, err := sqldb.All(ctx, db, scanValue, c.Page, after, page)
		if err != nil {
			return fmt.Errorf("read %s: %w", c.Name, err)
		}
		if len(list) == 0 {
			return nil
		}
		if err := each(list); err != nil {
			return err
		}
		after = list[len(list)-1].row
	}
}

// Empty reports whether the columns have no value.
func Empty(ctx context.Context, db *sqldb.DB, columns ...Column) (bool, error) {
	for _, c := range columns {
		list, err := sqldb.All(ctx, db, scanValue, c.Page, c.First, 1)
		if err != nil {
			return false, fmt.Errorf("read %s: %w", c.Name, err)
		}
		if len(list) > 0 {
			return false, nil
		}
	}
	return true, nil
}

// Check returns an error unless every value of the columns opens.
func Check(ctx context.Context, db *sqldb.DB, box *secret.Sealer, columns ...Column) error {
	for _, c := range columns {
		err := c.pages(ctx, db, func(list []value) error {
			for _, v := range list {
				if _, err := box.Open(c.Label(v.of), v.sealed); err != nil {
					return fmt.Errorf("%s: %w", c.Name, err)
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// Reseal seals every value of the columns with the current key. It may be interrupted and called
// again: values with that key stay unchanged. It calls done as it progresses, with the numbers of
// values seen and resealed in a column. It returns the total number of resealed values.
func Reseal(
	ctx context.Context,
	db *sqldb.DB,
	box *secret.Sealer,
	done func(what string, seen, changed int),
	columns ...Column,
) (total int, err error) {
	for _, c := range columns {
		var seen, changed int
		err := c.pages(ctx, db, func(list []value) error {
			n, err := c.reseal(ctx, db, box, list)
			seen += len(list)
			changed += n
			done(c.Name, seen, changed)
			return err
		})
		total += changed
		if err != nil {
			return total, err
		}
	}
	return total, nil
}

// reseal seals the values of a page in one transaction. If a value has changed since it was read, a
// node sealed it, and nodes have the new key.
func (c Column) reseal(ctx context.Context, db *sqldb.DB, box *secret.Sealer, list []value) (changed int, err error) {
	err = db.Write(ctx, func(tx *sqldb.Tx) error {
		changed = 0
		for _, v := range list {
			sealed, err := box.Reseal(c.Label(v.of), v.sealed)
			if err != nil {
				return fmt.Errorf("%s: %w", c.Name, err)
			}
			if sealed != v.sealed {
				changed++
				tx.Queue(c.Save, v.row, v.sealed, sealed)
			}
		}
		return nil
	})
	return changed, err
}

const pepperLabel = "pepper"

// Pepper returns the column of the pepper.
func Pepper() Column {
	return Column{
		Name: "the pepper", First: "0",
		Page: `SELECT CAST(id AS text), '', sealed FROM peppers WHERE id > CAST(CAST($1 AS text) AS bigint) ORDER BY id
			LIMIT $2`,
		Save:  `UPDATE peppers SET sealed = $3 WHERE id = CAST(CAST($1 AS text) AS bigint) AND sealed = $2`,
		Label: func(string) string { return pepperLabel },
	}
}

// ErrNoPepper means that none was stored yet.
var ErrNoPepper = errors.New("the pepper was not stored yet")

// WithPepper returns the Sealer with the stored pepper.
func WithPepper(ctx context.Context, db *sqldb.DB, box *secret.Sealer) (*secret.Sealer, error) {
	sealed, err := sqldb.One(ctx, db, sqldb.Value[string], `SELECT sealed FROM peppers WHERE id = 1`)
	if errors.Is(err, sqldb.ErrNone) {
		return nil, ErrNoPepper
	}
	if err != nil {
		return nil, fmt.Errorf("read the pepper: %w", err)
	}
	text, err := box.Open(pepperLabel, sealed)
	if err != nil {
		return nil, fmt.Errorf("open the pepper: %w", err)
	}
	return box.WithPepper(text)
}

// StorePepper stores the pepper of the Sealer, unless another node was faster.
func StorePepper(ctx context.Context, db *sqldb.DB, box *secret.Sealer, now time.Time) error {
	err := db.Write(ctx, func(tx *sqldb.Tx) error {
		tx.Queue(
			`INSERT INTO peppers (id, sealed, created_at) VALUES (1, $1, $2) ON CONFLICT (id) DO NOTHING`,
			box.Seal(pepperLabel, box.PepperText()),
			now,
		)
		return nil
	})
	if err != nil {
		return fmt.Errorf("store the pepper: %w", err)
	}
	return nil
}
