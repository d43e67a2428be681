package cluster_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"claviger/internal/cluster"
	"claviger/internal/sqldb"
	"claviger/internal/sqldb/sqldbtest"
)

// pair returns two nodes: the first owns everything and the second has just joined.
func pair(t *testing.T) (a, b *stepper) {
	t.Helper()
	needsPostgres(t)
	t.Parallel()
	url := sqldbtest.URL(t)
	a, b = newStepper(t, url), newStepper(t, url)
	step(t, a.Tick, b.Beat)
	return a, b
}

// TestGivenByANodeThatLeaves: a node that gets shards while it reads does not give them back to the
// leaving node.
func TestGivenByANodeThatLeaves(t *testing.T) {
	a, b := pair(t)
	ticked := make(chan error, 1)
	err := a.db.Write(t.Context(), func(tx *sqldb.Tx) error {
		if _, err := tx.Exec(t.Context(), `LOCK TABLE shards IN ACCESS EXCLUSIVE MODE`); err != nil {
			return err
		}
		go func() { ticked <- b.Tick(t.Context()) }()
		await(t, "b waits for the shards", func() bool {
			n, err := sqldb.One(t.Context(), tx, sqldb.Value[int64], `SELECT count(*) FROM pg_locks WHERE NOT granted AND relation = 'shards'::regclass`)
			return err == nil && n > 0
		})
		if _, err := tx.Exec(t.Context(), `UPDATE nodes SET leaving = TRUE WHERE node = $1`, a.ID()); err != nil {
			return err
		}
		_, err := tx.Exec(t.Context(), `UPDATE shards SET node = $1, epoch = epoch + 1`, b.ID())
		return err
	})
	if err == nil {
		err = <-ticked
	}
	if b.Settle(); err != nil || b.owned() != cluster.Shards || b.count("released") > 0 {
		t.Errorf("b owns %d shards, and released %d: %v", b.owned(), b.count("released"), err)
	}
}

// TestHandOver: shards go to a new node, one per second, each released before it is given.
func TestHandOver(t *testing.T) {
	a, b := pair(t)
	a.check = func(what string, c cluster.Claim) {
		if _, ok := a.Claim(c.Shard); what == "released" && (ok || !a.Valid(c)) {
			t.Errorf("while shard %d is released it can be claimed: %v, what is under way is valid: %v", c.Shard, ok, a.Valid(c))
		}
	}
	const second = time.Second
	for i, wait := range []time.Duration{second, second, second - 1, 1, 10 * second, 0} {
		a.Pass(wait)
		step(t, a.Tick) // gives the released shard and releases the next one
		a.Settle()
		if want := []int{1, 2, 2, 3, 4, 4}[i]; a.count("released") != want {
			t.Fatalf("%d shards are released after %d beats, want %d", a.count("released"), i+1, want)
		}
	}
	step(t, a.Tick, b.Tick)
	if a.owned() != cluster.Shards-4 || b.owned() != 4 || b.count("gained") != 4 {
		t.Errorf("a owns %d, b %d", a.owned(), b.owned())
	}
	for shard, c := range b.claims() {
		if c.Epoch != 2 || c.Node != b.ID() || cluster.WinnerOf(shard, a.ID(), b.ID()) != b.ID() || !b.Valid(c) {
			t.Errorf("b owns %v", c)
		}
	}
	for range cluster.Shards {
		a.Pass(second)
		step(t, a.Tick)
		a.Settle()
	}
	step(t, b.Tick)
	if n := wins(b.ID(), a.ID()); b.owned() != n || a.owned() != cluster.Shards-n || a.count("lost")+b.count("lost") != 0 {
		t.Errorf("in the end b owns %d of %d, a %d", b.owned(), n, a.owned())
	}
}

// TestHandOverOnlyToThosePresent: not to a node that has expired, nor to one that leaves.
func TestHandOverOnlyToThosePresent(t *testing.T) {
	for name, change := range map[string]string{
		"late":    `UPDATE nodes SET until = 1 WHERE node = $1`,
		"leaving": `UPDATE nodes SET leaving = TRUE WHERE node = $1`,
	} {
		t.Run(name, func(t *testing.T) {
			a, b := pair(t)
			execute(t, a.db, change, b.ID())
			for range 3 {
				a.Pass(time.Second)
				step(t, a.Tick)
				a.Settle()
			}
			if n := a.count("released"); n != 0 {
				t.Errorf("%d shards are released for it", n)
			}
		})
	}
}

// TestReleasedShardFindsAnotherOwner: if a shard was released for a node that has vanished, the
// releasing node gains it again, under a new epoch.
func TestReleasedShardFindsAnotherOwner(t *testing.T) {
	a, b := pair(t)
	a.Pass(time.Second)
	step(t, a.Tick)
	a.Settle()
	if n := a.owned(); n != cluster.Shards-1 {
		t.Fatalf("%d shards are owned while one is released", n)
	}
	for _, c := range rows(t, a.db) {
		if _, ok := a.claims()[c.Shard]; !ok && a.Valid(c) {
			t.Errorf("%v is valid after it was released", c)
		}
	}
	execute(t, a.db, `UPDATE nodes SET until = 1 WHERE node = $1`, b.ID())
	step(t, a.Tick)
	if a.owned() != cluster.Shards || a.count("gained") != cluster.Shards+1 {
		t.Errorf("%d shards are owned, %d gained", a.owned(), a.count("gained"))
	}
	if n := countRows(t, a.db, func(c cluster.Claim) bool { return c.Epoch == 2 && c.Node == a.ID() }); n != 1 {
		t.Errorf("%d shards have a new epoch", n)
	}
}

