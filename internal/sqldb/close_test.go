package sqldb_test

import (
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"claviger/internal/sqldb"
	"claviger/internal/sqldb/sqldbtest"
)

// TestCloseTwice: several goroutines may close a database at the same time.
func TestCloseTwice(t *testing.T) {
	url := sqldbtest.URL(t)
	for range 20 {
		db := sqldbtest.OpenWith(t, url, sqldb.Options{})
		var closing sync.WaitGroup
		var begin atomic.Bool
		for range 4 {
			closing.Go(func() {
				for !begin.Load() {
					continue // begin only after all are running
				}
				if err := db.Close(); err != nil {
					t.Errorf("closed by several: %v", err)
				}
			})
		}
		begin.Store(true)
		closing.Wait()
	}
}

// TestCloseWaitsTwice: each Close returns after the running writes are stored, even if another
// Close is already waiting.
func TestCloseWaitsTwice(t *testing.T) {
	if sqldbtest.Postgres() {
		t.Skip("the test sees by a refused read that a database is being closed, which PostgreSQL does not promise")
	}
	db := sqldbtest.OpenWith(t, sqldbtest.URL(t), sqldb.Options{})
	begun := make(chan struct{})
	returned := make(chan struct{})
	var early bool
	var writing, first sync.WaitGroup
	writing.Go(func() {
		write(t, db, func(*sqldb.Tx) error {
			close(begun)
			select {
			case <-returned:
				early = true
			case <-time.After(200 * time.Millisecond): // longer only finds more
			}
			return nil
		})
	})
	<-begun
	first.Go(func() { _ = db.Close() })
	for !errors.Is(db.Ping(t.Context()), sqldb.ErrClosed) {
		continue // the first Close has not begun
	}
	if err := db.Close(); err != nil {
		t.Error(err)
	}
	close(returned)
	writing.Wait()
	first.Wait()
	if early {
		t.Error("the second Close returned while a write was under way")
	}
}
