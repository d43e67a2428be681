package cluster_test

import (
	"context"
	"log/slog"
	"os"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"claviger/internal/cluster"
	"claviger/internal/sqldb"
	"claviger/internal/sqldb/sqldbtest"
)

// TestStartsInTheEnd: a failing start is retried with growing delays until it succeeds. Meanwhile
// the node is not ready, and logs that once.
func TestStartsInTheEnd(t *testing.T) {
	if sqldbtest.Postgres() {
		t.Skip("nodes on PostgreSQL need no lock")
	}
	t.Parallel()
	want := []time.Duration{1, 2, 4, 8, 16, 32, 60, 60}
	for i := range want {
		want[i] *= time.Second
	}
	path := sqldbtest.URL(t)
	if err := os.Mkdir(path+"-sole", 0o700); err != nil {
		t.Fatal(err)
	}
	var waits []time.Duration
	n := start(t, path, func(r *running) {
		r.Wait = func(_ context.Context, d time.Duration) {
			if r.Ready(t.Context()) == nil {
				t.Error("a node that cannot start is ready")
			}
			if waits = append(waits, d); len(waits) == len(want) {
				if err := os.Remove(path + "-sole"); err != nil {
					t.Error(err)
				}
			}
		}
	})
	n.log.await("is over")
	await(t, "every shard is owned", func() bool { return n.owned() == cluster.Shards })
	if diff := cmp.Diff(want, waits); diff != "" {
		t.Errorf("waits (-want +got):\n%s", diff)
	}
	if err := n.Ready(t.Context()); err != nil {
		t.Errorf("it works and is not ready: %v", err)
	}
	if n := n.log.count("does no work"); n != 1 {
		t.Errorf("one failure is logged %d times", n)
	}
}

// TestWaitEndsWithRun: a node that cannot start can be stopped.
func TestWaitEndsWithRun(t *testing.T) {
	if sqldbtest.Postgres() {
		t.Skip("nodes on PostgreSQL need no lock")
	}
	t.Parallel()
	path := sqldbtest.URL(t)
	if err := os.Mkdir(path+"-sole", 0o700); err != nil {
		t.Fatal(err)
	}
	n := start(t, path, nil)
	n.log.await("does no work")
	if err := n.stop(); err != nil {
		t.Error(err)
	}
}