// TestLockedShardIsLeftForLater: a transaction that fences a shard delays only its change of owner,
// and never a beat.
func TestLockedShardIsLeftForLater(t *testing.T) {
	a, b := pair(t)
	moving := -1
	for shard := range cluster.Shards {
		if cluster.WinnerOf(shard, a.ID(), b.ID()) == b.ID() {
			moving = shard
			break
		}
	}
	c, _ := a.Claim(moving)
	a.Pass(time.Second)
	step(t, a.Tick)
	a.Settle()
	err := a.db.Write(t.Context(), func(tx *sqldb.Tx) error {
		held, err := a.Fence(tx, []cluster.Claim{c}).Held(t.Context())
		if err != nil {
			return err
		}
		if !held(c) {
			t.Error("a claim that holds does not")
		}
		step(t, a.Tick)
		if !a.Hurries() {
			t.Error("it waits for the next beat to try again")
		}
		if row := rows(t, a.db)[moving]; row != c {
			t.Errorf("the row became %v inside a fence", row)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	step(t, a.Tick, b.Tick)
	if row := rows(t, a.db)[moving]; row.Node != b.ID() || row.Epoch != 2 || !b.Valid(row) {
		t.Errorf("the row is %v after the fence", row)
	}
	if a.Hurries() {
		t.Error("it hurries with nothing to do")
	}
}

// TestFence: an answer under a lost claim is fenced, even if the same node has claimed the shard
// again.
func TestFence(t *testing.T) {
	a, b := pair(t)
	before := a.claims()
	first := a.handOverOne(t)
	step(t, b.Tick)
	now := rows(t, a.db)[first]
	execute(t, a.db, `UPDATE nodes SET until = 1 WHERE node = $1`, b.ID())
	fenced := func(n *cluster.Node, claims ...cluster.Claim) (held []bool) {
		err := a.db.Write(t.Context(), func(tx *sqldb.Tx) error {
			holds, err := n.Fence(tx, claims).Held(t.Context())
			if err != nil {
				return err
			}
			held = nil
			for _, c := range claims {
				held = append(held, holds(c))
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		return held
	}
	other := (first + 1) % cluster.Shards
	if got := fenced(a.Node, before[first], before[other]); !slices.Equal(got, []bool{false, true}) {
		t.Errorf("a lost claim beside one that holds: %v", got)
	}
	if got := fenced(b.Node, now); !slices.Equal(got, []bool{true}) {
		t.Errorf("the new owner's claim: %v", got)
	}
	for range 8 { // the second node is dead
		a.Pass(time.Second)
		step(t, a.Tick)
	}
	again, ok := a.Claim(first)
	if !ok || again.Node != before[first].Node || again.Epoch != 3 {
		t.Fatalf("the first node has %v", again)
	}
	if got := fenced(a.Node, before[first], again, now); !slices.Equal(got, []bool{false, true, false}) {
		t.Errorf("after claiming again: %v", got)
	}
	if got := fenced(a.Node); len(got) != 0 {
		t.Errorf("nothing to fence: %v", got)
	}
}

// handOverOne hands one shard over.
func (s *stepper) handOverOne(t *testing.T) (shard int) {
	t.Helper()
	released := -1
	s.check = func(what string, c cluster.Claim) { released = c.Shard }
	s.Pass(time.Second)
	step(t, s.Tick)
	s.Settle()
	s.check = nil
	step(t, s.Tick)
	return released
}

// TestShardTakenAway: a shard stored as another's is lost, whether this node was using or releasing
// it; for example after a database failover with data loss.
func TestShardTakenAway(t *testing.T) {
	a, b := pair(t)
	before := a.claims()
	for _, shard := range []int{0, 1} {
		execute(t, a.db, `UPDATE shards SET node = $1, epoch = epoch + 1 WHERE shard = $2`, b.ID(), shard)
	}
	execute(t, a.db, `UPDATE shards SET epoch = 7 WHERE shard = 2`)
	step(t, a.Tick)
	a.Settle()
	if a.count("lost") != 3 || a.Valid(before[0]) || a.Valid(before[1]) || a.Valid(before[2]) {
		t.Errorf("%d shards are lost", a.count("lost"))
	}
	step(t, a.Tick)
	if c, ok := a.Claim(2); !ok || c.Epoch != 7 {
		t.Errorf("the claim to a shard with another epoch is %v, %v", c, ok)
	}
}

// TestTakenAwayWhileReleasing: a running Release is cut, and the row is not touched.
func TestTakenAwayWhileReleasing(t *testing.T) {
	a, b := pair(t)
	a.Times.Drain = rare.Beat
	cut := make(chan struct{})
	var shard int
	a.Release = func(ctx context.Context, c cluster.Claim) {
		shard = c.Shard
		<-ctx.Done()
		close(cut)
	}
	a.Pass(time.Second)
	step(t, a.Tick)
	execute(t, a.db, `UPDATE shards SET node = $1, epoch = 9`, b.ID())
	step(t, a.Tick)
	select {
	case <-cut:
	case <-time.After(patience):
		t.Fatal("it is not cut")
	}
	a.Settle()
	step(t, a.Tick, a.Tick)
	if row := rows(t, a.db)[shard]; row.Node != b.ID() || row.Epoch != 9 {
		t.Errorf("the row of a shard that was taken away became %v", row)
	}
	if a.owned() != 0 || a.count("lost") != cluster.Shards-1 {
		t.Errorf("%d owned, %d lost", a.owned(), a.count("lost"))
	}
}
