//go:build unix

package sqldb_test

import (
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"claviger/internal/sqldb"
	"claviger/internal/sqldb/sqldbtest"
)

// generous sets a umask that lets everyone read new files until the test ends.
func generous(t *testing.T) {
	t.Helper()
	before := syscall.Umask(0)
	t.Cleanup(func() { syscall.Umask(before) })
}

// use makes a database create all of its files: it writes, reads on another connection and takes
// the lock.
func use(t *testing.T, db *sqldb.DB) {
	t.Helper()
	if _, err := db.Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	write(t, db, func(tx *sqldb.Tx) error { note(tx, t.Name(), "secret"); return nil })
	notes(t, db)
	if _, err := db.AcquireExclusive(t.Context(), func() {}); err != nil {
		t.Fatal(err)
	}
}

// modes returns the mode of each file in a folder.
func modes(t *testing.T, dir string) map[string]fs.FileMode {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]fs.FileMode{}
	for _, e := range entries {
		info, err := e.Info()
		if err != nil {
			t.Fatal(err)
		}
		got[e.Name()] = info.Mode()
	}
	return got
}

var private = map[string]fs.FileMode{"a.db": 0o600, "a.db-wal": 0o600, "a.db-shm": 0o600, "a.db-sole": 0o600, "a.db-sole-journal": 0o600}

// TestFilesAreTheOwners: no file beside the database is open to others: new, created again, or left
// open by an older version.
func TestFilesAreTheOwners(t *testing.T) {
	if sqldbtest.Postgres() {
		t.Skip("it is about SQLite's files")
	}
	generous(t)
	for name, before := range map[string]func(t *testing.T, path string){
		"made": func(*testing.T, string) {},
		"made again": func(t *testing.T, path string) {
			t.Helper()
			use(t, sqldbtest.OpenWith(t, path, sqldb.Options{}))
		},
		"left to others": func(t *testing.T, path string) {
			t.Helper()
			for name := range maps.Keys(private) {
				if err := os.WriteFile(filepath.Join(filepath.Dir(path), name), nil, 0o666); err != nil {
					t.Fatal(err)
				}
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "a.db")
			t.Run("before", func(t *testing.T) { before(t, path) })
			db := sqldbtest.OpenWith(t, path, sqldb.Options{})
			use(t, db)
			if diff := cmp.Diff(private, modes(t, filepath.Dir(path))); diff != "" {
				t.Errorf("files and modes (-want +got)\n%s", diff)
			}
		})
	}
}
