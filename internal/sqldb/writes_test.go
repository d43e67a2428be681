package sqldb_test

import (
	"testing"
	"time"

	"claviger/internal/sqldb"
	"claviger/internal/sqldb/sqldbtest"
)

// TestCheckWrites: the check writes, after a full disk as well, and leaves nothing.
func TestCheckWrites(t *testing.T) {
	db := sqldbtest.Open(t)
	for _, full := range []bool{false, true} {
		db.SetFull(full)
		if err := db.CheckWrites(t.Context()); err != nil {
			t.Errorf("full %v: %v", full, err)
		}
		if db.Full() {
			t.Error("there is space, and it is not noticed")
		}
	}
	if n, err := sqldb.One(t.Context(), db, sqldb.Value[int], `SELECT count(*) FROM oldest_program`); err != nil || n != 1 {
		t.Errorf("the check left %d rows (%v)", n-1, err)
	}
	transactions, _ := db.Counts()
	if err := db.CheckWrites(t.Context()); err != nil || transactions < 2 {
		t.Errorf("%d transactions (%v)", transactions, err)
	}
}

// TestReadOnlyDatabase: a database that takes no writes is noticed, and says why.
func TestReadOnlyDatabase(t *testing.T) {
	needsServer(t)
	url := sqldbtest.URL(t)
	db := sqldbtest.OpenWith(t, url, sqldb.Options{Readers: 2})
	other := sqldbtest.OpenWith(t, url, sqldb.Options{Readers: 1})
	set := func(to string) {
		t.Helper()
		if err := runIn(t, other, `DO $$ BEGIN SET LOCAL transaction_read_only = off;
			EXECUTE format('ALTER DATABASE %I SET default_transaction_read_only = `+to+`', current_database()); END $$`); err != nil {
			t.Fatal(err)
		}
	}
	set("on")
	again := sqldbtest.OpenWith(t, url, sqldb.Options{Readers: 2})
	err := again.CheckWrites(t.Context())
	if why := sqldb.WhyUnwritable(err); why != "it is read-only" || !sqldb.IsUnavailable(err) {
		t.Errorf("the check says: %v", err)
	}
	if err := db.CheckWrites(t.Context()); err != nil {
		t.Errorf("in a session from before: %v", err)
	}
	set("off")
	for end := time.Now().Add(time.Minute); again.CheckWrites(t.Context()) != nil; <-time.After(50 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("the sessions from before stay in the pool")
		}
	}
}
