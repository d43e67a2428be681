package sqldb_test

import (
	"testing"

	"claviger/internal/sqldb"
	"claviger/internal/sqldb/sqldbtest"
)

// TestStableRows: readers stop before rows that a transaction in flight may still insert, even if
// it has only marked its ids.
func TestStableRows(t *testing.T) {
	if !sqldbtest.Postgres() {
		t.Skip("on SQLite nobody writes meanwhile")
	}
	db, ctx := sqldbtest.Open(t), t.Context()
	stable := func(when string, want int64) {
		t.Helper()
		if got, err := db.StableRows(ctx, "webhook_responses"); err != nil || got != want {
			t.Errorf("%s, rows are stable up to %d, %v; want %d", when, got, err, want)
		}
	}
	draw := func(tx *sqldb.Tx) int64 {
		id, err := sqldb.NextIDs(tx, "webhook_responses_id_seq", 1).One(ctx)
		if err != nil {
			t.Fatal(err)
		}
		return id
	}
	stable("at first", 0)
	write := func(fn func(tx *sqldb.Tx)) {
		t.Helper()
		if err := db.Write(ctx, func(tx *sqldb.Tx) error { fn(tx); return nil }); err != nil {
			t.Fatal(err)
		}
	}
	write(func(tx *sqldb.Tx) { draw(tx) })
	stable("after one was drawn", 1)
	write(func(tx *sqldb.Tx) {
		sqldb.MarkRows(tx, "webhook_responses")
		if id := draw(tx); id != 2 {
			t.Errorf("drew %d, want 2", id)
		}
		stable("while one is in flight", 1)
	})
	stable("after it", 2)
}
