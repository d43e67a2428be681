package sqldb_test

import (
	"bytes"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"claviger/internal/sqldb"
	"claviger/internal/sqldb/sqldbtest"
)

// holds returns the database files that contain text.
func holds(t *testing.T, path, text string) []string {
	t.Helper()
	found := []string{}
	for _, end := range []string{"", "-wal", "-journal"} {
		b, err := os.ReadFile(path + end)
		if err != nil && !os.IsNotExist(err) {
			t.Fatal(err)
		}
		if bytes.Contains(b, []byte(text)) {
			found = append(found, filepath.Base(path)+end)
		}
	}
	return found
}

const hidden = "somebody-who-wants-to-be-gone"

func forget(t *testing.T, db *sqldb.DB) {
	t.Helper()
	write(t, db, func(tx *sqldb.Tx) error {
		tx.Queue(`DELETE FROM idempotency_keys WHERE key = 'short'`)
		tx.Queue(`UPDATE idempotency_keys SET outcome = '' WHERE key = 'long'`)
		tx.Purge()
		return nil
	})
}

func remember(t *testing.T, db *sqldb.DB) {
	t.Helper()
	write(t, db, func(tx *sqldb.Tx) error {
		note(tx, "short", hidden)
		note(tx, "long", strings.Repeat(hidden, 1000)) // needs its own pages
		return nil
	})
}

// TestPurge: deleted data is in none of the files.
func TestPurge(t *testing.T) {
	if sqldbtest.Postgres() {
		t.Skip("it is about SQLite's files")
	}
	path := sqldbtest.URL(t)
	db := sqldbtest.OpenWith(t, path, sqldb.Options{})
	remember(t, db)
	if len(holds(t, path, hidden)) == 0 {
		t.Fatal("it was never there")
	}
	forget(t, db)
	if found := holds(t, path, hidden); len(found) > 0 {
		t.Errorf("it is still in %v", found)
	}
	if diff := notes(t, db); len(diff) != 1 {
		t.Errorf("%v are left, want one", diff)
	}
}

// TestPurgeWaitsForReaders: a reader of the old state blocks the purge. The log is emptied when it
// ends, and writes do not wait for that.
func TestPurgeWaitsForReaders(t *testing.T) {
	if sqldbtest.Postgres() {
		t.Skip("it is about SQLite's files")
	}
	path := sqldbtest.URL(t)
	told := &lines{seen: make(chan string, 10)}
	db := sqldbtest.OpenWith(t, path, sqldb.Options{Log: slog.New(slog.NewTextHandler(told, nil))})
	remember(t, db)
	err := db.Read(t.Context(), func(tx *sqldb.Tx) error {
		if _, err := sqldb.One(t.Context(), tx, sqldb.Value[int64], `SELECT count(*) FROM idempotency_keys`); err != nil {
			return err
		}
		forget(t, db)
		write(t, db, func(tx *sqldb.Tx) error { note(tx, "another", ""); return nil })
		if found := holds(t, path, hidden); len(found) == 0 {
			t.Error("it is gone while somebody reads it")
		}
		if line := <-told.seen; !strings.Contains(line, "erased data is still in the database's log") {
			t.Errorf("logged %s", line)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if line := <-told.seen; !strings.Contains(line, "erased data was removed") {
		t.Errorf("logged %s", line)
	}
	if found := holds(t, path, hidden); len(found) > 0 {
		t.Errorf("it is still in %v", found)
	}
}

// TestPurgeTellsOfErased: a backup beside the service finds its log, and does not warn of erased data.
// TestPurgeWaitsForReaders has the warning.
func TestPurgeTellsOfErased(t *testing.T) {
	if sqldbtest.Postgres() {
		t.Skip("it is about SQLite's files")
	}
	path := sqldbtest.URL(t)
	service := sqldbtest.OpenWith(t, path, sqldb.Options{})
	remember(t, service)
	told := &lines{seen: make(chan string, 10)}
	err := service.Read(t.Context(), func(tx *sqldb.Tx) error {
		if _, err := sqldb.One(t.Context(), tx, sqldb.Value[int64], `SELECT count(*) FROM idempotency_keys`); err != nil {
			return err
		}
		write(t, service, func(tx *sqldb.Tx) error { note(tx, "another", ""); return nil })
		sqldbtest.OpenWith(t, path, sqldb.Options{Log: slog.New(slog.NewTextHandler(told, nil))})
		select {
		case line := <-told.seen:
			t.Errorf("logged %s", line)
		case <-time.After(time.Second): // three times as long as it takes to warn
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// TestPurgeAfterCrash: if a process ends between commit and purge, the next start purges.
func TestPurgeAfterCrash(t *testing.T) {
	if sqldbtest.Postgres() {
		t.Skip("it is about SQLite's files")
	}
	path := sqldbtest.URL(t)
	db := sqldbtest.OpenWith(t, path, sqldb.Options{})
	remember(t, db)
	write(t, db, func(tx *sqldb.Tx) error { tx.Queue(`DELETE FROM idempotency_keys`); return nil })
	copied := filepath.Join(t.TempDir(), "copy.db")
	for _, end := range []string{"", "-wal"} {
		b, err := os.ReadFile(path + end)
		if err == nil {
			err = os.WriteFile(copied+end, b, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if len(holds(t, copied, hidden)) == 0 {
		t.Fatal("it was never there")
	}
	next := sqldbtest.OpenWith(t, copied, sqldb.Options{})
	for len(holds(t, copied, hidden)) > 0 { // until the test times out
		notes(t, next)
	}
}

// lines sends each logged line to a channel.
type lines struct{ seen chan string }

// Write sends one line.
func (l *lines) Write(b []byte) (int, error) {
	l.seen <- string(b)
	return len(b), nil
}
