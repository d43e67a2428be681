package cluster_test

import (
	"context"
	"errors"
	"maps"
	"sync/atomic"
	"testing"
	"time"

	"claviger/internal/cluster"
	"claviger/internal/sqldb"
	"claviger/internal/sqldb/sqldbtest"
)

// TestDatabaseAway: if the database is down longer than nodes live, or is killed, every node stops,
// cuts running work and is not ready. Afterwards it continues with the same claims.
func TestDatabaseAway(t *testing.T) {
	for name, fail := range map[string]func(*sqldbtest.Proxy){"stalled": (*sqldbtest.Proxy).Freeze, "killed": (*sqldbtest.Proxy).Cut} {
		t.Run(name, func(t *testing.T) {
			needsPostgres(t)
			t.Parallel()
			url := sqldbtest.URL(t)
			proxy := sqldbtest.NewProxy(t, url)
			var cuts [2]atomic.Int64
			var all []*running
			for i := range cuts {
				all = append(all, start(t, proxy.URL, func(r *running) {
					r.Times = scaled(5)
					r.Times.HandOver = fast.HandOver
					r.Cut = func() {
						if r.owned() > 0 {
							t.Error("shards can be claimed after the deadline")
						}
						cuts[i].Add(1)
					}
				}))
			}
			direct := sqldbtest.OpenWith(t, url, sqldb.Options{Readers: 2})
			awaitBalance(t, all...)
			before := rows(t, direct)
			claims := []map[int]cluster.Claim{all[0].claims(), all[1].claims()}
			fail(proxy)
			for i, n := range all {
				await(t, "what is under way is cut", func() bool { return cuts[i].Load() == 1 })
				await(t, "it is not ready", func() bool { return n.Ready(t.Context()) != nil })
				await(t, "all nodes are past their time", func() bool {
					late, err := sqldb.One(t.Context(), direct, sqldb.Value[int64], `SELECT count(*) FROM nodes WHERE until < extract(epoch FROM clock_timestamp()) * 1000000000`)
					return err == nil && late == 2
				})
				for _, c := range claims[i] {
					if n.Valid(c) {
						t.Fatalf("%v is valid while the database is away", c)
					}
				}
			}
			proxy.Restore()
			await(t, "they own what they owned", func() bool { return all[0].owned()+all[1].owned() == cluster.Shards })
			for i, n := range all {
				if !maps.Equal(n.claims(), claims[i]) || n.count("lost") > 0 {
					t.Errorf("node %d has other claims than before", i)
				}
				await(t, "it is ready", func() bool { return n.Ready(t.Context()) == nil })
				// On a busy machine another beat may be late: each outage logs one line, and one
				// for its end.
				if began, ended := n.log.count("does no work"), n.log.count("is over"); began == 0 || began != ended {
					t.Errorf("it is logged %d times, its end %d times", began, ended)
				}
			}
			if after := rows(t, direct); !maps.Equal(before, after) {
				t.Errorf("owners changed from %v to %v", before, after)
			}
		})
	}
}

// TestBeatsGoOnWithoutThePool: a node with an exhausted pool keeps its shards.
func TestBeatsGoOnWithoutThePool(t *testing.T) {
	needsPostgres(t)
	t.Parallel()
	url := sqldbtest.URL(t)
	n := start(t, url, nil)
	await(t, "it owns all", func() bool { return n.owned() == cluster.Shards })
	direct := sqldbtest.OpenWith(t, url, sqldb.Options{Readers: 2})
	until := func() time.Time {
		u, err := sqldb.One(t.Context(), direct, sqldb.Value[time.Time], `SELECT until FROM nodes`)
		if err != nil {
			t.Fatal(err)
		}
		return u
	}
	var busy []chan struct{}
	for range n.db.Readers() {
		taken, end := make(chan struct{}), make(chan struct{})
		busy = append(busy, end)
		go func() {
			_ = n.db.Read(context.WithoutCancel(t.Context()), func(tx *sqldb.Tx) error {
				_, err := sqldb.One(t.Context(), tx, sqldb.Value[int64], `SELECT 1`)
				close(taken)
				<-end
				return err
			})
		}()
		<-taken
	}
	first := until()
	await(t, "its beats go on", func() bool { return until().Sub(first) > 20*fast.Beat })
	if n.count("lost")+n.count("released") > 0 {
		t.Error("it lost shards")
	}
	for _, end := range busy {
		close(end)
	}
}

