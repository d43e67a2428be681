package cluster_test

import (
	"bufio"
	"context"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"claviger/internal/cluster"
	"claviger/internal/sqldb"
)

// Environment of a child: this program, running a node.
const (
	childURL  = "CLAVIGER_CLUSTER_CHILD"
	childFile = "CLAVIGER_CLUSTER_FILE" // file for the records of begun work
)

func TestMain(m *testing.M) {
	if url := os.Getenv(childURL); url != "" {
		if err := runChild(url, os.Getenv(childFile)); err != nil {
			fmt.Fprintln(os.Stderr, "child:", err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	goleak.VerifyTestMain(m)
}

// runChild runs a node that continually begins work for each of its shards, until it is told to
// end.
func runChild(url, file string) error {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	db, err := sqldb.Open(ctx, url, sqldb.Options{Readers: 2})
	if err != nil {
		return err
	}
	defer db.Close() //nolint:errcheck // the process ends
	out, err := os.OpenFile(file, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	w := &worker{out: out, running: map[cluster.Claim]*work{}}
	w.node = &cluster.Node{
		DB: db, Log: slog.New(slog.NewTextHandler(os.Stderr, nil)), Times: scaled(5), Gained: w.begin, Lost: w.end,
		Release: func(_ context.Context, c cluster.Claim) { w.end(c) },
	}
	w.node.Times.HandOver = fast.HandOver
	_ = w.node.Run(ctx) // the database may be down at the end
	return nil
}

// worker repeatedly begins work for each claim, and records it with the time.
type worker struct {
	node *cluster.Node
	out  *os.File

	mu      sync.Mutex
	running map[cluster.Claim]*work
}

type work struct{ stop, stopped chan struct{} }

func (w *worker) begin(c cluster.Claim) {
	job := &work{make(chan struct{}), make(chan struct{})}
	w.mu.Lock()
	w.running[c] = job
	w.mu.Unlock()
	go func() {
		defer close(job.stopped)
		ticker := time.NewTicker(10 * time.Millisecond)
		defer ticker.Stop()
		for {
			// Read the time first: the recorded work began at that time or later.
			now := time.Now()
			if w.node.Valid(c) {
				_, _ = fmt.Fprintf(w.out, "%d %d %s %d\n", c.Shard, c.Epoch, c.Node, now.UnixNano())
			}
			select {
			case <-job.stop:
				return
			case <-ticker.C:
			}
		}
	}()
}

func (w *worker) end(c cluster.Claim) {
	w.mu.Lock()
	job := w.running[c]
	delete(w.running, c)
	w.mu.Unlock()
	close(job.stop)
	<-job.stopped
}

// child is such a process.
type child struct {
	*exec.Cmd
	log *lines
}

func startChild(t *testing.T, url, file string) *child {
	t.Helper()
	c := &child{exec.CommandContext(context.WithoutCancel(t.Context()), os.Args[0]), newLines()}
	c.Env = append(os.Environ(), childURL+"="+url, childFile+"="+file)
	c.Stderr = c.log
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	return c
}

// send sends a signal to the process.
func (c *child) send(t *testing.T, s syscall.Signal) {
	t.Helper()
	if err := c.Process.Signal(s); err != nil {
		t.Errorf("%v: %v", s, err)
	}
}

// beginning is a record of begun work.
type beginning struct {
	cluster.Claim
	at int64
}

func readBeginnings(t *testing.T, file string) (list []beginning) {
	t.Helper()
	f, err := os.Open(file) //nolint:gosec // the test's own
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close() //nolint:errcheck // only read
	for in := bufio.NewScanner(f); in.Scan(); {
		var b beginning
		if _, err := fmt.Fscan(strings.NewReader(in.Text()), &b.Shard, &b.Epoch, &b.Node, &b.at); err != nil {
			t.Fatalf("%q: %v", in.Text(), err)
		}
		list = append(list, b)
	}
	return list
}
