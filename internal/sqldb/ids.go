package sqldb

import "fmt"

// NextIDs draws n new ids from a sequence, in rising order. Ids of a failed transaction may be
// lost.
func NextIDs(tx *Tx, sequence string, n int) *Result[int64] {
	a := &Result[int64]{tx: tx}
	tx.session.draw(sequence, n, a)
	return a
}

// NextOrderedIDs is NextIDs for rows that are read in id order while others write. Until the
// transaction ends, StableUpTo stays below the drawn ids.
func NextOrderedIDs(tx *Tx, sequence string, n int) *Result[int64] {
	if s := tx.engine.mark(drawn(sequence)); s != nil {
		tx.session.send(s)
	}
	return NextIDs(tx, sequence, n)
}

// MarkRows is for tables that number their rows by their column id and are read in id order while
// others write. Call it before inserting. Until the transaction ends, StableRows stays below the
// new ids.
func MarkRows(tx *Tx, table string) {
	if s := tx.engine.mark(rowsOf(table)); s != nil {
		tx.session.send(s)
	}
}

// ordered is a sequence that is read in id order: ids are drawn from it, or it numbers the rows of
// a table.
type ordered struct {
	name string // of the sequence, on PostgreSQL
	rows string // the table; "": ids are drawn
}

func drawn(sequence string) ordered { return ordered{name: sequence} }

func rowsOf(table string) ordered { return ordered{name: table + "_id_seq", rows: table} }

// draw queries the ids; sequences of PostgreSQL are outside the transaction. A single id has its
// own statement, because the plan of the other depends on n and is made again each time.
func (s *pgSession) draw(sequence string, n int, a *Result[int64]) {
	if n == 1 {
		a.expect(Value[int64], `SELECT nextval($1::text::regclass)`, []any{sequence})
	} else {
		a.expect(Value[int64], `SELECT nextval($1::text::regclass)
			FROM generate_series(1, $2::int)`, []any{sequence, n})
	}
	s.send(&a.statement)
}

// draw counts up in memory. A read-only session has no numbers.
func (s *sqliteSession) draw(sequence string, n int, a *Result[int64]) {
	if s.err == nil {
		a.found, s.err = s.numbers.take(sequence, n)
	}
	a.done = true
	a.err = s.err
}

// numbers are the sequences of one group of SQLite transactions. The first draw reads the last id,
// later ones count in memory, and the group's commit stores the result. No one else can draw
// meanwhile: the group holds the lock of the single writer.
type numbers struct {
	conn *sqliteConn
	last map[string]int64
}

func (n *numbers) take(sequence string, many int) ([]int64, error) {
	if n == nil {
		return nil, fmt.Errorf("draw from %s: the transaction only reads", sequence)
	}
	last, ok := n.last[sequence]
	if !ok {
		found := false
		if err := n.conn.run(&statement{
			sql: `SELECT last FROM sequences WHERE name = $1`, args: []any{sequence},
			each: func(r *Row) error { found = true; return r.Scan(&last) },
		}); err != nil {
			return nil, err
		}
		if !found {
			return nil, fmt.Errorf("draw from %s: there is no such sequence", sequence)
		}
	}
	ids := make([]int64, many)
	for i := range ids {
		last++
		ids[i] = last
	}
	n.last[sequence] = last
	return ids, nil
}

func (n *numbers) store() error {
	for sequence, last := range n.last {
		if err := n.conn.run(&statement{sql: `UPDATE sequences SET last = $2
			WHERE name = $1`, args: []any{sequence, last}}); err != nil {
			return err
		}
	}
	return nil
}
