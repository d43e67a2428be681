package mail_test

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"claviger/internal/mail"
	"claviger/internal/prune"
	"claviger/internal/secret"
	"claviger/internal/sqldb"
	"claviger/internal/sqldb/sqldbtest"
)

var (
	noon   = time.Date(2026, 3, 4, 12, 0, 0, 0, time.UTC)
	box    = newBox(0)
	outbox = &mail.Outbox{Sealer: box}

	// visible ignores unexported fields in comparisons.
	visible = cmpopts.IgnoreUnexported(mail.Record{}, mail.Outgoing{})
)

// newBox returns a sealer with a key of one repeated byte.
func newBox(b byte) *secret.Sealer {
	box, err := secret.NewSealer(bytes.Repeat([]byte{b}, secret.KeySize))
	if err != nil {
		panic(err)
	}
	return box
}

// clock is a time set by the test.
type clock struct{ now time.Time }

func (c *clock) Now() time.Time { return c.now }

func message(n int) mail.Message {
	return mail.Message{
		Cause: fmt.Sprintf("test:%d", n), Thread: "test", To: fmt.Sprintf("ann%d@example.com", n),
		Subject: "Hello", Text: "Good day.\n", HTML: "<p>Good day.</p>\n",
	}
}

func put(t *testing.T, db *sqldb.DB, at time.Time, messages ...mail.Message) {
	t.Helper()
	err := db.Write(t.Context(), func(tx *sqldb.Tx) error {
		for _, m := range messages {
			outbox.Put(tx, m, at)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// records returns the emails, oldest first.
func records(t *testing.T, db *sqldb.DB) []mail.Record {
	t.Helper()
	list, err := outbox.Recent(t.Context(), db, 1000)
	if err != nil {
		t.Fatal(err)
	}
	for i, j := 0, len(list)-1; i < j; i, j = i+1, j-1 {
		list[i], list[j] = list[j], list[i]
	}
	return list
}

func record(t *testing.T, db *sqldb.DB) mail.Record {
	t.Helper()
	list := records(t, db)
	if len(list) != 1 {
		t.Fatalf("there are %d mails, want 1", len(list))
	}
	return list[0]
}

// once runs a round and checks the number of emails it took.
func once(t *testing.T, s *mail.Sender, want int) {
	t.Helper()
	if n, err := s.Once(t.Context()); n != want || err != nil {
		t.Fatalf("a round took %d mails, %v; want %d", n, err, want)
	}
}

// quiet discards the log.
var quiet = slog.New(slog.DiscardHandler)

func TestPut(t *testing.T) {
	db := sqldbtest.Open(t)
	first := message(1)
	put(t, db, noon, first, first)
	again := first
	again.Subject = "Something else"
	put(t, db, noon.Add(time.Hour), again)
	got := record(t, db)
	want := mail.Record{ID: got.ID, Message: first, State: mail.Waiting, DueAt: noon, CreatedAt: noon}
	if diff := cmp.Diff(want, got, visible); diff != "" {
		t.Errorf("the same cause put in three times (-want +got):\n%s", diff)
	}
	undone := errors.New("undone")
	err := db.Write(t.Context(), func(tx *sqldb.Tx) error {
		outbox.Put(tx, message(2), noon)
		return undone
	})
	if !errors.Is(err, undone) || len(records(t, db)) != 1 {
		t.Errorf("a transaction that failed (%v) left %d mails, want 1", err, len(records(t, db)))
	}
}

func TestPutCleans(t *testing.T) {
	db := sqldbtest.Open(t)
	put(t, db, noon, mail.Message{
		Cause: "bytes", To: "ann@example.com", Subject: "one\r\nBcc: eve@example.com\ttwo", Text: "a\x00b\xffc", HTML: "\x00",
	})
	got := record(t, db)
	if got.Subject != "one Bcc: eve@example.com two" || got.Text != "ab\uFFFDc" || got.HTML != "" {
		t.Errorf("kept subject %q, text %q, HTML %q", got.Subject, got.Text, got.HTML)
	}
}

func TestDelay(t *testing.T) {
	for attempt, base := range mail.Schedule {
		var least, most time.Duration
		for id := range int64(200) {
			got, ok := mail.Delay(mail.Schedule, id, attempt+1)
			if again, _ := mail.Delay(mail.Schedule, id, attempt+1); !ok || again != got {
				t.Fatalf("attempt %d of mail %d: %v and %v, %v", attempt+1, id, got, again, ok)
			}
			if got < base*9/10 || got > base*11/10 {
				t.Errorf("attempt %d of mail %d waits %v, want %v and a tenth", attempt+1, id, got, base)
			}
			if id == 0 {
				least, most = got, got
			}
			least, most = min(least, got), max(most, got)
		}
		if most-least < base/10 {
			t.Errorf("attempt %d: all wait between %v and %v; they come back together", attempt+1, least, most)
		}
	}
	for _, attempt := range []int{-1, 0, len(mail.Schedule) + 1, 1 << 40} {
		if d, ok := mail.Delay(mail.Schedule, 1, attempt); ok {
			t.Errorf("attempt %d waits %v, want none left", attempt, d)
		}
	}
}

func TestForget(t *testing.T) {
	db, c := sqldbtest.Open(t), &clock{now: noon}
	put(t, db, noon, message(1), message(2))
	folder := mail.Folder{Dir: t.TempDir(), From: from}
	s := &mail.Sender{DB: db, Sealer: box, Now: c.Now, Transport: folder, Log: quiet}
	once(t, s, 2)
	put(t, db, noon, message(3)) // never sent
	c.now = noon.Add(mail.Kept)
	put(t, db, c.now, message(4))
	once(t, &mail.Sender{DB: db, Sealer: box, Now: c.Now, Transport: mail.Nowhere{}, Log: quiet, Batch: 1}, 1)
	if n, err := prune.Rows(t.Context(), db, c.Now(), mail.Expiring()); n != 0 || err != nil {
		t.Fatalf("forgot %d, %v; none is old enough", n, err)
	}
	c.now = c.now.Add(time.Second)
	put(t, db, noon, message(5)) // old, and still waiting
	if n, err := prune.Rows(t.Context(), db, c.Now(), mail.Expiring()); n != 3 || err != nil {
		t.Fatalf("forgot %d, %v; want the three that were sent or given up", n, err)
	}
	var left []string
	for _, r := range records(t, db) {
		left = append(left, r.Cause+" "+r.State.String())
	}
	if got := strings.Join(left, ", "); got != "test:4 waiting, test:5 waiting" {
		t.Errorf("left: %s", got)
	}
}
