package cluster_test

import (
	"context"
	"sync/atomic"
	"testing"

	"claviger/internal/cluster"
	"claviger/internal/sqldb"
	"claviger/internal/sqldb/sqldbtest"
)

// job counts the runs of a job on a node.
type job struct {
	begun, ended, woken atomic.Int64
}

// do runs a job on a node until the test ends.
func (j *job) do(t *testing.T, n *cluster.Node, name string) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		n.Do(ctx, name, func() { j.woken.Add(1) }, func(ctx context.Context) {
			j.begun.Add(1)
			<-ctx.Done()
			j.ended.Add(1)
		})
	}()
	t.Cleanup(func() { cancel(); <-ended })
}

func (j *job) runs() bool { return j.begun.Load() == j.ended.Load()+1 }

// TestJobRunsOnOneNode: a job begins when its shard is gained, ends when it is given up, and
// continues elsewhere.
func TestJobRunsOnOneNode(t *testing.T) {
	t.Parallel()
	url := sqldbtest.URL(t)
	dbs := []*sqldb.DB{sqldbtest.OpenWith(t, url, sqldb.Options{}), sqldbtest.OpenWith(t, url, sqldb.Options{})}
	var runs [2]job
	first := startOn(t, dbs[0], nil)
	runs[0].do(t, first.Node, "mail")
	await(t, "the first runs it", runs[0].runs)
	second := startOn(t, dbs[1], func(r *running) { r.Times.HandOver = patience })
	runs[1].do(t, second.Node, "mail")
	if !sqldbtest.Postgres() {
		second.log.await("another process")
	}
	if err := first.stop(); err != nil {
		t.Error(err)
	}
	await(t, "the first has ended it", func() bool { return !runs[0].runs() && runs[0].ended.Load() == 1 })
	if !sqldbtest.Postgres() {
		if runs[1].begun.Load() > 0 {
			t.Error("the second runs it beside the first")
		}
		if err := dbs[0].Close(); err != nil {
			t.Error(err)
		}
	}
	await(t, "the second runs it", runs[1].runs)
	if n := runs[1].begun.Load(); n != 1 {
		t.Errorf("it was begun %d times", n)
	}
}

// TestJobThatEndsIsBegunAgain: the next beat starts it again.
func TestJobThatEndsIsBegunAgain(t *testing.T) {
	t.Parallel()
	n := start(t, sqldbtest.URL(t), nil)
	ctx, cancel := context.WithCancel(t.Context())
	rounds := 0
	n.Do(ctx, "job", nil, func(context.Context) {
		if rounds++; rounds == 3 {
			cancel()
		}
	})
	if rounds != 3 {
		t.Errorf("it was begun %d times", rounds)
	}
}

// TestWake: a job is woken on the node that runs it, from any node.
func TestWake(t *testing.T) {
	t.Parallel()
	url := sqldbtest.URL(t)
	names := []string{"mail", "links", "outages", "pruning", "a", "b", "c", "d"}
	jobs := make([][2]job, len(names))
	nodes := []*running{start(t, url, nil), start(t, url, nil)}
	if sqldbtest.Postgres() {
		awaitBalance(t, nodes...)
	} else {
		await(t, "one owns all", func() bool { return nodes[0].owned()+nodes[1].owned() == cluster.Shards })
	}
	for i, name := range names {
		for k, n := range nodes {
			jobs[i][k].do(t, n.Node, name)
		}
		await(t, "one runs it", func() bool { return jobs[i][0].runs() != jobs[i][1].runs() })
	}
	for i, name := range names {
		for k, n := range nodes {
			runner := &jobs[i][k]
			if !n.Does(name) {
				runner = &jobs[i][1-k]
			}
			before := runner.woken.Load()
			n.Wake(name)
			if !sqldbtest.Postgres() && !n.Does(name) { // this process's commit wakes the other
				execute(t, n.db, `INSERT INTO nodes (node, sessions, until, leaving) VALUES ($1, '', 0, FALSE)`, name)
			}
			await(t, "it is woken", func() bool { return runner.woken.Load() > before })
		}
	}
	if sqldbtest.Postgres() {
		for i := range jobs {
			for k, n := range nodes {
				if woken := jobs[i][k].woken.Load() > 0; woken != n.Does(names[i]) {
					t.Errorf("%s is woken on node %d: %v", names[i], k, woken)
				}
			}
		}
	}
	(*cluster.Node)(nil).Wake("mail")
	new(cluster.Node).Wake("mail")
}
