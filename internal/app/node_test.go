package app_test

import (
	"errors"
	"log/slog"
	"net/http"
	"os"
	"strings"
	"sync"
	"testing"

	"claviger/internal/sqldb"
	"claviger/internal/sqldb/sqldbtest"
)

// lines is a log that tests can wait on.
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

// TestNodeThatCannotSendIsNotReady checks the whole program.
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
	log.await("this node does no work for partners")
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

// TestSecondProcessIsReady: a process that leaves the sending to another serves requests.
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
