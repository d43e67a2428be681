package app

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"claviger/internal/mail"
	"claviger/internal/sqldb"
	"claviger/internal/sqldb/sqldbtest"
)

// posted records which nodes sent each email.
type posted struct {
	mu  sync.Mutex
	all map[string]string
}

// of returns the nodes that sent an email.
func (p *posted) of(cause string) string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.all[cause]
}

// catcher is the transport of one node.
type catcher struct {
	*posted
	node string
}

func (c catcher) Send(_ context.Context, o mail.Outgoing) (bool, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.all[o.Cause] += c.node
	return false, nil
}

// TestJobsRunOnOneNode: the owner of the mail job sends an email immediately, whichever node wrote
// it. When that node has stopped, the other one sends.
func TestJobsRunOnOneNode(t *testing.T) {
	url := sqldbtest.URL(t)
	sent := &posted{all: map[string]string{}}
	nodes, stop := map[string]*App{}, map[string]func(){}
	for _, name := range []string{"a", "b"} {
		cfg := Defaults(Serve)
		cfg.Addr, cfg.AdminAddr, cfg.DB, cfg.SecretKey = "127.0.0.1:0", "127.0.0.1:0", url, strings.Repeat("7", 64)
		cfg.Log, cfg.Catcher = slog.New(slog.DiscardHandler), catcher{sent, name}
		a, err := New(t.Context(), cfg)
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() { defer close(ended); _ = a.Run(ctx) }()
		nodes[name], stop[name] = a, func() { cancel(); <-ended }
		defer stop[name]()
		await(t, "a node has the job", func() bool { return owner(nodes) != "" })
	}
	for i := range 10 {
		for name, a := range nodes {
			before, cause := owner(nodes), fmt.Sprint(name, i)
			put(t, a, cause)
			await(t, "the mail is sent", func() bool { return sent.of(cause) != "" })
			if after := owner(nodes); before == after && sent.of(cause) != after {
				t.Errorf("a mail written on node %s is sent by %s, and the job is %s's", name, sent.of(cause), after)
			}
		}
	}
	first := owner(nodes)
	stop[first]()
	delete(nodes, first)
	for name, a := range nodes {
		put(t, a, "last")
		await(t, "the mail is sent", func() bool { return sent.of("last") == name })
	}
}

// owner returns the node that owns the mail job.
func owner(nodes map[string]*App) string {
	for name, a := range nodes {
		if a.node.Does(mailJob) {
			return name
		}
	}
	return ""
}

func put(t *testing.T, a *App, cause string) {
	t.Helper()
	err := a.services.DB.Write(t.Context(), func(tx *sqldb.Tx) error {
		a.services.Mail.Put(tx, mail.Message{Cause: cause, To: "contact@example.com", Subject: "x", Text: "x"}, time.Now())
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// await waits for a condition, for less time than a job takes between two looks without a wake-up.
func await(t *testing.T, what string, so func() bool) {
	t.Helper()
	for end := time.Now().Add(14 * time.Second); !so(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("still not so: %s", what)
		}
	}
}
