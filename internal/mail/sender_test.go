package mail_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"claviger/internal/mail"
	"claviger/internal/sqldb"
	"claviger/internal/sqldb/sqldbtest"
)

// post is a transport controlled by the test.
type post struct {
	send func(context.Context, mail.Outgoing) (bool, error) // nil: accepts it

	lock sync.Mutex
	got  []mail.Outgoing
}

func (p *post) Send(ctx context.Context, o mail.Outgoing) (bool, error) {
	p.lock.Lock()
	p.got = append(p.got, o)
	p.lock.Unlock()
	if p.send == nil {
		return false, nil
	}
	return p.send(ctx, o)
}

func (p *post) causes() []string {
	p.lock.Lock()
	defer p.lock.Unlock()
	var causes []string
	for _, o := range p.got {
		causes = append(causes, o.Cause)
	}
	return causes
}

func TestSend(t *testing.T) {
	db, c, p := sqldbtest.Open(t), &clock{now: noon}, &post{}
	s := &mail.Sender{DB: db, Sealer: box, Now: c.Now, Transport: p, Log: quiet}
	once(t, s, 0)
	put(t, db, noon, message(1))
	put(t, db, noon.Add(time.Hour), message(2))
	once(t, s, 1)
	once(t, s, 0)
	c.now = noon.Add(time.Hour)
	once(t, s, 1)
	once(t, s, 0)
	list := records(t, db)
	want := []mail.Outgoing{
		{ID: list[0].ID, Message: message(1), At: noon, Attempt: 1},
		{ID: list[1].ID, Message: message(2), At: c.now, Attempt: 1},
	}
	if diff := cmp.Diff(want, p.got, visible); diff != "" {
		t.Errorf("sent (-want +got):\n%s", diff)
	}
	if got := list[0]; got.State != mail.Sent || !got.SentAt.Equal(noon) || got.Attempts != 1 || got.Error != "" {
		t.Errorf("the record is %+v", got)
	}
}

func TestRetry(t *testing.T) {
	var logged bytes.Buffer
	away := errors.New("the server is away")
	db, c := sqldbtest.Open(t), &clock{now: noon}
	p := &post{send: func(context.Context, mail.Outgoing) (bool, error) { return true, away }}
	s := &mail.Sender{DB: db, Sealer: box, Now: c.Now, Transport: p, Log: slog.New(slog.NewTextHandler(&logged, nil))}
	put(t, db, noon, message(1))
	for attempt := 1; ; attempt++ {
		once(t, s, 1)
		got := record(t, db)
		if got.Attempts != attempt || got.Error != away.Error() {
			t.Fatalf("after attempt %d: %+v", attempt, got)
		}
		wait, left := mail.Delay(mail.Schedule, got.ID, attempt)
		if !left {
			if got.State != mail.GivenUp || attempt != len(mail.Schedule)+1 {
				t.Errorf("after attempt %d, with none left: %+v", attempt, got)
			}
			break
		}
		if got.State != mail.Waiting || !got.DueAt.Equal(c.now.Add(wait)) {
			t.Fatalf("after attempt %d: %v, due %v; want it due in %v", attempt, got.State, got.DueAt, wait)
		}
		c.now = got.DueAt.Add(-time.Microsecond)
		once(t, s, 0)
		c.now = got.DueAt
	}
	c.now = c.now.Add(1000 * time.Hour)
	once(t, s, 0)
	if n := strings.Count(logged.String(), "\n"); n != len(mail.Schedule)+1 || !strings.Contains(logged.String(), "mail given up") ||
		strings.Contains(logged.String(), "@") {
		t.Errorf("logged, one line for each attempt and no address:\n%s", logged.String())
	}
}

func TestGiveUp(t *testing.T) {
	db, c := sqldbtest.Open(t), &clock{now: noon}
	p := &post{send: func(context.Context, mail.Outgoing) (bool, error) {
		return false, errors.New("no such user\x00" + strings.Repeat("ü", 1000))
	}}
	s := &mail.Sender{DB: db, Sealer: box, Now: c.Now, Transport: p, Log: quiet}
	put(t, db, noon, message(1))
	once(t, s, 1)
	once(t, s, 0)
	got := record(t, db)
	if got.State != mail.GivenUp || got.Attempts != 1 || !strings.HasPrefix(got.Error, "no such user") || len([]rune(got.Error)) > 501 {
		t.Errorf("the record is %+v", got)
	}
}

