package sqldb

import "fmt"

// NextIDs takes n new ids from a sequence, in rising order. What a transaction drew
// and did not use, because it failed, may be lost.
func NextIDs(tx *Tx, sequence string, n int) *Result[int64] {
	a := &Result[int64]{tx: tx}
	tx.session.draw(sequence, n, a)
	return a
}

// NextOrderedIDs is NextIDs for rows that are read in the order of their ids while others
// write: until the transaction ends, StableUpTo stays below the ids it drew.
func NextOrderedIDs(tx *Tx, sequence string, n int) *Result[int64] {
	if s := tx.engine.mark(drawn(sequence)); s != nil {
		tx.session.send(s)
	}
	return NextIDs(tx, sequence, n)
}

// MarkRows is called before a transaction inserts rows into a table that numbers them by
// its column id, when they are read in that order while others write: until the
// transaction ends, StableRows stays below the ids it gets.
func MarkRows(tx *Tx, table string) {
	if s := tx.engine.mark(rowsOf(table)); s != nil {
		tx.session.send(s)
	}
}

// ordered is a sequence whose ids are read in their order: one that is drawn from, or
// the one by which a table numbers its rows.
type ordered struct {
	name string // of the sequence, on PostgreSQL
	rows string // the table; "": ids are drawn
}

func drawn(sequence string) ordered { return ordered{name: sequence} }

func rowsOf(table string) ordered { return ordered{name: table + "_id_seq", rows: table} }

// draw asks for the ids; PostgreSQL's sequences are no part of the transaction. One
// has a text of its own: the other is planned anew each time, since its plan depends
// on how many there are.
func (s *pgSession) draw(sequence string, n int, a *Result[int64]) {
	if n == 1 {
		a.expect(Value[int64], `SELECT nextval($1::text::regclass)`, []any{sequence})
	} else {
		a.expect(Value[int64], `SELECT nextval($1::text::regclass) FROM generate_series(1, $2::int)`, []any{sequence, n})
	}
	s.send(&a.statement)
}

// draw counts on; a session that only reads has no numbers.
func (s *sqliteSession) draw(sequence string, n int, a *Result[int64]) {
	if s.err == nil {
		a.found, s.err = s.numbers.take(sequence, n)
	}
	a.done, a.err = true, s.err
}

// numbers are the sequences of one group of SQLite's transactions. The first to
// draw reads where a sequence stands, the others count on in memory, and the
// group's commit stores where it ended. Nobody else can draw meanwhile: the group
// holds the lock of the one writer.
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
		if err := n.conn.run(&statement{sql: `UPDATE sequences SET last = $2 WHERE name = $1`, args: []any{sequence, last}}); err != nil {
			return err
		}
	}
	return nil
}
