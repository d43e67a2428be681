package app_test

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"claviger/internal/app"
	"claviger/internal/sqldb"
	"claviger/internal/sqldb/sqldbtest"
	"claviger/internal/webhook"
)

// lines is a log that can be waited on.
type lines struct {
	mu   sync.Mutex
	all  []string
	news chan struct{}
}

func newLines() *lines { return &lines{news: make(chan struct{}, 1)} }

func (l *lines) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.all = append(l.all, string(b))
	select {
	case l.news <- struct{}{}:
	default:
	}
	return len(b), nil
}

func (l *lines) count(text string) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Count(strings.Join(l.all, ""), text)
}

// await waits until the log has a text.
func (l *lines) await(text string) {
	for l.count(text) == 0 {
		<-l.news
	}
}

// attempt runs Sending on a database and calls wait in place of each wait, with how
// long it would be, until the dispatcher has started.
func attempt(t *testing.T, db *sqldb.DB, wait func(s *app.Sending, d time.Duration)) (*app.Sending, *lines) {
	t.Helper()
	log := newLines()
	s := &app.Sending{DB: db, Log: slog.New(slog.NewTextHandler(log, nil))}
	s.Dispatcher = (&webhook.Dispatcher{DB: db, Now: app.Now, Log: s.Log}).Prepare()
	s.Wait = func(_ context.Context, d time.Duration) { wait(s, d) }
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() { s.Run(ctx); close(ended) }()
	t.Cleanup(func() { cancel(); <-ended })
	log.await("is over")
	return s, log
}

// TestSendingStartsInTheEnd: whatever keeps a node from sending is tried again, ever
// more rarely, until it works; the node is not ready meanwhile.
func TestSendingStartsInTheEnd(t *testing.T) {
	if sqldbtest.Postgres() {
		t.Skip("nodes on PostgreSQL need no lock")
	}
	want := []time.Duration{1, 2, 4, 8, 16, 32, 60, 60}
	for i := range want {
		want[i] *= time.Second
	}
	for name, broken := range map[string]func(db *sqldb.DB, path string) (repair func() error){
		"the lock file cannot be opened": func(_ *sqldb.DB, path string) func() error {
			if err := os.Mkdir(path+"-sole", 0o700); err != nil {
				t.Fatal(err)
			}
			return func() error { return os.Remove(path + "-sole") }
		},
		"the dispatcher cannot start": func(db *sqldb.DB, _ string) func() error {
			rename := func(from, to string) error {
				return db.Write(t.Context(), func(tx *sqldb.Tx) error {
					_, err := tx.Exec(t.Context(), `ALTER TABLE `+from+` RENAME TO `+to)
					return err
				})
			}
			if err := rename("leases", "hidden"); err != nil {
				t.Fatal(err)
			}
			return func() error { return rename("hidden", "leases") }
		},
	} {
		t.Run(name, func(t *testing.T) {
			path := sqldbtest.URL(t)
			db := sqldbtest.OpenWith(t, path, sqldb.Options{})
			repair := broken(db, path)
			var waits []time.Duration
			s, log := attempt(t, db, func(s *app.Sending, d time.Duration) {
				if s.Ready(t.Context()) == nil {
					t.Error("a node that cannot send is ready")
				}
				if waits = append(waits, d); len(waits) == len(want) {
					if err := repair(); err != nil {
						t.Error(err)
					}
				}
			})
			if diff := cmp.Diff(want, waits); diff != "" {
				t.Errorf("waits (-want +got):\n%s", diff)
			}
			if err := s.Ready(t.Context()); err != nil {
				t.Errorf("it sends and is not ready: %v", err)
			}
			if n := log.count("webhooks are not sent"); n != 1 {
				t.Errorf("one failure is logged %d times", n)
			}
		})
	}
}

// TestNodeThatCannotSendIsNotReady asks the whole program.
func TestNodeThatCannotSendIsNotReady(t *testing.T) {
	if sqldbtest.Postgres() {
		t.Skip("nodes on PostgreSQL need no lock")
	}
	cfg := config(t)
	if err := os.Mkdir(cfg.DB+"-sole", 0o700); err != nil {
		t.Fatal(err)
	}
	log := newLines()
	cfg.Log = slog.New(slog.NewTextHandler(log, nil))
	a, stop := run(t, cfg)
	log.await("webhooks are not sent")
	if status, _, body := get(t, "http://"+a.Addr()+"/readyz"); status != http.StatusServiceUnavailable || !strings.Contains(body, `"webhooks":"failed"`) {
		t.Errorf("/readyz answers %d %s", status, body)
	}
	if status, _, _ := get(t, "http://"+a.Addr()+"/livez"); status != http.StatusOK {
		t.Errorf("/livez answers %d", status)
	}
	if err := os.Remove(cfg.DB + "-sole"); err != nil {
		t.Fatal(err)
	}
	log.await("is over")
	if status, _, body := get(t, "http://"+a.Addr()+"/readyz"); status != http.StatusOK || !strings.Contains(body, `"webhooks":"ok"`) {
		t.Errorf("/readyz answers %d %s", status, body)
	}
	if err := stop(); err != nil {
		t.Error(err)
	}
}

// TestSecondProcessIsReady: one that leaves the sending to another serves requests.
func TestSecondProcessIsReady(t *testing.T) {
	if sqldbtest.Postgres() {
		t.Skip("nodes on PostgreSQL need no lock")
	}
	cfg := config(t)
	first := sqldbtest.OpenWith(t, cfg.DB, sqldb.Options{})
	if alone, err := first.AcquireExclusive(t.Context(), func() {}); !alone || err != nil {
		t.Fatal(errors.Join(errors.New("no lock"), err))
	}
	log := newLines()
	cfg.Log = slog.New(slog.NewTextHandler(log, nil))
	a, stop := run(t, cfg)
	log.await("another process serves this database")
	if status, _, body := get(t, "http://"+a.Addr()+"/readyz"); status != http.StatusOK {
		t.Errorf("/readyz answers %d %s", status, body)
	}
	if err := stop(); err != nil {
		t.Error(err)
	}
}
