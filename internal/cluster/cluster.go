// Package cluster decides which node acts for which partner: partners belong to 64
// shards, each shard is owned by one node at a time, and a node stops acting before
// another may take over. It also lets a job run on one node at a time. It owns the
// tables of nodes and shards, and does not know what nodes do for their shards.
//
// On PostgreSQL a node is a row that it renews every second (a beat), and a shard is a
// row with its owner and an epoch, which rises with each change of the owner. Nothing
// is begun or continued later than Times.Hold after the start of the last successful
// beat; others take over when Times.Life has passed by the database's clock. On
// SQLite one process owns everything, by a lock on a file, and writes no rows.
package cluster

import (
	"cmp"
	"context"
	"errors"
	"hash/fnv"
	"log/slog"
	"math"
	"sync"
	"sync/atomic"
	"time"

	"claviger/internal/sqldb"
)

// Shards is how many shards there are.
const Shards = 64

// ShardOf returns the shard of a partner.
func ShardOf(partnerID int64) int { return int(uint64(partnerID) % Shards) } //nolint:gosec // any number will do

// Tables are this package's: they are about the nodes that run, not data, so a copy of the
// database leaves them out.
var Tables = []string{"nodes", "shards"}

// Running counts the nodes that run on a database on PostgreSQL. On SQLite a lock tells.
func Running(ctx context.Context, db *sqldb.DB) (int, error) {
	conn, err := db.Reserve(ctx)
	if errors.Is(err, sqldb.ErrNotShared) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	n, err := sqldb.One(ctx, conn, sqldb.Value[int], `SELECT count(*) FROM nodes WHERE until > `+conn.Clock())
	return n, errors.Join(err, conn.Close(ctx))
}

// Claim is the right of a node to act for a shard, from one change of owner to the next.
type Claim struct {
	Shard int
	Node  string // the id of a registration; "" where one process owns everything
	Epoch int64
}

// Times are those of the protocol; DefaultTimes are for every use but tests.
type Times struct {
	Beat     time.Duration // between two beats
	Hold     time.Duration // how long claims hold after the start of a beat
	Life     time.Duration // how long others wait after a beat, by the database's clock
	Steady   time.Duration // of unbroken beats before this node removes others
	Drain    time.Duration // for requests under way when a shard is handed over
	HandOver time.Duration // between two shards that are handed over
}

// DefaultTimes move the shards of a dead node within ten seconds and leave three for a
// step of a clock.
var DefaultTimes = Times{
	Beat: time.Second, Hold: 6 * time.Second, Life: 9 * time.Second,
	Steady: 5 * time.Second, Drain: 5 * time.Second, HandOver: time.Second,
}

// Node is this process as a member of the cluster. The functions are set before Run.
// They are never called at the same time for one shard; those of different shards may
// be. A nil Node owns nothing.
type Node struct {
	DB    *sqldb.DB
	Log   *slog.Logger
	Times Times // zero: DefaultTimes

	// Gained tells that this node owns the shard from now on. It must not block.
	Gained func(Claim)
	// Release ends the work for a shard that goes to another node: begin nothing more,
	// let what is under way end and record it; when ctx ends, cut what is left. It
	// returns when nothing is being sent.
	Release func(ctx context.Context, c Claim)
	// Lost tells that a claim ended without notice: cut everything. It returns when
	// nothing of it is being sent any more.
	Lost func(Claim)
	// Cut ends every request under way at once: the claims' time has run out. They may
	// still be this node's at the next successful beat.
	Cut func()

	Wait func(context.Context, time.Duration) // between tries to start; nil: by the clock

	shards [Shards]atomic.Pointer[held]
	until  deadline
	alone  atomic.Bool // everything is this process's, by a lock on a file
	jobs   jobs

	mu      sync.Mutex
	failure error // why this node takes no part; nil: it does, or another process does
}

func (n *Node) times() Times { return cmp.Or(n.Times, DefaultTimes) }

// held is what this node knows of a shard that it owns.
type held struct {
	Claim
	releasing bool // nothing more is begun
}

// Claim returns the claim to a shard if this node owns it now and may begin something
// for it. It has none while the shard is being released.
func (n *Node) Claim(shard int) (Claim, bool) {
	if n == nil {
		return Claim{}, false
	}
	h := n.shards[shard].Load()
	if h == nil || h.releasing || n.until.passed() {
		return Claim{}, false
	}
	return h.Claim, true
}

// Valid reports whether exactly this claim holds now. It is asked right before a
// request is written. It holds until the shard is released.
func (n *Node) Valid(c Claim) bool {
	if n == nil || c.Shard < 0 || c.Shard >= Shards {
		return false
	}
	h := n.shards[c.Shard].Load()
	return h != nil && h.Claim == c && !n.until.passed()
}

// Owns reports whether this node acts for a partner now.
func (n *Node) Owns(partnerID int64) bool {
	_, ok := n.Claim(ShardOf(partnerID))
	return ok
}

// Does reports whether a job that runs on one node at a time is this node's now. Jobs
// are shared by the shards that their names lead to.
func (n *Node) Does(job string) bool {
	_, ok := n.Claim(shardOfJob(job))
	return ok
}

func shardOfJob(job string) int {
	h := fnv.New32a()
	_, _ = h.Write([]byte(job)) // it cannot fail
	return int(h.Sum32() % Shards)
}

// deadline is when the claims of a node end, by the clock that is never set and by the
// clock that goes on while the machine sleeps. Before the first beat it has passed.
type deadline struct {
	steady atomic.Int64
	wall   atomic.Int64
	clock  func() (steady, wall int64) // nil: clock; a field for tests
}

// begun is what the steady clock counts from.
var begun = time.Now()

// clock is the time in nanoseconds by both clocks.
func clock() (steady, wall int64) {
	now := time.Now()
	return int64(now.Sub(begun)), now.UnixNano()
}

func (d *deadline) now() (steady, wall int64) {
	if d.clock != nil {
		return d.clock()
	}
	return clock()
}

func (d *deadline) passed() bool {
	steady, wall := d.now()
	return steady >= d.steady.Load() || wall >= d.wall.Load()
}

// set moves the deadline to a time after a start that now returned.
func (d *deadline) set(steady, wall int64, after time.Duration) {
	d.steady.Store(steady + int64(after))
	d.wall.Store(wall + int64(after))
}

// never takes the deadline away.
func (d *deadline) never() { d.set(0, 0, math.MaxInt64) }