func TestNotConfigured(t *testing.T) {
	db := sqldbtest.Open(t)
	put(t, db, noon, message(1), message(2))
	var logged bytes.Buffer
	once(t, &mail.Sender{DB: db, Sealer: box, Now: (&clock{now: noon}).Now, Log: slog.New(slog.NewTextHandler(&logged, nil))}, 2)
	for _, r := range records(t, db) {
		if r.State != mail.GivenUp || !strings.Contains(r.Error, "mail is not configured") {
			t.Errorf("the record is %+v", r)
		}
	}
	if n := strings.Count(logged.String(), "smtp-url"); n != 2 {
		t.Errorf("%d lines say what to set, want one for each mail:\n%s", n, logged.String())
	}
}

// TestTwoNodes: several nodes compete for the same emails, and each is sent once.
func TestTwoNodes(t *testing.T) {
	const mails, nodes = 300, 4
	at, c, p := sqldbtest.URL(t), &clock{now: noon}, &post{}
	dbs := make([]*sqldb.DB, nodes)
	for i := range dbs {
		dbs[i] = sqldbtest.OpenWith(t, at, sqldb.Options{})
	}
	for i := range mails {
		put(t, dbs[0], noon, message(i))
	}
	var wait sync.WaitGroup
	for _, db := range dbs {
		wait.Go(func() {
			s := &mail.Sender{DB: db, Sealer: box, Now: c.Now, Transport: p, Log: quiet, Batch: 3}
			for idle := 0; idle < 3; idle++ {
				n, err := s.Once(t.Context())
				if err != nil {
					t.Errorf("a round: %v", err)
					return
				}
				if n > 0 {
					idle = 0
				}
			}
		})
	}
	wait.Wait()
	causes := p.causes()
	slices.Sort(causes)
	if n := len(slices.Compact(slices.Clone(causes))); n != mails || len(causes) != mails {
		t.Errorf("%d mails were sent %d times in all, want %d mails once each", n, len(causes), mails)
	}
	for _, r := range records(t, dbs[0]) {
		if r.State != mail.Sent || r.Attempts != 1 {
			t.Errorf("%s is %s after %d attempts", r.Cause, r.State, r.Attempts)
		}
	}
}

// TestDeadNode: another node sends the email of a vanished node, once its lease is over; a later
// result of the first node is ignored.
func TestDeadNode(t *testing.T) {
	db, c := sqldbtest.Open(t), &clock{now: noon}
	put(t, db, noon, message(1))
	other := &post{}
	healthy := &mail.Sender{DB: db, Sealer: box, Now: c.Now, Transport: other, Log: quiet}
	stuck := &post{send: func(context.Context, mail.Outgoing) (bool, error) {
		once(t, healthy, 0)
		c.now = c.now.Add(10*time.Minute - time.Microsecond)
		once(t, healthy, 0)
		c.now = c.now.Add(time.Microsecond)
		once(t, healthy, 1)
		return true, errors.New("too late")
	}}
	once(t, &mail.Sender{DB: db, Sealer: box, Now: c.Now, Transport: stuck, Log: quiet}, 1)
	if got := record(t, db); got.State != mail.Sent || got.Attempts != 1 || got.Error != "" || len(other.got) != 1 {
		t.Errorf("the record is %+v; the other node sent %d", got, len(other.got))
	}
}

// TestSlowBatch: emails that might outlast their lease are handed back untried.
func TestSlowBatch(t *testing.T) {
	db, c := sqldbtest.Open(t), &clock{now: noon}
	p := &post{send: func(context.Context, mail.Outgoing) (bool, error) {
		c.now = c.now.Add(4 * time.Minute)
		return false, nil
	}}
	put(t, db, noon, message(1), message(2), message(3), message(4), message(5))
	s := &mail.Sender{DB: db, Sealer: box, Now: c.Now, Transport: p, Log: quiet}
	once(t, s, 5)
	if got := p.causes(); !slices.Equal(got, []string{"test:1", "test:2", "test:3"}) {
		t.Errorf("sent within one lease of 10 minutes: %v", got)
	}
	once(t, s, 2)
	if got := p.causes(); len(got) != 5 {
		t.Errorf("sent after all: %v", got)
	}
}

