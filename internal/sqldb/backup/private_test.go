//go:build unix

package backup_test

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"claviger/internal/sqldb"
	"claviger/internal/sqldb/backup"
	"claviger/internal/sqldb/sqldbtest"
)

// TestBackupIsTheOwners: a backup is as secret as the database, with any umask.
func TestBackupIsTheOwners(t *testing.T) {
	if sqldbtest.Postgres() {
		t.Skip("it is about SQLite's files")
	}
	before := syscall.Umask(0)
	t.Cleanup(func() { syscall.Umask(before) })
	path := filepath.Join(t.TempDir(), "copy.db")
	if err := backup.Write(t.Context(), sqldbtest.OpenWith(t, sqldbtest.URL(t), sqldb.Options{}), path); err != nil {
		t.Fatal(err)
	}
	files, err := os.ReadDir(filepath.Dir(path))
	if err != nil || len(files) != 1 {
		t.Fatalf("files: %v, %v", files, err)
	}
	if info, err := files[0].Info(); err != nil || info.Mode() != 0o600 {
		t.Errorf("the mode is %v, %v", info.Mode(), err)
	}
}
