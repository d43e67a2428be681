package sqldb_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"claviger/internal/sqldb"
	"claviger/internal/sqldb/sqldbtest"
)

// TestBackup: a copy that is made while others write is whole and of one moment, has
// nothing in it that was deleted, and overwrites nothing.
func TestBackup(t *testing.T) {
	db := sqldbtest.Open(t)
	to := filepath.Join(t.TempDir(), "copy.db")
	if sqldbtest.Postgres() {
		if err := db.Backup(t.Context(), to); !errors.Is(err, sqldb.ErrNotOurs) {
			t.Errorf("got %v", err)
		}
		return
	}
	remember(t, db)
	write(t, db, func(tx *sqldb.Tx) error { tx.Queue(`DELETE FROM idempotency_keys`); return nil })
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
	err := db.Backup(t.Context(), to)
	close(done)
	writers.Wait()
	if err != nil {
		t.Fatal(err)
	}
	if found := holds(t, to, hidden); len(found) > 0 {
		t.Errorf("what was deleted is in %v", found)
	}
	copied := sqldbtest.OpenWith(t, to, sqldb.Options{MustExist: true})
	counts, err := sqldb.All(t.Context(), copied, sqldb.Value[int64], `SELECT count(*) FROM idempotency_keys GROUP BY scope`)
	if err != nil || len(counts) != 2 || counts[0] != counts[1] || counts[0] < 10 {
		t.Errorf("%v rows of each kind, %v", counts, err)
	}
	if err := db.Backup(t.Context(), to); !errors.Is(err, fs.ErrExist) {
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

// TestAdvance: ids that are drawn, and those of rows, go on higher, also in a table
// that never had a row; a second time they go on again.
func TestAdvance(t *testing.T) {
	db := sqldbtest.Open(t)
	ids := func() (drawn, row int64) {
		write(t, db, func(tx *sqldb.Tx) error {
			got, err := sqldb.NextIDs(tx, "event_ids", 1).One(t.Context())
			if err != nil {
				return err
			}
			drawn = got
			row, err = sqldb.One(t.Context(), tx, sqldb.Value[int64], `INSERT INTO webhook_responses
				(event_id, request_header, response_status, response_body, response_time, url, success, created_at, updated_at)
				VALUES (1, '', 0, '', 0, '', $1, 0, 0) RETURNING id`, true)
			return err
		})
		return drawn, row
	}
	if err := db.Advance(t.Context(), 1000); err != nil {
		t.Fatal(err)
	}
	drawn, row := ids()
	if drawn != 1001 || row != 1001 {
		t.Errorf("the first ids are %d and %d", drawn, row)
	}
	if err := db.Advance(t.Context(), 1000); err != nil {
		t.Fatal(err)
	}
	if drawn, row := ids(); drawn != 2002 || row != 2002 {
		t.Errorf("the next ids are %d and %d", drawn, row)
	}
}
