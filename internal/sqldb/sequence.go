package sqldb

import (
	"context"
	"fmt"
)

// Sequence is a sequence of ids and the last one drawn from it.
type Sequence struct {
	Rows bool   // it numbers the rows of a table; otherwise ids are drawn
	Name string // of the table or the sequence
	Last int64
}

func scanSequence(r *Row, s *Sequence) error { return r.Scan(&s.Rows, &s.Name, &s.Last) }

// Sequences returns every sequence of the database.
func Sequences(ctx context.Context, tx *Tx) ([]Sequence, error) {
	return All(ctx, tx, scanSequence, tx.engine.sequences())
}

// sequences includes tables that never had a row: they are not in sqlite_sequence yet.
func (l *sqlite) sequences() string {
	return `SELECT TRUE, t.name, coalesce(s.seq, 0) FROM sqlite_schema AS t
		LEFT JOIN sqlite_sequence AS s ON s.name = t.name WHERE t.type = 'table' AND t.sql LIKE '%AUTOINCREMENT%'
		UNION ALL SELECT FALSE, name, last FROM sequences`
}

func (p *postgres) sequences() string {
	return `SELECT t.oid IS NOT NULL, coalesce(t.relname, s.relname)::text, coalesce(pg_sequence_last_value(s.oid), 0)
		FROM pg_class AS s
		LEFT JOIN pg_depend AS d ON d.objid = s.oid AND d.deptype = 'i' AND d.classid = 'pg_class'::regclass
		AND d.refclassid = 'pg_class'::regclass
		LEFT JOIN pg_class AS t ON t.oid = d.refobjid
		WHERE s.relkind = 'S' AND s.relnamespace = current_schema()::regnamespace`
}

// Advance raises every sequence by gap. A restored database would otherwise hand out ids again that
// clients have seen since the backup.
func (db *DB) Advance(ctx context.Context, gap int64) error {
	var list []Sequence
	err := db.Read(ctx, func(tx *Tx) (err error) {
		list, err = Sequences(ctx, tx)
		return err
	})
	if err != nil {
		return fmt.Errorf("read the sequences of ids: %w", err)
	}
	for i := range list {
		list[i].Last += gap
	}
	return db.Raise(ctx, list)
}

// Raise raises sequences to at least the values in list, and above every row. Others are ignored.
func (db *DB) Raise(ctx context.Context, list []Sequence) error {
	if err := db.engine.raise(ctx, list); err != nil {
		return fmt.Errorf("raise the sequences of ids: %w", err)
	}
	return nil
}

// raise ignores the rows: SQLite continues from the highest id.
func (l *sqlite) raise(ctx context.Context, list []Sequence) error {
	return l.write(ctx, func(tx *Tx) error {
		for _, s := range list {
			if !s.Rows {
				tx.Queue(`UPDATE sequences SET last = $2 WHERE name = $1 AND last < $2`, s.Name, s.Last)
				continue
			}
			tx.Queue(`INSERT INTO sqlite_sequence (name, seq) SELECT t.name, 0 FROM sqlite_schema AS t
				WHERE t.type = 'table' AND t.name = $1 AND t.sql LIKE '%AUTOINCREMENT%'
				AND NOT EXISTS (SELECT 1 FROM sqlite_sequence AS s WHERE s.name = t.name)`, s.Name)
			tx.Queue(`UPDATE sqlite_sequence SET seq = $2 WHERE name = $1 AND seq < $2`, s.Name, s.Last)
		}
		return nil
	})
}

// raise cannot be rolled back: sequences are outside transactions. An extra gap is harmless.
func (p *postgres) raise(ctx context.Context, list []Sequence) error {
	db := &DB{engine: p}
	wanted := map[Sequence]int64{}
	for _, s := range list {
		wanted[Sequence{Rows: s.Rows, Name: s.Name}] = s.Last
	}
	own, err := All(ctx, db, scanSequence, p.sequences())
	if err != nil {
		return err
	}
	for _, s := range own {
		name := `$1::text::regclass`
		highest := `0`
		if s.Rows {
			name = `pg_get_serial_sequence($1, 'id')::regclass`
			highest = `coalesce((SELECT max(id) FROM ` + s.Name + `), 0)`
		}
		at := max(s.Last, wanted[Sequence{Rows: s.Rows, Name: s.Name}])
		to, err := One(ctx, db, Value[int64], `SELECT greatest($1::bigint, `+highest+`)`, at)
		if err == nil && to > s.Last {
			_, err = One(ctx, db, Value[int64], `SELECT setval(`+name+`, $2)`, s.Name, to)
		}
		if err != nil {
			return err
		}
	}
	return nil
}
