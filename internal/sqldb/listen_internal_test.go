package sqldb

import (
	"log/slog"
	"path/filepath"
	"testing"
)

// TestDataVersion: it moves with each commit of another process, and not with our own.
func TestDataVersion(t *testing.T) {
	path := filepath.Join(t.TempDir(), "test.db")
	var dbs [2]*DB
	for i := range dbs {
		e, err := openSQLite(t.Context(), path, Options{Log: slog.New(slog.DiscardHandler)})
		if err != nil {
			t.Fatal(err)
		}
		dbs[i] = &DB{engine: e}
		defer dbs[i].Close() //nolint:errcheck // the test is over
	}
	version := func() int64 {
		v, err := dbs[0].engine.(*sqlite).dataVersion(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
	exec := func(db *DB, sql string) {
		if err := db.Write(t.Context(), func(tx *Tx) error { _, err := tx.Exec(t.Context(), sql); return err }); err != nil {
			t.Fatal(err)
		}
	}
	exec(dbs[0], `CREATE TABLE things (n INTEGER)`)
	for range 3 {
		before := version()
		exec(dbs[0], `INSERT INTO things VALUES (1)`)
		if version() != before {
			t.Error("it moves with a commit of our own")
		}
		exec(dbs[1], `INSERT INTO things VALUES (2)`)
		if version() == before {
			t.Error("it does not move with another's commit")
		}
	}
}
