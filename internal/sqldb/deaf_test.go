package sqldb_test

import (
	"bytes"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"claviger/internal/sqldb"
	"claviger/internal/sqldb/sqldbtest"
)

// TestDeafListener: if messages do not arrive, as behind a pooler in transaction mode, the listener
// is told to look all the time. It logs that once, and notices when messages arrive again.
func TestDeafListener(t *testing.T) {
	if !sqldbtest.Postgres() {
		t.Skip("SQLite has no messages")
	}
	proxy := sqldbtest.NewProxy(t, sqldbtest.URL(t))
	proxy.Deafen(true)
	var log text
	db := sqldbtest.OpenWith(t, proxy.URL, sqldb.Options{Log: slog.New(slog.NewTextHandler(&log, nil))})
	db.SetPing(300 * time.Millisecond)
	heard := listening(t, db, "channel")
	for range 20 { // two for the start of listening, the others without any message
		hear(t, heard, "")
	}
	if n := strings.Count(log.String(), "do not arrive"); n != 1 {
		t.Errorf("it is logged %d times", n)
	}
	proxy.Deafen(false)
	for late := time.Now().Add(time.Minute); !strings.Contains(log.String(), "arrive again"); time.Sleep(time.Millisecond) {
		if time.Now().After(late) {
			t.Fatal("it did not notice that messages arrive")
		}
	}
	tell(t, db, heard)
}

// tell sends a message until it is heard. A message is lost while the listener reconnects, which
// happens, and is logged, when a busy machine delays its ping.
func tell(t *testing.T, db *sqldb.DB, heard <-chan string) {
	t.Helper()
	late := time.After(time.Minute)
	for message := ""; message == ""; {
		if err := db.Notify(t.Context(), "channel", "x"); err != nil {
			t.Fatal(err)
		}
		select {
		case message = <-heard:
		case <-late:
			t.Fatal("the message was not heard")
		}
	}
}

// TestFrozenListener: a connection without traffic is replaced.
func TestFrozenListener(t *testing.T) {
	if !sqldbtest.Postgres() {
		t.Skip("SQLite has no connections")
	}
	proxy := sqldbtest.NewProxy(t, sqldbtest.URL(t))
	db := sqldbtest.OpenWith(t, proxy.URL, sqldb.Options{})
	db.SetPing(300 * time.Millisecond)
	heard := listening(t, db, "channel")
	hear(t, heard, "")
	proxy.Deafen(true) // for this connection
	hear(t, heard, "") // of the next
	proxy.Deafen(false)
	for range 3 {
		tell(t, db, heard)
	}
}

// TestStoppedListener: a listener that does not read its messages delays no one.
func TestStoppedListener(t *testing.T) {
	if !sqldbtest.Postgres() {
		t.Skip("SQLite has no messages")
	}
	url := sqldbtest.URL(t)
	conn, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.PgConn().Conn().Close() })
	if _, err := conn.Exec(t.Context(), `LISTEN channel`); err != nil {
		t.Fatal(err)
	}
	db := sqldbtest.OpenWith(t, url, sqldb.Options{})
	heard := listening(t, db, "channel")
	hear(t, heard, "")
	long := strings.Repeat("x", 7900)
	for range 20 { // 15 MB, more than the connection can hold
		messages := make([]string, 100)
		for i := range messages {
			messages[i] = long[i:]
		}
		if err := db.Notify(t.Context(), "channel", messages...); err != nil {
			t.Fatal(err)
		}
		for i := range messages {
			hear(t, heard, long[i:])
		}
	}
}

// text is a log buffer.
type text struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *text) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(b)
}

func (l *text) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}
