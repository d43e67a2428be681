package sqldb_test

import (
	"errors"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"claviger/internal/sqldb"
	"claviger/internal/sqldb/sqldbtest"
)

// patient is a bound that only a failure reaches.
const patient = time.Minute

func needsServer(t *testing.T) {
	t.Helper()
	if !sqldbtest.Postgres() {
		t.Skip("SQLite has no connections over a network")
	}
}

// code returns the code of an error of PostgreSQL, or "".
func code(err error) string {
	if e, ok := errors.AsType[*pgconn.PgError](err); ok {
		return e.Code
	}
	return ""
}

func runIn(t *testing.T, db *sqldb.DB, sql string) error {
	t.Helper()
	return db.Write(sqldb.InRequest(t.Context()), func(tx *sqldb.Tx) error {
		_, err := tx.Exec(t.Context(), sql)
		return err
	})
}

// TestReadOnlySession: a session that takes no writes is closed, not used again.
func TestReadOnlySession(t *testing.T) {
	needsServer(t)
	db := sqldbtest.OpenWith(t, sqldbtest.URL(t), sqldb.Options{Readers: 1})
	if err := runIn(t, db, `SET default_transaction_read_only = on`); err != nil {
		t.Fatal(err)
	}
	err := runIn(t, db, `CREATE TABLE a (b BIGINT)`)
	if code(err) != "25006" || !sqldb.IsUnavailable(err) {
		t.Fatalf("a write in a read-only session: %v", err)
	}
	if err := runIn(t, db, `CREATE TABLE a (b BIGINT)`); err != nil {
		t.Errorf("a write after it: %v", err)
	}
}

// TestSilentConnections: when connections die without a word, only the calls that they run fail, and
// all others get new ones.
func TestSilentConnections(t *testing.T) {
	needsServer(t)
	// The server does not end the session either.
	proxy := sqldbtest.NewProxy(t, sqldbtest.URL(t)+"&idle_in_transaction_session_timeout=0")
	for name, o := range map[string]sqldb.Options{
		"of a request": {Readers: 4, Timeout: 2 * time.Second, JobTimeout: patient},
		"of a job":     {Readers: 4, Timeout: patient, JobTimeout: time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			db := sqldbtest.OpenWith(t, proxy.URL, o)
			ctx := t.Context()
			if o.Timeout < o.JobTimeout {
				ctx = sqldb.InRequest(ctx)
			}
			silenced := false
			fail := func(tx *sqldb.Tx) error {
				if _, err := tx.Exec(ctx, `SELECT 1`); err != nil {
					return err
				}
				if !silenced { // once: a transaction may run again
					silenced = true
					proxy.Silence()
				}
				_, err := tx.Exec(ctx, `SELECT 2`)
				return err
			}
			if err := db.Write(ctx, fail); !sqldb.IsUnavailable(err) {
				t.Errorf("a write on a connection that dies: %v", err)
			}
			for range 8 {
				if _, err := sqldb.One(ctx, db, sqldb.Value[int], `SELECT 3`); err != nil {
					t.Errorf("a read after it: %v", err)
				}
			}
		})
	}
}

// TestLostCommit: a write whose commit got no answer fails as unavailable, and may have happened.
func TestLostCommit(t *testing.T) {
	needsServer(t)
	proxy := sqldbtest.NewProxy(t, sqldbtest.URL(t))
	db := sqldbtest.OpenWith(t, proxy.URL, sqldb.Options{Readers: 2, Timeout: 2 * time.Second})
	proxy.LoseCommit()
	if err := runIn(t, db, `CREATE TABLE a (b BIGINT)`); !sqldb.IsUnavailable(err) {
		t.Fatalf("a commit without an answer: %v", err)
	}
	if err := runIn(t, db, `CREATE TABLE a (b BIGINT)`); code(err) != "42P07" {
		t.Errorf("the table was not made: %v", err)
	}
}

// TestTimeouts: the server ends statements that take too long, by the kind of their context.
func TestTimeouts(t *testing.T) {
	needsServer(t)
	url := sqldbtest.URL(t)
	const long = `SELECT pg_sleep(3600)`
	short := sqldb.Options{Timeout: 2 * time.Second, JobTimeout: patient}
	job := sqldb.Options{Timeout: patient, JobTimeout: time.Second}
	for name, c := range map[string]struct {
		options sqldb.Options
		request bool
	}{"request": {short, true}, "job": {job, false}} {
		t.Run(name, func(t *testing.T) {
			db := sqldbtest.OpenWith(t, url, c.options)
			ctx := sqldb.InRequest(t.Context())
			if !c.request {
				ctx = sqldb.InJob(ctx)
			}
			_, alone := sqldb.One(ctx, db, sqldb.Value[string], long)
			inside := db.Write(ctx, func(tx *sqldb.Tx) error {
				_, err := tx.Exec(ctx, long)
				return err
			})
			for _, err := range []error{alone, inside} {
				if code(err) != "57014" || !sqldb.IsUnavailable(err) {
					t.Errorf("a statement that takes too long: %v", err)
				}
			}
		})
	}
	db := sqldbtest.OpenWith(t, url, short)
	own, err := db.Reserve(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = own.Close(t.Context()) })
	limit, err := sqldb.One(t.Context(), own, sqldb.Value[string], `SHOW statement_timeout`)
	if err != nil || limit != "0" {
		t.Errorf("the limit outside the pool is %s (%v)", limit, err)
	}
}
