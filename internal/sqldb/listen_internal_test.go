package sqldb

import (
	"context"
	"log/slog"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// TestDataVersion: it changes with each commit of another process, and not with our own.
func TestDataVersion(t *testing.T) {
	path := filepath.Join(t.TempDir(), "test.db")
	var dbs [2]*DB
	for i := range dbs {
		e, err := openSQLite(t.Context(), path, Options{Log: slog.New(slog.DiscardHandler)})
		if err != nil {
			t.Fatal(err)
		}
		dbs[i] = &DB{engine: e}
		defer dbs[i].Close() //nolint:errcheck // end of the test
	}
	version := func() int64 {
		v, err := dbs[0].engine.(*sqlite).dataVersion(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
	exec := func(db *DB, sql string) {
		if err := db.Write(t.Context(), func(tx *Tx) error { _, err := tx.Exec(t.Context(), sql); return err }); err != nil {
			t.Fatal(err)
		}
	}
	exec(dbs[0], `CREATE TABLE things (n INTEGER)`)
	for range 3 {
		before := version()
		exec(dbs[0], `INSERT INTO things VALUES (1)`)
		if version() != before {
			t.Error("it moves with a commit of our own")
		}
		exec(dbs[1], `INSERT INTO things VALUES (2)`)
		if version() == before {
			t.Error("it does not move with another's commit")
		}
	}
}

// TestPeekOnce: one goroutine checks the file for any number of listeners, not often, and stops
// with the last one. All hear a commit of another process within a second.
func TestPeekOnce(t *testing.T) {
	if peekEvery > 3*time.Second/4 || peekEvery < 100*time.Millisecond {
		t.Errorf("the file is asked every %v: a commit must be heard within a second, and an idle process sleep", peekEvery)
	}
	path := filepath.Join(t.TempDir(), "test.db")
	var asked atomic.Int64
	db, other := openPeeked(t, path, &asked), openPeeked(t, path, nil)
	exec(t, other, `CREATE TABLE things (n INTEGER)`)
	ctx, stop := context.WithCancel(t.Context())
	var listening sync.WaitGroup
	var heard []chan string
	for range 5 {
		hear := make(chan string, 1000)
		heard = append(heard, hear)
		listening.Go(func() { _ = db.Listen(ctx, "any", func(m string) { hear <- m }) })
		<-hear
	}
	begun, before := time.Now(), asked.Load()
	for range 4 {
		for _, hear := range heard {
			for len(hear) > 0 {
				<-hear
			}
		}
		exec(t, other, `INSERT INTO things VALUES (1)`)
		for _, hear := range heard {
			<-hear
		}
	}
	took := time.Since(begun)
	if n, most := asked.Load()-before, int64(took/peekEvery)+2; n > most {
		t.Errorf("the file was asked %d times in %v, want at most %d", n, took, most)
	}
	stop()
	listening.Wait()
	l := db.engine.(*sqlite)
	l.peeker.mu.Lock()
	defer l.peeker.mu.Unlock()
	if l.peeker.stop != nil || len(l.peeker.hears) != 0 {
		t.Error("the file is asked although nobody listens")
	}
}

// openPeeked opens a database and counts its checks for commits of others.
func openPeeked(t *testing.T, path string, asked *atomic.Int64) *DB {
	t.Helper()
	e, err := openSQLite(t.Context(), path, Options{Log: slog.New(slog.DiscardHandler), Cut: func(sql string) error {
		if asked != nil && strings.Contains(sql, "data_version") {
			asked.Add(1)
		}
		return nil
	}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = e.close() })
	return &DB{engine: e}
}

func exec(t *testing.T, db *DB, sql string) {
	t.Helper()
	if err := db.Write(t.Context(), func(tx *Tx) error { _, err := tx.Exec(t.Context(), sql); return err }); err != nil {
		t.Fatal(err)
	}
}
