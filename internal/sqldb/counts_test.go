package sqldb_test

import (
	"errors"
	"os"
	"strconv"
	"sync"
	"testing"

	"claviger/internal/sqldb"
	"claviger/internal/sqldb/sqldbtest"
)

// TestCounts: stored transactions count and failed ones do not. On SQLite, transactions that wait
// during a write share a commit.
func TestCounts(t *testing.T) {
	db := sqldbtest.Open(t)
	counts := func(wantTransactions, leastCommits, mostCommits int64, do func()) {
		t.Helper()
		transactions, commits := db.Counts()
		do()
		t2, c2 := db.Counts()
		if t2-transactions != wantTransactions || c2-commits < leastCommits || c2-commits > mostCommits {
			t.Errorf("%d transactions in %d commits, want %d in %d to %d", t2-transactions, c2-commits, wantTransactions, leastCommits, mostCommits)
		}
	}
	counts(2, 2, 2, func() {
		for _, key := range []string{"a", "b"} {
			write(t, db, func(tx *sqldb.Tx) error { note(tx, key, ""); return nil })
		}
		if err := db.Write(t.Context(), func(*sqldb.Tx) error { return errors.New("refused") }); err == nil {
			t.Error("a refused transaction was written")
		}
	})
	const many = 100
	least, most := int64(1), int64(many)
	if os.Getenv(sqldbtest.Variable) != "" { // each has its own
		least, most = many+1, many+1
	}
	counts(many+1, least, most, func() {
		var all, waiting sync.WaitGroup
		waiting.Add(many)
		begun := make(chan struct{})
		first := sync.OnceFunc(func() { close(begun) })
		all.Go(func() {
			write(t, db, func(tx *sqldb.Tx) error {
				first()
				waiting.Wait()
				return nil
			})
		})
		<-begun
		for i := range many {
			all.Go(func() {
				waiting.Done()
				write(t, db, func(tx *sqldb.Tx) error { note(tx, strconv.Itoa(i), ""); return nil })
			})
		}
		all.Wait()
	})
}
