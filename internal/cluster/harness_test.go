package cluster_test

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"strings"
	"sync"
	"testing"
	"time"

	"claviger/internal/cluster"
	"claviger/internal/sqldb"
	"claviger/internal/sqldb/sqldbtest"
)

// fast are the times of tests. Nodes act twenty times as often as real ones, but claims hold as
// long, so that no pause of a busy machine ends them.
var fast = func() cluster.Times {
	t := scaled(20)
	t.Hold, t.Life = cluster.DefaultTimes.Hold, cluster.DefaultTimes.Life
	return t
}()

// scaled returns the real times divided by by.
func scaled(by time.Duration) cluster.Times {
	t := cluster.DefaultTimes
	for _, d := range []*time.Duration{&t.Beat, &t.Hold, &t.Life, &t.Steady, &t.Drain, &t.HandOver} {
		*d /= by
	}
	return t
}

// patience is the timeout for expected results.
const patience = 30 * time.Second

// running is a node in this process, with a record of its calls.
type running struct {
	*cluster.Node
	db   *sqldb.DB
	log  *lines
	stop func() error // ends Run and returns its error

	mu    sync.Mutex
	told  []string // "gained 5", in order
	held  map[int]cluster.Claim
	check func(what string, c cluster.Claim) // called without the lock
}

// start runs a node with its own connection pool until the test ends.
func start(t *testing.T, url string, set func(*running)) *running {
	t.Helper()
	return startOn(t, sqldbtest.OpenWith(t, url, sqldb.Options{Readers: 4}), set)
}

// newRunning returns a node that records its calls.
func newRunning(db *sqldb.DB) *running {
	r := &running{db: db, log: newLines(), held: map[int]cluster.Claim{}}
	r.Node = &cluster.Node{DB: r.db, Log: slog.New(slog.NewTextHandler(r.log, nil)), Times: fast}
	r.Gained = func(c cluster.Claim) { r.tell("gained", c) }
	r.Release = func(_ context.Context, c cluster.Claim) { r.tell("released", c) }
	r.Lost = func(c cluster.Claim) { r.tell("lost", c) }
	return r
}

// startOn runs a node on an open database.
func startOn(t *testing.T, db *sqldb.DB, set func(*running)) *running {
	t.Helper()
	r := newRunning(db)
	if set != nil {
		set(r)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	var failure error
	go func() { defer close(ended); failure = r.Run(ctx) }()
	r.stop = func() error { cancel(); <-ended; return failure }
	t.Cleanup(func() { _ = r.stop() })
	return r
}

func (r *running) tell(what string, c cluster.Claim) {
	r.mu.Lock()
	r.told = append(r.told, fmt.Sprintf("%s %d", what, c.Shard))
	if what == "gained" {
		r.held[c.Shard] = c
	} else {
		delete(r.held, c.Shard)
	}
	check := r.check
	r.mu.Unlock()
	if check != nil {
		check(what, c)
	}
}

// claims returns the node's claims according to its calls.
func (r *running) claims() map[int]cluster.Claim {
	r.mu.Lock()
	defer r.mu.Unlock()
	return maps.Clone(r.held)
}

// count returns the number of recorded calls of a kind.
func (r *running) count(what string) (n int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, told := range r.told {
		if strings.HasPrefix(told, what+" ") {
			n++
		}
	}
	return n
}

// owned counts the shards that the node may act for.
func (r *running) owned() (n int) {
	for shard := range cluster.Shards {
		if _, ok := r.Claim(shard); ok {
			n++
		}
	}
	return n
}

// await waits until so returns true.
func await(t *testing.T, what string, so func() bool) {
	t.Helper()
	for end := time.Now().Add(patience); !so(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("after %v still not so: %s", patience, what)
		}
	}
}

// rows returns the stored shards.
func rows(t *testing.T, db *sqldb.DB) map[int]cluster.Claim {
	t.Helper()
	list, err := sqldb.All(t.Context(), db, func(r *sqldb.Row, c *cluster.Claim) error {
		return r.Scan(&c.Shard, &c.Node, &c.Epoch)
	}, `SELECT shard, node, epoch FROM shards`)
	if err != nil {
		t.Fatal(err)
	}
	all := make(map[int]cluster.Claim, len(list))
	for _, c := range list {
		all[c.Shard] = c
	}
	return all
}

// nodes counts the registered nodes.
func nodes(t *testing.T, db *sqldb.DB) int {
	t.Helper()
	n, err := sqldb.One(t.Context(), db, sqldb.Value[int64], `SELECT count(*) FROM nodes`)
	if err != nil {
		t.Fatal(err)
	}
	return int(n)
}

func needsPostgres(t *testing.T) {
	t.Helper()
	if !sqldbtest.Postgres() {
		t.Skip("on SQLite one process owns everything")
	}
}
