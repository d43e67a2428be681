// Package cluster decides which node acts for which partner. Partners belong to 64 shards, each
// shard has one owner at a time, and a node stops acting before another may take over. It also runs
// a job on one node at a time. It owns the tables of nodes and shards, and does not know the work
// that nodes do for their shards.
//
// On PostgreSQL a node is a row that it renews every second (a beat). A shard is a row with its
// owner and an epoch, which rises with each change of owner. No work begins or continues later than
// Times.Hold after the start of the last successful beat. Others take over when Times.Life has
// passed by the database's clock. On SQLite one process owns everything, by a lock on a file; its row
// only says which program runs.
//
// A node works only on a schema that allows its version: each beat checks that first.
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

// Shards is the number of shards.
const Shards = 64

// ShardOf returns the shard of a partner.
func ShardOf(partnerID int64) int { return int(uint64(partnerID) % Shards) } //nolint:gosec // any number will do

// Tables are the tables of this package. They describe running nodes, so a copy of the database
// omits them.
var Tables = []string{"nodes", "shards", "silent_nodes"}

// Running counts the running nodes of a PostgreSQL database. On SQLite it is 0: a lock shows use.
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
	Node  string // id of a registration; "" if one process owns everything
	Epoch int64
}

// Times are the intervals of the protocol; use DefaultTimes except in tests.
type Times struct {
	Beat     time.Duration // interval of beats
	Hold     time.Duration // how long claims hold after the start of a beat
	Life     time.Duration // how long others wait after a beat, by the database's clock
	Steady   time.Duration // of unbroken beats before this node removes others
	Drain    time.Duration // for running requests when a shard is handed over
	HandOver time.Duration // between two handed-over shards
}

// DefaultTimes move the shards of a dead node within ten seconds and leave three for a clock step.
var DefaultTimes = Times{
	Beat: time.Second, Hold: 6 * time.Second, Life: 9 * time.Second,
	Steady: 5 * time.Second, Drain: 5 * time.Second, HandOver: time.Second,
}

// Node is this process as a member of the cluster. Set the functions before Run. They are never
// called concurrently for one shard, but may be for different shards. A nil Node owns nothing.
type Node struct {
	DB      *sqldb.DB
	Log     *slog.Logger
	Host    string           // name of the machine, for people
	Version string           // of the program; "": release.Version
	Times   Times            // zero: DefaultTimes
	Now     func() time.Time // compared with the database's clock; nil: the machine's

	// Gained is called when this node becomes the owner of a shard. It must not block.
	Gained func(Claim)
	// Release ends the work for a shard that goes to another node. It must begin nothing more, and
	// let running work end and record it. When ctx ends, it cuts the rest. It returns when nothing
	// is being sent.
	Release func(ctx context.Context, c Claim)
	// Lost is called when a claim ended without notice. It must cut everything and return when
	// nothing is being sent.
	Lost func(Claim)
	// Cut ends every running request immediately, because the claims have expired. They may still
	// be this node's at the next successful beat.
	Cut func()

	Wait func(context.Context, time.Duration) // between attempts to start; nil: by the clock

	shards [Shards]atomic.Pointer[held]
	until  deadline
	alone  atomic.Bool // a lock on a file gives everything to this process
	jobs   jobs

	read     atomic.Pointer[reading] // of the database's clock; nil: none yet
	clockOff atomic.Bool             // the clock was too far off at the last beat

	mu      sync.Mutex
	failure error // reason for not taking part; nil: taking part, or another process does
}

func (n *Node) times() Times { return cmp.Or(n.Times, DefaultTimes) }

// held is the state of a shard that this node owns.
type held struct {
	Claim
	releasing bool // begin nothing more
}

// Claim returns the claim to a shard if this node owns it now and may begin work for it. There is
// none while the shard is being released.
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

// Valid reports whether exactly this claim holds now. Call it right before writing a request. It
// holds until the shard is released.
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

// Does reports whether this node should run a job now. The name of a job determines its shard.
func (n *Node) Does(job string) bool {
	_, ok := n.Claim(shardOfJob(job))
	return ok
}

func shardOfJob(job string) int {
	h := fnv.New32a()
	_, _ = h.Write([]byte(job)) // cannot fail
	return int(h.Sum32() % Shards)
}

// deadline is the end of a node's claims by two clocks. The steady clock is never set; the wall
// clock runs while the machine sleeps. Before the first beat it has passed.
type deadline struct {
	steady atomic.Int64
	wall   atomic.Int64
	clock  func() (steady, wall int64) // nil: clock; a field for tests
}

// begun is the origin of the steady clock.
var begun = time.Now()

// clock returns the time in nanoseconds by both clocks.
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

// never removes the deadline.
func (d *deadline) never() { d.set(0, 0, math.MaxInt64) }