// TestSecondProcessWaits: on SQLite the second node owns nothing and is ready, until the first has
// closed its database.
func TestSecondProcessWaits(t *testing.T) {
	if sqldbtest.Postgres() {
		t.Skip("nodes on PostgreSQL share the work")
	}
	t.Parallel()
	path := sqldbtest.URL(t)
	first := start(t, path, nil)
	await(t, "the first owns all", func() bool { return first.owned() == cluster.Shards })
	second := start(t, path, nil)
	second.log.await("another process serves this database")
	if second.owned() != 0 || second.Does("mail") || second.Ready(t.Context()) != nil {
		t.Errorf("the second owns %d shards, ready: %v", second.owned(), second.Ready(t.Context()))
	}
	if err := first.stop(); err != nil {
		t.Error(err)
	}
	if err := first.db.Close(); err != nil {
		t.Error(err)
	}
	await(t, "the second owns all", func() bool { return second.owned() == cluster.Shards })
	c, _ := second.Claim(3)
	err := second.db.Write(t.Context(), func(tx *sqldb.Tx) error {
		held, err := second.Fence(tx, []cluster.Claim{c}).Held(t.Context())
		if err == nil && !held(c) {
			t.Error("the only node's claim does not hold")
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}

// TestStopDrains: a stopping node lets running work of all shards end for one drain time, cuts the
// rest, and only then gives them up; another gets them immediately.
func TestStopDrains(t *testing.T) {
	t.Parallel()
	url := sqldbtest.URL(t)
	var begun time.Time
	a := start(t, url, func(r *running) {
		r.Release = func(ctx context.Context, c cluster.Claim) {
			if end, ok := ctx.Deadline(); !ok || end.Sub(begun) > fast.Drain+fast.Drain/2 {
				t.Errorf("it may take until %v after the stop", end.Sub(begun))
			}
			if c.Shard == 3 {
				<-ctx.Done() // a partner that hangs
			}
			if _, ok := r.Claim(c.Shard); ok || !r.Valid(c) {
				t.Errorf("while shard %d is released it can be claimed: %v, or what is under way is invalid", c.Shard, ok)
			}
			r.tell("released", c)
		}
	})
	await(t, "a owns all", func() bool { return a.owned() == cluster.Shards })
	claims := a.claims()
	if sqldbtest.Postgres() {
		defer func() {
			b := start(t, url, nil)
			await(t, "b owns all", func() bool { return b.owned() == cluster.Shards })
		}()
	}
	begun = time.Now()
	if err := a.stop(); err != nil {
		t.Error(err)
	}
	if a.count("released") != cluster.Shards || a.owned() != 0 || nodes(t, a.db) != 0 {
		t.Errorf("%d released, %d owned, %d nodes", a.count("released"), a.owned(), nodes(t, a.db))
	}
	for shard, row := range rows(t, a.db) {
		if row.Node != "" || row.Epoch != 2 {
			t.Errorf("shard %d is stored as %v", shard, row)
		}
		if a.Valid(claims[shard]) {
			t.Errorf("the claim to shard %d is valid after the end", shard)
		}
	}
	if sqldbtest.Postgres() {
		checkNoConnections(t, url, a.db)
	}
}

// checkNoConnections closes a database and checks that none of its connections is left.
func checkNoConnections(t *testing.T, url string, db *sqldb.DB) {
	t.Helper()
	other := sqldbtest.OpenWith(t, url, sqldb.Options{Readers: 2})
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	await(t, "no connection is left", func() bool {
		n, err := sqldb.One(t.Context(), other, sqldb.Value[int64], `SELECT count(*) FROM pg_stat_activity WHERE application_name = $1`, db.SessionName())
		return err == nil && n == 0
	})
}

// TestStopBeatsInTime: while running requests drain, beats continue at their pace.
func TestStopBeatsInTime(t *testing.T) {
	needsPostgres(t)
	t.Parallel()
	begun := make(chan struct{}, cluster.Shards)
	n := start(t, sqldbtest.URL(t), func(r *running) {
		r.Times.Drain = 2 * r.Times.Hold
		r.Release = func(ctx context.Context, _ cluster.Claim) { begun <- struct{}{}; <-ctx.Done() }
	})
	await(t, "it owns all", func() bool { return n.owned() == cluster.Shards })
	for _, sql := range []string{
		`CREATE TABLE beats (at BIGINT)`,
		`CREATE FUNCTION beat() RETURNS TRIGGER LANGUAGE plpgsql AS 'BEGIN INSERT INTO beats VALUES (1); RETURN NEW; END'`,
		`CREATE TRIGGER beat AFTER UPDATE ON nodes FOR EACH ROW EXECUTE FUNCTION beat()`,
	} {
		execute(t, n.db, sql)
	}
	at := time.Now()
	if err := n.stop(); err != nil {
		t.Error(err)
	}
	beats, err := sqldb.One(t.Context(), n.db, sqldb.Value[int64], `SELECT count(*) FROM beats`)
	if err != nil {
		t.Fatal(err)
	}
	// One for the start of each beat, and at the end one for each released shard.
	if most := int64(time.Since(at)/fast.Beat) + cluster.Shards + 10; beats > most || beats < 4 {
		t.Errorf("it beats %d times in %v", beats, time.Since(at))
	}
}

// TestLeavingGoesToTheOthers: a stopping node gives its shards to the others, and none comes back.
func TestLeavingGoesToTheOthers(t *testing.T) {
	needsPostgres(t)
	t.Parallel()
	url := sqldbtest.URL(t)
	all := []*running{start(t, url, nil), start(t, url, nil), start(t, url, nil)}
	awaitBalance(t, all...)
	epochs := func() (sum int64) {
		for _, c := range rows(t, all[0].db) {
			sum += c.Epoch
		}
		return sum
	}
	before, moved := epochs(), int64(all[2].owned())
	if err := all[2].stop(); err != nil {
		t.Error(err)
	}
	if n := countRows(t, all[0].db, func(c cluster.Claim) bool { return c.Node == "" }); n != 0 {
		t.Errorf("%d shards were given to nobody", n)
	}
	awaitBalance(t, all[:2]...)
	if got := epochs() - before; got != moved {
		t.Errorf("%d shards changed their owner %d times", moved, got)
	}
}

// TestDefaultTimes: a node without times has the real ones.
func TestDefaultTimes(t *testing.T) {
	t.Parallel()
	n := start(t, sqldbtest.URL(t), func(r *running) { r.Times = cluster.Times{} })
	await(t, "every shard is owned", func() bool { return n.owned() == cluster.Shards })
	if sqldbtest.Postgres() {
		ahead, err := sqldb.One(t.Context(), n.db, sqldb.Value[int64], `SELECT until - CAST(extract(epoch FROM clock_timestamp()) * 1000000000 AS BIGINT) FROM nodes`)
		if d := time.Duration(ahead); err != nil || d > cluster.DefaultTimes.Life || d < cluster.DefaultTimes.Life/2 {
			t.Errorf("the node's row ends in %v: %v", d, err)
		}
	}
	if err := n.stop(); err != nil {
		t.Error(err)
	}
	if d := cluster.DefaultTimes; d.Hold+3*time.Second > d.Life || d.Life+d.Beat > 10*time.Second || d.Drain >= d.Hold {
		t.Errorf("the times do not fit together: %+v", d)
	}
}

// TestWithoutFunctions: a node that only distributes jobs needs no functions.
func TestWithoutFunctions(t *testing.T) {
	t.Parallel()
	db := sqldbtest.Open(t)
	n := &cluster.Node{DB: db, Log: slog.New(slog.DiscardHandler), Times: fast}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() { ended <- n.Run(ctx) }()
	await(t, "it does its job", func() bool { return n.Does("mail") })
	if sqldbtest.Postgres() {
		execute(t, db, `DELETE FROM nodes`)
		await(t, "it joined again", func() bool { return n.Does("mail") && nodes(t, db) == 1 })
	}
	cancel()
	if err := <-ended; err != nil || n.Does("mail") {
		t.Errorf("%v, does it: %v", err, n.Does("mail"))
	}
}
