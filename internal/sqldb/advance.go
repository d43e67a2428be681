package sqldb

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
)

// Advance moves every sequence of ids on by gap: those that are drawn and those that
// tables number their rows by. A database that was restored would otherwise give
// again what others have seen since the backup was made.
func (db *DB) Advance(ctx context.Context, gap int64) error {
	err := db.Write(ctx, func(tx *Tx) error {
		for _, sql := range tx.engine.advance() {
			if _, err := tx.Exec(ctx, sql, gap); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("move the sequences of ids on: %w", err)
	}
	return nil
}

// advance begins with the tables that never had a row: they have no number yet.
func (l *sqlite) advance() []string {
	return []string{
		`INSERT INTO sqlite_sequence (name, seq) SELECT s.name, 0 FROM sqlite_schema AS s
			WHERE s.type = 'table' AND s.sql LIKE '%AUTOINCREMENT%' AND $1 > 0 AND NOT EXISTS (SELECT 1 FROM sqlite_sequence AS q WHERE q.name = s.name)`,
		`UPDATE sqlite_sequence SET seq = seq + $1`,
		`UPDATE sequences SET last = last + $1`,
	}
}

// advance cannot be undone: sequences are no part of a transaction. A gap too many
// does no harm.
func (p *postgres) advance() []string {
	return []string{`SELECT setval(format('%I.%I', schemaname, sequencename)::regclass, coalesce(last_value, 0) + $1)
		FROM pg_sequences WHERE schemaname = current_schema()`}
}

// sequence is how far a sequence of ids has come.
type sequence struct {
	table bool // its ids number the rows of a table; otherwise they are drawn
	name  string
	last  int64
}

// sequences reads how far those of an SQLite database have come. A file that is not
// there, or is empty, has none.
func sequences(ctx context.Context, path string) (list []sequence, err error) {
	if info, err := os.Stat(path); err != nil || info.Size() == 0 {
		if errors.Is(err, fs.ErrNotExist) {
			err = nil
		}
		return nil, err
	}
	c, err := openSQLiteConn(ctx, privateFSName, path, "PRAGMA query_only = ON;")
	if err != nil {
		return nil, err
	}
	for _, of := range []struct {
		table bool
		sql   string
	}{{true, `SELECT name, seq FROM sqlite_sequence`}, {false, `SELECT name, last FROM sequences`}} {
		err = errors.Join(err, c.run(&statement{sql: of.sql, each: func(r *Row) error {
			list = append(list, sequence{of.table, r.lite.ColumnText(0), r.lite.ColumnInt64(1)})
			return nil
		}}))
	}
	return list, errors.Join(err, c.Close())
}

// pass moves the sequences of an SQLite database on to where those of another one are.
func (db *DB) pass(ctx context.Context, list []sequence) error {
	return db.Write(ctx, func(tx *Tx) error {
		for _, s := range list {
			if !s.table {
				tx.Queue(`UPDATE sequences SET last = $2 WHERE name = $1 AND last < $2`, s.name, s.last)
				continue
			}
			tx.Queue(`INSERT INTO sqlite_sequence (name, seq) SELECT s.name, 0 FROM sqlite_schema AS s WHERE s.type = 'table' AND s.name = $1
				AND s.sql LIKE '%AUTOINCREMENT%' AND NOT EXISTS (SELECT 1 FROM sqlite_sequence AS q WHERE q.name = s.name)`, s.name)
			tx.Queue(`UPDATE sqlite_sequence SET seq = $2 WHERE name = $1 AND seq < $2`, s.name, s.last)
		}
		return nil
	})
}
