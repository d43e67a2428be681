package sqldb_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"claviger/internal/sqldb"
	"claviger/internal/sqldb/sqldbtest"
)

// onSQLite skips tests of SQLite's files.
func onSQLite(t *testing.T) {
	t.Helper()
	if sqldbtest.Postgres() {
		t.Skip("it is about SQLite's files")
	}
}

// TestMovedFile: once the file or its log is not in its place, no write is acknowledged, not even one
// that is under way, and the database does not count as reachable.
func TestMovedFile(t *testing.T) {
	onSQLite(t)
	for name, away := range map[string]func(path string) error{
		"moved":   func(path string) error { return os.Rename(path, path+".elsewhere") },
		"deleted": os.Remove,
		"replaced": func(path string) error {
			b, err := os.ReadFile(path)
			return errors.Join(err, os.WriteFile(path+".new", b, 0o600), os.Rename(path+".new", path))
		},
		"without its log": func(path string) error { return os.Remove(path + "-wal") },
	} {
		t.Run(name, func(t *testing.T) {
			path := sqldbtest.URL(t)
			db := sqldbtest.OpenWith(t, path, sqldb.Options{})
			write(t, db, func(tx *sqldb.Tx) error { note(tx, "before", ""); return nil })
			if err := errors.Join(db.Ping(t.Context()), db.Moved()); err != nil {
				t.Fatal(err)
			}
			acknowledged := false
			during := db.Write(t.Context(), func(tx *sqldb.Tx) error {
				tx.AfterCommit(func() { acknowledged = true })
				note(tx, "during", "")
				return away(path)
			})
			after := db.Write(t.Context(), func(tx *sqldb.Tx) error { note(tx, "after", ""); return nil })
			for _, err := range []error{during, after, db.Ping(t.Context()), db.Moved()} {
				said, ok := errors.AsType[interface {
					error
					Sentence() string
				}](err)
				if !errors.Is(err, sqldb.ErrMoved) || !sqldb.IsUnavailable(err) || !ok || !strings.Contains(said.Sentence(), "not in its place") {
					t.Errorf("got %v", err)
				}
			}
			if acknowledged {
				t.Error("a write into the lost file is acknowledged")
			}
		})
	}
}

// TestMovedBack: the log stays where it is when the process ends, the next start refuses to replace it
// by an empty database, and everything is there when the file is put back.
func TestMovedBack(t *testing.T) {
	onSQLite(t)
	path := sqldbtest.URL(t)
	db := sqldbtest.OpenWith(t, path, sqldb.Options{})
	write(t, db, func(tx *sqldb.Tx) error { note(tx, "before", ""); return nil })
	if err := errors.Join(os.Rename(path, path+".elsewhere"), db.Close()); err != nil {
		t.Fatal(err)
	}
	for _, o := range []sqldb.Options{{}, {MustExist: true}} {
		if _, err := sqldb.Open(t.Context(), path, o); !errors.Is(err, sqldb.ErrLeftLog) || !strings.Contains(err.Error(), "--new-database") {
			t.Errorf("with %+v: %v", o, err)
		}
	}
	if err := os.Rename(path+".elsewhere", path); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"before"}, notes(t, sqldbtest.OpenWith(t, path, sqldb.Options{}))); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

// TestReplacedAtEnd: a database that was put in the place of the open one is not read with the log of
// that one.
func TestReplacedAtEnd(t *testing.T) {
	onSQLite(t)
	path := sqldbtest.URL(t)
	other := sqldbtest.URL(t)
	db := sqldbtest.OpenWith(t, path, sqldb.Options{})
	write(t, db, func(tx *sqldb.Tx) error { note(tx, "before", ""); return nil })
	if err := errors.Join(os.Rename(path, path+".elsewhere"), os.Rename(other, path), db.Close()); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{}, notes(t, sqldbtest.OpenWith(t, path, sqldb.Options{}))); diff != "" {
		t.Errorf("the new one (-want +got)\n%s", diff)
	}
	if diff := cmp.Diff([]string{"before"}, notes(t, sqldbtest.OpenWith(t, path+".elsewhere", sqldb.Options{}))); diff != "" {
		t.Errorf("the old one (-want +got)\n%s", diff)
	}
}

// TestLeftLog: a filled log beside a missing or an empty file is renamed for a new database, and never
// deleted. An empty log means nothing.
func TestLeftLog(t *testing.T) {
	onSQLite(t)
	for name, empty := range map[string]bool{"missing": false, "empty": true} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "a.db")
			put := func(file, text string) {
				if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			if empty {
				put(path, "")
			}
			put(path+"-wal", "")
			if err := sqldb.CheckLeftLog(path); err != nil {
				t.Errorf("an empty log: %v", err)
			}
			put(path+"-wal", "the newest sales")
			if _, err := sqldb.Open(t.Context(), path, sqldb.Options{}); !errors.Is(err, sqldb.ErrLeftLog) {
				t.Fatalf("got %v", err)
			}
			db := sqldbtest.OpenWith(t, path, sqldb.Options{NewDatabase: true})
			if _, err := db.Migrate(t.Context()); err != nil {
				t.Fatal(err)
			}
			kept, err := filepath.Glob(path + "-wal.before-*")
			if err != nil || len(kept) != 1 {
				t.Fatalf("kept %v, %v", kept, err)
			}
			if b, err := os.ReadFile(kept[0]); string(b) != "the newest sales" || err != nil {
				t.Errorf("the log has %q, %v", b, err)
			}
		})
	}
}
