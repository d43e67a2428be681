package backup

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"claviger/internal/sqldb"
)

// TestWithSpace: an error on a disk that is too small names the space, and no other error does.
func TestWithSpace(t *testing.T) {
	from := filepath.Join(t.TempDir(), "claviger.db")
	f, err := os.Create(from) //nolint:gosec // a file of this test
	if err == nil {
		err = errors.Join(f.Truncate(400<<20), f.Close())
	}
	if err != nil {
		t.Fatal(err)
	}
	failed := errors.New("disk I/O error")
	for free, want := range map[int64]string{
		20 << 20:  "20 MB were free in /backups, and the database has 400 MB: disk I/O error",
		400 << 20: "disk I/O error",
	} {
		if got := withSpace(failed, sqldb.Disk{Free: free}, from, "/backups/a.db"); got.Error() != want || !errors.Is(got, failed) {
			t.Errorf("with %d bytes free: %v, want %q", free, got, want)
		}
	}
}
