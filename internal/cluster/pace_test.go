package cluster_test

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"claviger/internal/cluster"
	"claviger/internal/sqldb"
	"claviger/internal/sqldb/sqldbtest"
)

// rare are times without a second beat in a test: every change has another cause.
var rare = cluster.Times{
	Beat: 10 * patience, Hold: 40 * patience, Life: 50 * patience, Steady: patience, Drain: fast.Drain, HandOver: fast.HandOver,
}

// TestCutAtTheDeadline: running work is cut when the claims expire, not at some later beat.
func TestCutAtTheDeadline(t *testing.T) {
	needsPostgres(t)
	t.Parallel()
	var cuts atomic.Int64
	n := start(t, sqldbtest.URL(t), func(r *running) {
		r.Times = rare
		r.Times.Beat, r.Times.Hold = patience, 6*time.Second // the first beat has half of Hold
		r.Cut = func() { cuts.Add(1) }
	})
	await(t, "it owns all", func() bool { return n.owned() == cluster.Shards })
	if cuts.Load() > 0 {
		t.Error("it was cut before the deadline")
	}
	await(t, "what is under way is cut", func() bool { return cuts.Load() > 0 })
	if n.owned() > 0 || n.log.count("are cut") != 1 || n.count("lost") > 0 {
		t.Errorf("%d shards are owned, %d lost, logged %d times", n.owned(), n.count("lost"), n.log.count("are cut"))
	}
}

// TestStopDoesNotWaitForABeat: a released shard is given away immediately.
func TestStopDoesNotWaitForABeat(t *testing.T) {
	needsPostgres(t)
	t.Parallel()
	n := start(t, sqldbtest.URL(t), func(r *running) { r.Times = rare })
	await(t, "it owns all", func() bool { return n.owned() == cluster.Shards })
	ended := make(chan error, 1)
	go func() { ended <- n.stop() }()
	select {
	case err := <-ended:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(patience):
		t.Fatal("it waits for the next beat")
	}
}

