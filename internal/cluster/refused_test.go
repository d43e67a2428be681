package cluster_test

import (
	"testing"
	"time"

	"claviger/internal/cluster"
	"claviger/internal/sqldb/sqldbtest"
)

// TestRefusedClaim: if the database rejects a node's claims, the node logs that and is not ready,
// although its beats succeed.
func TestRefusedClaim(t *testing.T) {
	needsPostgres(t)
	t.Parallel()
	url := sqldbtest.URL(t)
	a := newStepper(t, url)
	execute(t, a.db, `ALTER TABLE shards ADD CONSTRAINT low CHECK (epoch < 1)`)
	if err := a.Tick(t.Context()); err == nil || a.owned() > 0 {
		t.Errorf("%d shards are owned, %v", a.owned(), err)
	}
	n := start(t, url, nil)
	n.log.await("does no work")
	if n.Ready(t.Context()) == nil {
		t.Error("it is ready")
	}
	execute(t, a.db, `ALTER TABLE shards DROP CONSTRAINT low`)
	await(t, "it owns its part", func() bool { return n.owned() > 0 })
	await(t, "it is ready", func() bool { return n.Ready(t.Context()) == nil })
}

// TestRefusedHandOver: a shard that could not be given to another node is used by none, and is
// given as soon as possible.
func TestRefusedHandOver(t *testing.T) {
	a, b := pair(t)
	execute(t, a.db, `ALTER TABLE shards ADD CONSTRAINT low CHECK (epoch < 2)`)
	a.Pass(time.Second)
	step(t, a.Tick)
	a.Settle()
	for range 2 {
		if err := a.Tick(t.Context()); err == nil || a.owned() != cluster.Shards-1 {
			t.Errorf("%d shards are owned, %v", a.owned(), err)
		}
	}
	execute(t, a.db, `ALTER TABLE shards DROP CONSTRAINT low`)
	step(t, a.Tick, b.Tick)
	if a.owned() != cluster.Shards-1 || b.owned() != 1 {
		t.Errorf("a owns %d, b %d", a.owned(), b.owned())
	}
}
