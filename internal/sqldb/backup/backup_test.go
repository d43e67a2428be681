package backup_test

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"claviger/internal/sqldb"
	"claviger/internal/sqldb/backup"
	"claviger/internal/sqldb/sqldbtest"
)

// TestBackup: a copy made during writes is complete and consistent, contains no deleted data, and
// overwrites nothing.
func TestBackup(t *testing.T) {
	db := sqldbtest.Open(t)
	to := filepath.Join(t.TempDir(), "copy.db")
	if sqldbtest.Postgres() {
		if err := backup.Write(t.Context(), db, to); !errors.Is(err, backup.ErrNotOurs) {
			t.Errorf("got %v", err)
		}
		return
	}
	const hidden = "somebody-who-wants-to-be-gone"
	for _, sql := range []string{
		`INSERT INTO idempotency_keys (scope, key, request, outcome, created_at) VALUES ('', '', '', '` + hidden + `', 1)`,
		`DELETE FROM idempotency_keys`,
	} {
		if err := db.Write(t.Context(), func(tx *sqldb.Tx) error { tx.Queue(sql); return nil }); err != nil {
			t.Fatal(err)
		}
	}
	var writers sync.WaitGroup
	began, done := make(chan struct{}), make(chan struct{})
	writers.Go(func() { // pairs of rows, each pair in one transaction
		for i := 0; ; i++ {
			err := db.Write(t.Context(), func(tx *sqldb.Tx) error {
				for _, scope := range []string{"left", "right"} {
					tx.Queue(`INSERT INTO idempotency_keys (scope, key, request, outcome, created_at) VALUES ($1, $2, '', '', 1)`, scope, strconv.Itoa(i))
				}
				return nil
			})
			if err != nil {
				t.Error(err)
			}
			if i == 10 {
				close(began)
			}
			select {
			case <-done:
				return
			default:
			}
		}
	})
	<-began
	err := backup.Write(t.Context(), db, to)
	close(done)
	writers.Wait()
	if err != nil {
		t.Fatal(err)
	}
	if b, err := os.ReadFile(to); err != nil || bytes.Contains(b, []byte(hidden)) { //nolint:gosec // the path is ours
		t.Errorf("the deleted row is in the backup, %v", err)
	}
	copied := sqldbtest.OpenWith(t, to, sqldb.Options{MustExist: true})
	counts, err := sqldb.All(t.Context(), copied, sqldb.Value[int64], `SELECT count(*) FROM idempotency_keys GROUP BY scope`)
	if err != nil || len(counts) != 2 || counts[0] != counts[1] || counts[0] < 10 {
		t.Errorf("%v rows of each kind, %v", counts, err)
	}
	if err := backup.Write(t.Context(), db, to); !errors.Is(err, fs.ErrExist) {
		t.Errorf("a second backup to the same file: %v", err)
	}
	left, err := os.ReadDir(filepath.Dir(to))
	names := map[string]bool{}
	for _, e := range left {
		names[e.Name()] = true
	}
	if diff := cmp.Diff(map[string]bool{"copy.db": true, "copy.db-wal": true, "copy.db-shm": true}, names); diff != "" || err != nil {
		t.Errorf("left behind: %v (-want +got)\n%s", err, diff)
	}
}
