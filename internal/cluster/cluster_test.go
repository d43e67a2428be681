package cluster_test

import (
	"testing"

	"claviger/internal/cluster"
	"claviger/internal/sqldb"
	"claviger/internal/sqldb/sqldbtest"
)

// TestOneNodeOwnsEverything: on both databases the only node owns every shard, acts for every
// partner and runs every job, until it stops.
func TestOneNodeOwnsEverything(t *testing.T) {
	t.Parallel()
	n := start(t, sqldbtest.URL(t), nil)
	await(t, "every shard is owned", func() bool { return n.owned() == cluster.Shards })
	if err := n.Ready(t.Context()); err != nil {
		t.Errorf("a node that works is not ready: %v", err)
	}
	for _, partner := range []int64{1, 64, 1 << 40, -1} {
		c, ok := n.Claim(cluster.ShardOf(partner))
		if !n.Owns(partner) || !ok || !n.Valid(c) || c.Shard != cluster.ShardOf(partner) {
			t.Errorf("partner %d: claim %v, %v", partner, c, ok)
		}
	}
	if !n.Does("mail") {
		t.Error("the only node does not do a job")
	}
	claims := n.claims()
	if err := n.stop(); err != nil {
		t.Error(err)
	}
	if n.count("released") != cluster.Shards || n.count("lost") != 0 || n.owned() != 0 || n.Does("mail") {
		t.Errorf("after the end %d are released, %d lost, %d owned", n.count("released"), n.count("lost"), n.owned())
	}
	for _, c := range claims {
		if n.Valid(c) {
			t.Fatalf("after the end %v is valid", c)
		}
	}
	if got := nodes(t, n.db); got != 0 {
		t.Errorf("after the end %d nodes are registered", got)
	}
}

// TestNilOwnsNothing: a nil node can be asked.
func TestNilOwnsNothing(t *testing.T) {
	t.Parallel()
	var n *cluster.Node
	if _, ok := n.Claim(0); ok || n.Valid(cluster.Claim{}) || n.Owns(1) || n.Does("mail") || n.Ready(t.Context()) != nil {
		t.Error("a nil node owns something")
	}
	db := sqldbtest.Open(t)
	err := db.Write(t.Context(), func(tx *sqldb.Tx) error {
		held, err := n.Fence(tx, []cluster.Claim{{}}).Held(t.Context())
		if err == nil && held(cluster.Claim{}) {
			t.Error("a nil node's claim holds")
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
	if idle := (&cluster.Node{}); idle.Does("mail") || idle.Valid(cluster.Claim{}) || idle.Valid(cluster.Claim{Shard: -1}) || idle.Valid(cluster.Claim{Shard: cluster.Shards}) {
		t.Error("a node that does not run owns something")
	}
}

// TestShardOf: shards and their winners are part of the protocol; nodes of different versions must
// agree.
func TestShardOf(t *testing.T) {
	t.Parallel()
	for partner, want := range map[int64]int{0: 0, 1: 1, 63: 63, 64: 0, 130: 2, -1: 63} {
		if got := cluster.ShardOf(partner); got != want {
			t.Errorf("partner %d is in shard %d, want %d", partner, got, want)
		}
	}
	var got string
	for shard := range 64 {
		got += cluster.WinnerOf(shard, "a", "b", "c")
	}
	if want := "ccbbbbaacaccbabacabbabcbcbcbbaaacaaaaacbbcaabaccccbaaacbacabbbac"; got != want {
		t.Errorf("the winners are %s, want %s", got, want)
	}
	if got := cluster.WinnerOf(0); got != "" {
		t.Errorf("without nodes %q wins", got)
	}
	for job, want := range map[string]int{"mail": 46, "links": 46, "outages": 47, "": 5} {
		if got := cluster.ShardOfJob(job); got != want {
			t.Errorf("the job %q is in shard %d, want %d", job, got, want)
		}
	}
	want := cluster.Times{
		Beat: 1e9, Hold: 6e9, Life: 9e9, Steady: 5e9, Drain: 5e9, HandOver: 1e9,
	}
	if cluster.DefaultTimes != want {
		t.Errorf("the times are %+v", cluster.DefaultTimes)
	}
}
