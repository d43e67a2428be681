package sqldb

import (
	"context"
	"fmt"
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
func (l *lite) advance() []string {
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