// TestUnheardMessages: without messages between nodes a shard still gets its new owner.
func TestUnheardMessages(t *testing.T) {
	needsPostgres(t)
	t.Parallel()
	proxy := sqldbtest.NewProxy(t, sqldbtest.URL(t))
	proxy.Deafen(true)
	a := start(t, proxy.URL, nil)
	await(t, "a owns all", func() bool { return a.owned() == cluster.Shards })
	awaitBalance(t, a, start(t, proxy.URL, nil))
}

// TestMessagesSpareTheWait: a node hears immediately that it got a shard.
func TestMessagesSpareTheWait(t *testing.T) {
	needsPostgres(t)
	t.Parallel()
	url := sqldbtest.URL(t)
	a := start(t, url, nil)
	await(t, "a owns all", func() bool { return a.owned() == cluster.Shards })
	b := start(t, url, func(r *running) {
		r.Times.Beat, r.Times.Hold, r.Times.Life = time.Hour, 4*time.Hour, 5*time.Hour // no second beat
	})
	await(t, "b owns its part", func() bool { return b.owned() >= 8 })
	if err := a.stop(); err != nil {
		t.Error(err)
	}
	await(t, "b owns all", func() bool { return b.owned() == cluster.Shards })
	b.Times = fast
}

// TestStopWithoutTheDatabase: a node can be stopped while its database is down.
func TestStopWithoutTheDatabase(t *testing.T) {
	needsPostgres(t)
	t.Parallel()
	proxy := sqldbtest.NewProxy(t, sqldbtest.URL(t))
	n := start(t, proxy.URL, nil)
	await(t, "it owns all", func() bool { return n.owned() == cluster.Shards })
	proxy.Cut()
	if err := n.stop(); err == nil || errors.Is(err, context.Canceled) {
		t.Errorf("it stops with %v", err)
	}
	if n.count("released") != cluster.Shards || n.owned() != 0 {
		t.Errorf("%d released, %d owned", n.count("released"), n.owned())
	}
}

// TestStopWaitsForTheDatabase: if the database comes back soon, a stopping node still gives its
// shards to others.
func TestStopWaitsForTheDatabase(t *testing.T) {
	needsPostgres(t)
	t.Parallel()
	url := sqldbtest.URL(t)
	proxy := sqldbtest.NewProxy(t, url)
	released := make(chan struct{}, cluster.Shards)
	n := start(t, proxy.URL, func(r *running) {
		r.Times.Hold, r.Times.Life = 2*patience, 3*patience
		r.Release = func(context.Context, cluster.Claim) { released <- struct{}{} }
	})
	await(t, "it owns all", func() bool { return n.owned() == cluster.Shards })
	proxy.Cut()
	ended := make(chan error, 1)
	go func() { ended <- n.stop() }()
	for range cluster.Shards {
		<-released
	}
	<-time.After(3 * fast.Beat) // it retries
	proxy.Restore()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	if db := sqldbtest.OpenWith(t, url, sqldb.Options{Readers: 2}); nodes(t, db) != 0 || countRows(t, db, func(c cluster.Claim) bool { return c.Node != "" }) != 0 {
		t.Error("it left something behind")
	}
}

// TestStartWithoutTheDatabase: a node starts when the database is up, and can be stopped before.
func TestStartWithoutTheDatabase(t *testing.T) {
	needsPostgres(t)
	t.Parallel()
	proxy := sqldbtest.NewProxy(t, sqldbtest.URL(t))
	db := sqldbtest.OpenWith(t, proxy.URL, sqldb.Options{Readers: 2})
	proxy.Cut()
	n := startOn(t, db, nil)
	n.log.await("does no work")
	if n.Ready(t.Context()) == nil {
		t.Error("it is ready")
	}
	if err := n.stop(); err != nil {
		t.Error(err)
	}
	var cuts atomic.Int64
	again := startOn(t, db, func(r *running) {
		r.Times.Hold, r.Times.Life = 2*patience, 3*patience // so that a slow machine loses nothing
		r.Cut = func() { cuts.Add(1) }
	})
	again.log.await("does no work")
	proxy.Restore()
	await(t, "it owns all", func() bool { return again.owned() == cluster.Shards })
	if n := cuts.Load(); n > 0 {
		t.Errorf("it was cut off %d times before it had begun anything", n)
	}
	if err := again.Ready(t.Context()); err != nil {
		t.Error(err)
	}
}
