package sqldb_test

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"testing"
	"time"

	"claviger/internal/sqldb"
	"claviger/internal/sqldb/sqldbtest"
)

// listening listens to a channel until the test ends and returns the messages.
func listening(t *testing.T, db *sqldb.DB, channel string) <-chan string {
	t.Helper()
	heard := make(chan string, 10_000)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		if err := db.Listen(ctx, channel, func(message string) { heard <- message }); !errors.Is(err, context.Canceled) {
			t.Errorf("listening ended with %v", err)
		}
	}()
	t.Cleanup(func() { cancel(); <-ended })
	return heard
}

// hear waits for a message and skips those that only say to look.
func hear(t *testing.T, heard <-chan string, want string) {
	t.Helper()
	late := time.After(30 * time.Second)
	for {
		select {
		case message := <-heard:
			if message == want {
				return
			}
			if message != "" {
				t.Fatalf("heard %q, want %q", message, want)
			}
		case <-late:
			t.Fatalf("%q was not heard", want)
		}
	}
}

// TestListen: all listeners of a channel hear its messages.
func TestListen(t *testing.T) {
	url := sqldbtest.URL(t)
	db, other := sqldbtest.OpenWith(t, url, sqldb.Options{}), sqldbtest.OpenWith(t, url, sqldb.Options{})
	heard := listening(t, db, "some channel")
	hear(t, heard, "")
	for _, message := range []string{"1:a", "2:" + strings.Repeat("b", 7000)} {
		if err := other.Notify(t.Context(), "another", "no"); err != nil {
			t.Fatal(err)
		}
		if err := other.Notify(t.Context(), "some channel", message, message+"c"); err != nil {
			t.Fatal(err)
		}
		if sqldbtest.Postgres() {
			hear(t, heard, message)
			hear(t, heard, message+"c")
		}
	}
	if err := other.Notify(t.Context(), "some channel"); err != nil {
		t.Errorf("no message: %v", err)
	}
}

// TestListenHearsCommitsOfOthers: on SQLite, which has no messages, listeners hear commits of
// another process.
func TestListenHearsCommitsOfOthers(t *testing.T) {
	if sqldbtest.Postgres() {
		t.Skip("PostgreSQL has messages")
	}
	url := sqldbtest.URL(t)
	db, other := sqldbtest.OpenWith(t, url, sqldb.Options{}), sqldbtest.OpenWith(t, url, sqldb.Options{})
	heard := listening(t, db, "any")
	hear(t, heard, "")
	for i := range 5 {
		write(t, other, func(tx *sqldb.Tx) error { note(tx, strconv.Itoa(i), ""); return nil })
		hear(t, heard, "")
	}
}

// TestListenAfterInterruption: after its connection is ended, it listens again and reports that
// messages may have been missed.
func TestListenAfterInterruption(t *testing.T) {
	if !sqldbtest.Postgres() {
		t.Skip("SQLite has no connections that others end")
	}
	url := sqldbtest.URL(t)
	db, other := sqldbtest.OpenWith(t, url, sqldb.Options{}), sqldbtest.OpenWith(t, url, sqldb.Options{})
	heard := listening(t, db, "channel")
	hear(t, heard, "")
	endSessions(t, other, db.SessionName())
	hear(t, heard, "")
	if err := other.Notify(t.Context(), "channel", "x"); err != nil {
		t.Fatal(err)
	}
	hear(t, heard, "x")
}

// endSessions ends the connections with a name, and fails if there are none.
func endSessions(t *testing.T, db *sqldb.DB, name string) {
	t.Helper()
	r, err := db.Reserve(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close(t.Context()) //nolint:errcheck // done
	n, err := sqldb.One(t.Context(), r, sqldb.Value[int64], `SELECT `+r.EndSessions("name")+` FROM (SELECT CAST($1 AS TEXT) AS name) AS one`, name)
	if err != nil || n == 0 {
		t.Fatalf("%d connections were ended: %v", n, err)
	}
}

// TestReserve: a reserved connection works while the pool is exhausted, has the shared session
// name, and its clock is right.
func TestReserve(t *testing.T) {
	url := sqldbtest.URL(t)
	db := sqldbtest.OpenWith(t, url, sqldb.Options{Readers: 1})
	r, err := db.Reserve(t.Context())
	if !sqldbtest.Postgres() {
		if !errors.Is(err, sqldb.ErrNotShared) || db.SessionName() != "" {
			t.Errorf("SQLite reserves a connection: %v", err)
		}
		return
	}
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close(t.Context()) //nolint:errcheck // done
	err = db.Read(t.Context(), func(tx *sqldb.Tx) error {
		if _, err := sqldb.One(t.Context(), tx, sqldb.Value[int64], `SELECT 1`); err != nil { // the only one is in use
			return err
		}
		for from, reader := range map[string]sqldb.Reader{"the pool": tx, "the reserved one": r} {
			name, err := sqldb.One(t.Context(), reader, sqldb.Value[string], `SELECT current_setting('application_name')`)
			if err != nil || name != db.SessionName() || !strings.HasPrefix(name, "claviger ") {
				t.Errorf("%s is named %q, not %q: %v", from, name, db.SessionName(), err)
			}
		}
		now, err := sqldb.One(t.Context(), r, sqldb.Value[time.Time], `SELECT `+r.Clock())
		if d := time.Since(now).Abs(); d > time.Minute {
			t.Errorf("the database's clock is off by %v", d)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
	another := sqldbtest.OpenWith(t, url+"&application_name="+strings.Repeat("x", 80), sqldb.Options{})
	name, err := sqldb.One(t.Context(), another, sqldb.Value[string], `SELECT current_setting('application_name')`)
	if err != nil || name != another.SessionName() || name == db.SessionName() {
		t.Errorf("a long name becomes %q, not %q: %v", name, another.SessionName(), err)
	}
	if _, err := r.Exec(t.Context(), `SELECT nonsense`); err == nil || r.Closed() {
		t.Errorf("a mistake closes the connection, or is none: %v", err)
	}
}
