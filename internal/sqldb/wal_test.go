package sqldb_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"claviger/internal/sqldb"
	"claviger/internal/sqldb/sqldbtest"
)

// Acknowledged writes are in the files, below and above the memory limit. A crash is a copy of the
// files at that moment.
func TestAcknowledgedIsInTheFiles(t *testing.T) {
	if sqldbtest.Postgres() {
		t.Skip("it is about SQLite's files")
	}
	for name, size := range map[string]int{"little": 10, "more than memory holds": 1 << 20} {
		t.Run(name, func(t *testing.T) {
			at := sqldbtest.URL(t)
			db := sqldbtest.OpenWith(t, at, sqldb.Options{})
			const rows = 20
			want := []string{}
			for i := range rows {
				want = append(want, fmt.Sprintf("%02d", i))
			}
			write(t, db, func(tx *sqldb.Tx) error { // the first write to a log is special in SQLite
				note(tx, "", "")
				return nil
			})
			write(t, db, func(tx *sqldb.Tx) error {
				for _, key := range want {
					note(tx, key, strings.Repeat(key, size/2))
				}
				n, err := sqldb.One(t.Context(), tx, sqldb.Value[int64], `SELECT sum(length(outcome)) FROM idempotency_keys`)
				if n != int64(rows*size) {
					t.Errorf("the transaction reads %d characters, want %d", n, rows*size)
				}
				return err
			})
			want = append([]string{""}, want...)
			copied := filepath.Join(t.TempDir(), "copy.db")
			for _, end := range []string{"", "-wal"} {
				b, err := os.ReadFile(at + end)
				if err == nil {
					err = os.WriteFile(copied+end, b, 0o600)
				}
				if err != nil {
					t.Fatal(err)
				}
			}
			if diff := cmp.Diff(want, notes(t, sqldbtest.OpenWith(t, copied, sqldb.Options{}))); diff != "" {
				t.Errorf("the copy (-want +got)\n%s", diff)
			}
			if diff := cmp.Diff(want, notes(t, db)); diff != "" {
				t.Errorf("another connection (-want +got)\n%s", diff)
			}
		})
	}
}

func TestFilesOfAnyName(t *testing.T) {
	if sqldbtest.Postgres() {
		t.Skip("it is about SQLite's files")
	}
	for _, name := range []string{"a b.db", "a%41.db", "a?vfs=none", "a#b.db", "file:x.db"} {
		path := filepath.Join(t.TempDir(), name)
		db := sqldbtest.OpenWith(t, path, sqldb.Options{})
		if _, err := db.Migrate(t.Context()); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		write(t, db, func(tx *sqldb.Tx) error {
			note(tx, "a", "")
			return nil
		})
		if diff := cmp.Diff([]string{"a"}, notes(t, db)); diff != "" {
			t.Errorf("%s (-want +got)\n%s", name, diff)
		}
		if _, err := os.Stat(path + "-wal"); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}