// TestStop: the end of the service is not a failure of an email. The current one gets a little
// time, the others are handed back.
func TestStop(t *testing.T) {
	for name, c := range map[string]struct {
		end  func(context.Context) (bool, error)
		want mail.State
	}{
		"ends in time": {func(context.Context) (bool, error) { return false, nil }, mail.Sent},
		"cut off": {func(ctx context.Context) (bool, error) {
			<-ctx.Done()
			return true, ctx.Err()
		}, mail.Waiting},
		"refused meanwhile": {func(context.Context) (bool, error) { return false, errors.New("550") }, mail.GivenUp},
	} {
		t.Run(name, func(t *testing.T) {
			db := sqldbtest.Open(t)
			put(t, db, noon, message(1), message(2))
			ctx, stop := context.WithCancel(t.Context())
			p := &post{send: func(ctx context.Context, _ mail.Outgoing) (bool, error) {
				stop()
				return c.end(ctx)
			}}
			s := &mail.Sender{DB: db, Sealer: box, Now: (&clock{now: noon}).Now, Transport: p, Log: quiet, Grace: time.Millisecond}
			s.Run(ctx)
			list := records(t, db)
			if list[0].State != c.want || (list[0].Attempts == 0) != (c.want == mail.Waiting) {
				t.Errorf("the mail on its way: %v after %d counted attempts, want %v", list[0].State, list[0].Attempts, c.want)
			}
			if list[1].State != mail.Waiting || list[1].Attempts != 0 || len(p.got) != 1 {
				t.Errorf("the mail behind it: %v after %d attempts", list[1].State, list[1].Attempts)
			}
			// Nothing is leased: another node continues immediately.
			next := &post{}
			left := 1
			if c.want == mail.Waiting {
				left = 2
			}
			once(t, &mail.Sender{DB: db, Sealer: box, Now: (&clock{now: noon}).Now, Transport: next, Log: quiet}, left)
		})
	}
}

func TestRun(t *testing.T) {
	for name, c := range map[string]struct {
		every time.Duration
		wake  bool
	}{"woken": {time.Hour, true}, "by its poll": {time.Millisecond, false}} {
		t.Run(name, func(t *testing.T) {
			db, sent := sqldbtest.Open(t), make(chan string)
			p := &post{send: func(_ context.Context, o mail.Outgoing) (bool, error) {
				sent <- o.Cause
				return false, nil
			}}
			s := &mail.Sender{DB: db, Sealer: box, Now: (&clock{now: noon}).Now, Transport: p, Log: quiet, Every: c.every}
			ctx, stop := context.WithCancel(t.Context())
			done := make(chan struct{})
			go func() {
				s.Run(ctx)
				close(done)
			}()
			for i := range 3 {
				err := db.Write(t.Context(), func(tx *sqldb.Tx) error {
					outbox.Put(tx, message(i), noon)
					if c.wake {
						tx.AfterCommit(s.Wake)
					}
					return nil
				})
				if err != nil {
					t.Fatal(err)
				}
				if got := <-sent; got != message(i).Cause {
					t.Errorf("sent %s", got)
				}
			}
			stop()
			<-done
		})
	}
}

// TestRunOutlastsTheDatabase: failed polls are logged, and Run continues.
func TestRunOutlastsTheDatabase(t *testing.T) {
	db, err := sqldb.Open(t.Context(), sqldbtest.URL(t), sqldb.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	lines := make(chan string)
	s := &mail.Sender{DB: db, Sealer: box, Now: (&clock{now: noon}).Now, Log: slog.New(slog.NewTextHandler(feed(lines), nil)), Every: time.Millisecond}
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		s.Run(ctx)
		close(done)
	}()
	for range 3 {
		if got := <-lines; !strings.Contains(got, "it is tried again later") {
			t.Errorf("logged %s", got)
		}
	}
	stop()
	for {
		select {
		case <-lines:
		case <-done:
			return
		}
	}
}

// feed writes each line of a log into a channel.
type feed chan<- string

func (f feed) Write(line []byte) (int, error) {
	f <- string(line)
	return len(line), nil
}
