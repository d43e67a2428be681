package cluster_test

import (
	"context"
	"testing"
	"time"

	"claviger/internal/cluster"
	"claviger/internal/sqldb"
	"claviger/internal/sqldb/sqldbtest"
)

// stepper is a node that does one step at a time.
type stepper struct {
	*cluster.Steps
	*running
}

func newStepper(t *testing.T, url string) *stepper {
	t.Helper()
	r := newRunning(sqldbtest.OpenWith(t, url, sqldb.Options{Readers: 2}))
	r.Times = cluster.DefaultTimes
	s := &stepper{cluster.NewSteps(r.Node), r}
	t.Cleanup(func() { s.Settle(); s.Disconnect(context.Background()) })
	return s
}

// step runs steps and fails the test on an error.
func step(t *testing.T, steps ...func(context.Context) error) {
	t.Helper()
	for _, s := range steps {
		if err := s(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
}

func execute(t *testing.T, db *sqldb.DB, sql string, args ...any) {
	t.Helper()
	if err := db.Write(t.Context(), func(tx *sqldb.Tx) error {
		_, err := tx.Exec(t.Context(), sql, args...)
		return err
	}); err != nil {
		t.Fatal(err)
	}
}

// countRows counts the stored shards that meet a condition.
func countRows(t *testing.T, db *sqldb.DB, so func(cluster.Claim) bool) (n int) {
	t.Helper()
	for _, c := range rows(t, db) {
		if so(c) {
			n++
		}
	}
	return n
}

// wins counts the shards that a node should own beside another.
func wins(id, other string) (n int) {
	for shard := range cluster.Shards {
		if cluster.WinnerOf(shard, id, other) == id {
			n++
		}
	}
	return n
}

// TestTwoClaimers: two nodes claim the same shards, and one does not know of the other yet. Each
// shard goes to one of them, and its epoch rises by one.
func TestTwoClaimers(t *testing.T) {
	needsPostgres(t)
	t.Parallel()
	url := sqldbtest.URL(t)
	a, b := newStepper(t, url), newStepper(t, url)
	step(t, a.Beat) // sees only itself
	step(t, b.Beat, b.ClaimShards, a.ClaimShards)
	if n := wins(b.ID(), a.ID()); b.owned() != n || a.owned() != cluster.Shards-n {
		t.Errorf("a owns %d and b %d, want %d and %d", a.owned(), b.owned(), cluster.Shards-n, n)
	}
	for shard, row := range rows(t, a.db) {
		owner, other := a, b
		if cluster.WinnerOf(shard, a.ID(), b.ID()) == b.ID() {
			owner, other = b, a
		}
		if row.Epoch != 1 || !owner.Valid(row) || other.Valid(row) || row.Node != owner.ID() {
			t.Errorf("shard %d is stored as %v, valid %v and %v", shard, row, owner.Valid(row), other.Valid(row))
		}
	}
	step(t, a.ClaimShards, b.ClaimShards, a.Tick, b.Tick)
	if n := a.count("gained") + b.count("gained"); n != cluster.Shards {
		t.Errorf("shards were gained %d times", n)
	}
}

// TestClaimsHoldUntilTheDeadline: by both clocks, from the start of the beat.
func TestClaimsHoldUntilTheDeadline(t *testing.T) {
	needsPostgres(t)
	t.Parallel()
	a := newStepper(t, sqldbtest.URL(t))
	step(t, a.Tick)
	c, ok := a.Claim(5)
	if !ok || !a.Valid(c) || !a.Owns(5) || c.Node != a.ID() || c.Epoch != 1 {
		t.Fatalf("the first claim is %v, %v", c, ok)
	}
	hold := cluster.DefaultTimes.Hold
	for name, clock := range map[string]struct {
		steady, wall time.Duration
		valid        bool
	}{
		"in time":                     {hold - 1, hold - 1, true},
		"the wall clock was set back": {hold - 1, -time.Hour, true},
		"late":                        {hold, hold, false},
		"late by the steady clock":    {hold, 0, false},
		"late by the wall clock":      {0, hold, false}, // the machine slept
	} {
		steady, wall := a.Clock()
		a.SetClock(func() (int64, int64) { return steady + int64(clock.steady), wall + int64(clock.wall) })
		if _, ok := a.Claim(5); ok != clock.valid || a.Valid(c) != clock.valid || a.Owns(5) != clock.valid || a.owned() > 0 != clock.valid {
			t.Errorf("%s: claim %v, valid %v", name, ok, a.Valid(c))
		}
	}
	a.ResetClock()
	a.Pass(hold)
	if a.Valid(c) {
		t.Error("the claim is valid after the deadline")
	}
	step(t, a.Tick)
	if !a.Valid(c) || a.count("gained") != cluster.Shards || a.count("lost") != 0 {
		t.Error("a beat after the deadline does not bring the same claims back")
	}
	for _, other := range []cluster.Claim{{Shard: 5, Node: a.ID(), Epoch: 2}, {Shard: 5, Node: "other", Epoch: 1}, {Shard: 6, Node: a.ID(), Epoch: 1 + 1}} {
		if a.Valid(other) {
			t.Errorf("%v is valid", other)
		}
	}
}

// TestReapAfterUnbrokenBeats: a node removes others only after it has reached the database for a
// while, so that a database stall changes no owner.
func TestReapAfterUnbrokenBeats(t *testing.T) {
	needsPostgres(t)
	t.Parallel()
	url := sqldbtest.URL(t)
	a, b := newStepper(t, url), newStepper(t, url)
	step(t, a.Beat, b.Beat, b.ClaimShards)
	dead := b.ID()
	execute(t, a.db, `UPDATE nodes SET until = 1 WHERE node = $1`, dead)
	gone := func() bool {
		_, err := sqldb.One(t.Context(), a.db, sqldb.Value[string], `SELECT node FROM nodes WHERE node = $1`, dead)
		return err != nil
	}
	const second = time.Second
	for _, wait := range []time.Duration{second, 3 * second, 3*second + 1, second, second, 2*second + second/2} {
		a.Pass(wait) // the third is too long after the one before it
		if step(t, a.Tick); gone() {
			t.Fatalf("the other was removed too early, %v after the last beat", wait)
		}
	}
	canceled, cancel := context.WithCancel(t.Context())
	cancel()
	if err := a.Tick(canceled); err == nil {
		t.Fatal("a beat without time works")
	}
	for range 5 {
		if step(t, a.Tick); gone() {
			t.Fatal("the other was removed too early after a failed beat")
		}
		a.Pass(second)
	}
	if n := countRows(t, a.db, func(c cluster.Claim) bool { return c.Node == dead }); n != wins(dead, a.ID()) {
		t.Errorf("the dead node still owns %d shards", n)
	}
	if step(t, a.Tick); !gone() {
		t.Fatal("the other was not removed")
	}
	if a.owned() != cluster.Shards {
		t.Errorf("of the dead node's shards %d are missing", cluster.Shards-a.owned())
	}
	for shard, row := range rows(t, a.db) {
		want := int64(1)
		if cluster.WinnerOf(shard, a.ID(), dead) == dead {
			want = 2
		}
		if row.Epoch != want || !a.Valid(row) {
			t.Errorf("shard %d is stored as %v", shard, row)
		}
	}
	if a.log.count("silent for too long") != 1 {
		t.Error("the removal is not logged once")
	}
}

// TestDatabaseClockIsSet: when the database's clock jumps ahead, beating nodes are not removed,
// although all seem late.
func TestDatabaseClockIsSet(t *testing.T) {
	needsPostgres(t)
	t.Parallel()
	url := sqldbtest.URL(t)
	a, b := newStepper(t, url), newStepper(t, url)
	late := func() { execute(t, a.db, `UPDATE nodes SET until = until - $1`, int64(time.Hour)) }
	for range 10 {
		a.Pass(time.Second)
		b.Pass(time.Second)
		step(t, b.Beat)
		late()
		if step(t, a.Tick); nodes(t, a.db) != 2 {
			t.Fatal("a node was removed that had just beaten")
		}
	}
	for i := range 7 {
		if nodes(t, a.db) != 2 {
			t.Fatalf("a node was removed that was silent for %d seconds", i)
		}
		a.Pass(time.Second)
		step(t, a.Tick)
	}
	if nodes(t, a.db) != 1 {
		t.Error("a silent node was not removed")
	}
}

// TestRemovedNodeJoinsAgain: a node that the others considered dead loses everything, and joins
// under a new id.
func TestRemovedNodeJoinsAgain(t *testing.T) {
	needsPostgres(t)
	t.Parallel()
	a := newStepper(t, sqldbtest.URL(t))
	step(t, a.Tick)
	before, claims := a.ID(), a.claims()
	execute(t, a.db, `DELETE FROM nodes`)
	a.check = func(what string, c cluster.Claim) {
		if what == "lost" && a.Valid(c) {
			t.Error("a claim is valid while it is being lost")
		}
	}
	step(t, a.Tick)
	if a.ID() == before || a.ID() == "" || a.count("lost") != cluster.Shards || a.owned() != cluster.Shards {
		t.Errorf("id %s after %s, %d lost, %d owned", a.ID(), before, a.count("lost"), a.owned())
	}
	for shard, row := range rows(t, a.db) {
		if row.Epoch != 2 || row.Node != a.ID() || !a.Valid(row) || a.Valid(claims[shard]) {
			t.Errorf("shard %d is stored as %v", shard, row)
		}
	}
	if n := nodes(t, a.db); n != 1 || a.log.count("took this node for dead") != 1 {
		t.Errorf("%d nodes are registered, and the loss is logged %d times", n, a.log.count("took this node for dead"))
	}
}
