package cluster_test

import (
	"testing"

	"claviger/internal/cluster"
	"claviger/internal/sqldb"
	"claviger/internal/sqldb/sqldbtest"
)

// TestJoinAndLeave: shards move to a node that joins, and back when it leaves. Each has exactly one
// owner, epochs rise by one with each change, and nothing is lost.
func TestJoinAndLeave(t *testing.T) {
	needsPostgres(t)
	t.Parallel()
	url := sqldbtest.URL(t)
	a := start(t, url, nil)
	await(t, "a owns all", func() bool { return a.owned() == cluster.Shards })
	b := start(t, url, nil)
	awaitBalance(t, a, b)
	if n := b.owned(); n < 16 || n > 48 {
		t.Errorf("of 64 shards the second node owns %d", n)
	}
	for shard, c := range rows(t, a.db) {
		owner, other := a, b
		if _, ok := b.Claim(shard); ok {
			owner, other = b, a
		}
		if !owner.Valid(c) || other.Valid(c) {
			t.Errorf("the claim %v is valid on %v and %v", c, owner.Valid(c), other.Valid(c))
		}
	}
	if err := b.stop(); err != nil {
		t.Error(err)
	}
	await(t, "a owns all again", func() bool { return a.owned() == cluster.Shards })
	for shard, c := range rows(t, a.db) {
		if want := int64(1); c.Epoch != want && c.Epoch != want+2 {
			t.Errorf("shard %d has epoch %d", shard, c.Epoch)
		}
	}
	if a.count("lost")+b.count("lost") > 0 {
		t.Error("a shard was lost though nobody died")
	}
}

// awaitBalance waits until each shard has the right owner.
func awaitBalance(t *testing.T, all ...*running) {
	t.Helper()
	await(t, "each shard is where it belongs", func() bool {
		ids, err := sqldb.All(t.Context(), all[0].db, sqldb.Value[string], `SELECT node FROM nodes`)
		if err != nil || len(ids) != len(all) {
			return false
		}
		sum := 0
		for _, n := range all {
			sum += n.owned()
		}
		for shard, c := range rows(t, all[0].db) {
			if c.Node != cluster.WinnerOf(shard, ids...) {
				return false
			}
		}
		return sum == cluster.Shards
	})
}