// TestLockedShardIsTriedSoon: a shard that was locked at a beat is claimed long before the next
// one.
func TestLockedShardIsTriedSoon(t *testing.T) {
	needsPostgres(t)
	t.Parallel()
	url := sqldbtest.URL(t)
	db := sqldbtest.OpenWith(t, url, sqldb.Options{Readers: 2})
	var n *running
	err := db.Write(t.Context(), func(tx *sqldb.Tx) error {
		if _, err := sqldb.All(t.Context(), tx, sqldb.Value[int64], `SELECT shard FROM shards WHERE shard < 8 ORDER BY shard`+tx.ForShare); err != nil {
			return err
		}
		n = start(t, url, func(r *running) {
			r.Times = rare
			r.Times.Beat = patience + patience/3
		})
		await(t, "it owns the others", func() bool { return n.owned() == cluster.Shards-8 })
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	await(t, "it owns all", func() bool { return n.owned() == cluster.Shards })
}

// TestBeatIsDueAfterTheStartOfTheLast: after a slow beat, the next one comes immediately.
func TestBeatIsDueAfterTheStartOfTheLast(t *testing.T) {
	needsPostgres(t)
	t.Parallel()
	a := newStepper(t, sqldbtest.URL(t))
	a.Times = rare
	step(t, a.Tick)
	a.Pass(rare.Beat)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	if a.Pause(ctx); ctx.Err() != nil {
		t.Error("it waits although the beat is due")
	}
}

// TestQuietWhenNothingMoves: a beat without changes sends no message, or nodes would wake each
// other forever.
func TestQuietWhenNothingMoves(t *testing.T) {
	a, b := pair(t)
	ear, err := b.db.Reserve(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer ear.Close(t.Context()) //nolint:errcheck // done
	heard := func() string {
		t.Helper()
		if err := b.db.Notify(t.Context(), cluster.Channel, "end"); err != nil {
			t.Fatal(err)
		}
		var all string
		for {
			_, message, err := ear.Wait(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if message == "end" {
				return all
			}
			all += "<" + message + ">"
		}
	}
	if err := ear.Listen(t.Context(), cluster.Channel); err != nil {
		t.Fatal(err)
	}
	a.Times.HandOver = rare.Beat
	step(t, a.Tick, b.Tick, a.Tick, b.Tick)
	a.Times.HandOver = cluster.DefaultTimes.HandOver
	if got := heard(); got != "" {
		t.Errorf("messages %s though nothing moved", got)
	}
	a.handOverOne(t)
	if got := heard(); got != "<>" {
		t.Errorf("messages %s when one shard moved", got)
	}
}

// TestRemovedWhileLeaving: a leaving node that the others considered dead has no work left, and
// does not join again.
func TestRemovedWhileLeaving(t *testing.T) {
	needsPostgres(t)
	t.Parallel()
	url := sqldbtest.URL(t)
	db := sqldbtest.OpenWith(t, url, sqldb.Options{Readers: 2})
	leaving := make(chan struct{}, cluster.Shards)
	n := start(t, url, func(r *running) {
		r.Times = rare
		r.Times.Drain = patience
		r.Times.Beat = fast.Beat
		r.Release = func(ctx context.Context, c cluster.Claim) {
			leaving <- struct{}{}
			<-ctx.Done()
			r.tell("released", c)
		}
	})
	await(t, "it owns all", func() bool { return n.owned() == cluster.Shards })
	ended := make(chan error, 1)
	go func() { ended <- n.stop() }()
	for range cluster.Shards {
		<-leaving
	}
	execute(t, db, `DELETE FROM nodes`)
	if err := <-ended; err != nil {
		t.Error(err)
	}
	if n.count("released") != cluster.Shards || nodes(t, db) != 0 {
		t.Errorf("%d are released, %d nodes are registered", n.count("released"), nodes(t, db))
	}
	if got := countRows(t, db, func(c cluster.Claim) bool { return c.Epoch != 1 }); got != 0 {
		t.Errorf("%d rows were changed by a node that was not registered", got)
	}
}

// TestTakenAwayAfterRelease: a shard that was released and then taken away is ignored, and can come
// back.
func TestTakenAwayAfterRelease(t *testing.T) {
	a, b := pair(t)
	var shard int
	a.check = func(_ string, c cluster.Claim) { shard = c.Shard }
	a.Pass(time.Second)
	step(t, a.Tick)
	a.Settle()
	a.check = nil
	execute(t, a.db, `UPDATE shards SET node = $1, epoch = 9 WHERE shard = $2`, b.ID(), shard)
	step(t, a.Tick, a.Tick)
	if row := rows(t, a.db)[shard]; row.Node != b.ID() || row.Epoch != 9 {
		t.Errorf("the row became %v", row)
	}
	execute(t, a.db, `UPDATE shards SET node = $1, epoch = 10 WHERE shard = $2`, a.ID(), shard)
	step(t, a.Tick)
	if c, ok := a.Claim(shard); !ok || c.Epoch != 10 {
		t.Errorf("the shard that came back is claimed as %v, %v", c, ok)
	}
}

// TestLostOnce: while Lost runs, further beats do not call it again, and the shard is not gained.
func TestLostOnce(t *testing.T) {
	a, b := pair(t)
	end := make(chan struct{})
	a.Lost = func(c cluster.Claim) { <-end; a.tell("lost", c) }
	execute(t, a.db, `UPDATE shards SET node = $1, epoch = 9 WHERE shard = 7`, b.ID())
	step(t, a.Tick)
	execute(t, a.db, `UPDATE shards SET node = $1, epoch = 10 WHERE shard = 7`, a.ID())
	step(t, a.Tick, a.Tick)
	if _, ok := a.Claim(7); ok {
		t.Error("it is gained before it is lost")
	}
	close(end)
	a.Settle()
	step(t, a.Tick)
	if c, ok := a.Claim(7); a.count("lost") != 1 || !ok || c.Epoch != 10 {
		t.Errorf("lost %d times, and then %v, %v", a.count("lost"), c, ok)
	}
}

// TestRemovedWhileReleasing: a node considered dead while it released a shard joins again, and that
// shard gets an owner, too.
func TestRemovedWhileReleasing(t *testing.T) {
	a, b := pair(t)
	a.Release = func(ctx context.Context, c cluster.Claim) { <-ctx.Done(); a.tell("released", c) }
	a.Pass(time.Second)
	step(t, a.Tick)
	execute(t, a.db, `DELETE FROM nodes`)
	step(t, a.Tick) // waits for the end of Release
	if a.count("released") != 1 || a.count("lost") != cluster.Shards-1 || a.owned() != cluster.Shards {
		t.Errorf("%d released, %d lost, %d owned", a.count("released"), a.count("lost"), a.owned())
	}
	step(t, b.Tick) // joins again, too
	if nodes(t, a.db) != 2 || b.owned() != 0 {
		t.Errorf("%d nodes, of which the second owns %d", nodes(t, a.db), b.owned())
	}
}
