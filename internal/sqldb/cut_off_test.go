package sqldb_test

import (
	"context"
	"testing"

	"claviger/internal/sqldb"
	"claviger/internal/sqldb/sqldbtest"
)

// A connection is not reused if its query succeeded just as the context ended: a background read of
// pgx may have hit the deadline and would fail the next query.
func TestConnectionOfAnEndedContext(t *testing.T) {
	if !sqldbtest.Postgres() {
		t.Skip("SQLite has no connections over a network")
	}
	db := sqldbtest.OpenWith(t, sqldbtest.URL(t), sqldb.Options{Readers: 1})
	session := func(ctx context.Context, read func()) int {
		t.Helper()
		pid, err := sqldb.One(ctx, db, func(r *sqldb.Row, pid *int) error {
			read()
			return r.Scan(pid)
		}, `SELECT pg_backend_pid()`)
		if err != nil {
			t.Fatal(err)
		}
		return pid
	}
	first := session(t.Context(), func() {})
	if again := session(t.Context(), func() {}); again != first {
		t.Fatalf("the connection is %d, then %d", first, again)
	}
	ctx, cancel := context.WithCancel(t.Context())
	session(ctx, cancel)
	if next := session(t.Context(), func() {}); next == first {
		t.Error("the connection was used again")
	}
}
