package sqldb_test

import (
	"fmt"
	"log/slog"
	"os"
	"strings"
	"sync"
	"testing"

	"claviger/internal/sqldb"
	"claviger/internal/sqldb/sqldbtest"
)

// overwrite writes size bytes over those of a key.
func overwrite(t *testing.T, db *sqldb.DB, key string, size int) {
	t.Helper()
	write(t, db, func(tx *sqldb.Tx) error {
		tx.Queue(`UPDATE idempotency_keys SET outcome = $1 WHERE key = $2`, strings.Repeat("x", size), key)
		return nil
	})
}

func logSize(t *testing.T, path string) int64 {
	t.Helper()
	info, err := os.Stat(path + "-wal")
	if err != nil {
		t.Fatal(err)
	}
	return info.Size()
}

// bounded opens a database on a disk with 16 MB free, of which the log may use 2 MB.
func bounded(t *testing.T) (db *sqldb.DB, path string) {
	t.Helper()
	onSQLite(t)
	path = sqldbtest.URL(t)
	db = sqldbtest.OpenWith(t, path, sqldb.Options{Readers: 4})
	write(t, db, func(tx *sqldb.Tx) error { note(tx, "a", ""); return nil })
	db.SetDisk(16 << 20)
	return db, path
}

// TestLogIsBounded: however much is written, the log has its limit and one transaction.
func TestLogIsBounded(t *testing.T) {
	db, path := bounded(t)
	for i := range 100 { // 12 MB
		overwrite(t, db, "a", 128<<10+i)
		if n := logSize(t, path); n > 9<<18 {
			t.Fatalf("the log grew to %d bytes", n)
		}
	}
}

// TestLogIsBoundedBesideReaders: readers of which one always has a snapshot do not keep the log from
// beginning again.
func TestLogIsBoundedBesideReaders(t *testing.T) {
	db, path := bounded(t)
	read := func(begun chan<- struct{}, end <-chan struct{}) {
		_ = db.Read(t.Context(), func(tx *sqldb.Tx) error {
			_, err := sqldb.One(t.Context(), tx, sqldb.Value[int64], `SELECT count(*) FROM idempotency_keys`)
			close(begun)
			<-end
			return err
		})
	}
	var reading, chain sync.WaitGroup
	ended := make(chan struct{})
	chain.Go(func() { // each reader ends after the next one has begun
		last := make(chan struct{})
		for {
			begun, end := make(chan struct{}), make(chan struct{})
			reading.Go(func() { read(begun, end) })
			<-begun
			close(last)
			last = end
			select {
			case <-ended:
				close(last)
				return
			default:
			}
		}
	})
	most := int64(0)
	for i := range 200 { // 25 MB
		overwrite(t, db, "a", 128<<10+i)
		most = max(most, logSize(t, path))
	}
	close(ended)
	chain.Wait()
	reading.Wait()
	if most > 12<<20 { // a slow machine needs a few tries
		t.Errorf("the log grew to %d bytes", most)
	}
}

// TestLogShrinks: the log grows while a reader needs it, the writer says so and does not wait for it,
// and the file shrinks to the limit afterwards.
func TestLogShrinks(t *testing.T) {
	onSQLite(t)
	path := sqldbtest.URL(t)
	told := &lines{seen: make(chan string, 10)}
	db := sqldbtest.OpenWith(t, path, sqldb.Options{Readers: 4, Log: slog.New(slog.NewTextHandler(told, nil))})
	db.SetDisk(0) // the limit is 1 MB
	write(t, db, func(tx *sqldb.Tx) error { note(tx, "a", ""); return nil })
	err := db.Read(t.Context(), func(tx *sqldb.Tx) error {
		before, err := sqldb.One(t.Context(), tx, sqldb.Value[string], `SELECT outcome FROM idempotency_keys`)
		for i := range 16 {
			overwrite(t, db, "a", 256<<10+i)
		}
		if line := <-told.seen; !strings.Contains(line, "the database's log grows") {
			t.Errorf("logged %s", line)
		}
		if n := logSize(t, path); n < 3<<20 {
			t.Errorf("the log has %d bytes although a reader needs it", n)
		}
		after, again := sqldb.One(t.Context(), tx, sqldb.Value[string], `SELECT outcome FROM idempotency_keys`)
		if before != after || again != nil {
			t.Errorf("the snapshot changed, %v", again)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for i := range 16 {
		overwrite(t, db, "a", 256<<10+i)
	}
	if n := logSize(t, path); n > 2<<20 {
		t.Errorf("the log still has %d bytes", n)
	}
}

func TestLogLimit(t *testing.T) {
	for free, want := range map[int64]int{0: 256, 1 << 20: 256, 24 << 20: 768, 256 << 20: 8192, 1 << 40: 16000} {
		if got := sqldb.LogLimit(free); got != want {
			t.Errorf("with %s free the limit is %d pages, want %d", fmt.Sprint(free), got, want)
		}
	}
}
