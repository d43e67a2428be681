package cluster_test

import (
	"strings"
	"testing"
	"time"

	"claviger/internal/cluster"
	"claviger/internal/sqldb"
	"claviger/internal/sqldb/sqldbtest"
)

// TestList: a running node is listed with its version; after it left, it is not.
func TestList(t *testing.T) {
	t.Parallel()
	url := sqldbtest.URL(t)
	db := sqldbtest.OpenWith(t, url, sqldb.Options{Readers: 2})
	list := func() []cluster.Member {
		t.Helper()
		all, err := cluster.List(t.Context(), db)
		if err != nil {
			t.Fatal(err)
		}
		return all
	}
	if all := list(); len(all) != 0 {
		t.Errorf("before the start: %+v", all)
	}
	n := start(t, url, func(r *running) {
		r.Host = "rome"
		r.Version = "1.4.0"
	})
	await(t, "it owns all", func() bool { return n.owned() == cluster.Shards })
	all := list()
	if len(all) != 1 || all[0].Host != "rome" || all[0].Version != "1.4.0" || all[0].Shards != cluster.Shards ||
		all[0].Silent || all[0].Leaving || time.Since(all[0].BeatAt) > time.Minute || all[0].StartedAt.IsZero() {
		t.Errorf("one node: %+v", all)
	}
	for version, want := range map[string]int{"1.4.0": 0, "1.5.0": 1} {
		older, err := cluster.Needing(t.Context(), db, version)
		if !sqldbtest.Postgres() {
			want = 1 // another process serves
		}
		if len(older) != want || err != nil {
			t.Errorf("nodes that need a form that %s does not: %+v, %v", version, older, err)
		}
	}
	if older, err := cluster.Needing(t.Context(), n.db, "1.4.0"); len(older) != 0 || err != nil {
		t.Errorf("for the node itself: %+v, %v", older, err)
	}
	if err := n.stop(); err != nil {
		t.Error(err)
	}
	if all := list(); len(all) != 0 {
		t.Errorf("after the end: %+v", all)
	}
}

// TestSilentIsListed: a node that fell silent is listed for a minute, also after others took over.
func TestSilentIsListed(t *testing.T) {
	needsPostgres(t)
	t.Parallel()
	db := sqldbtest.Open(t)
	now, _, err := db.Clock(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for id, ago := range map[string]time.Duration{"new": 20 * time.Second, "old": 70 * time.Second} {
		execute(t, db, `INSERT INTO nodes (node, sessions, until, leaving, version, beat_at) VALUES ($1, $1, 1, FALSE, '1.0.0', $2)`, id, now.Add(-ago))
	}
	check := func() {
		t.Helper()
		all, err := cluster.List(t.Context(), db)
		if len(all) != 1 || all[0].ID != "new" || !all[0].Silent || err != nil {
			t.Errorf("%+v, %v", all, err)
		}
		older, err := cluster.Needing(t.Context(), db, "1.1.0")
		if len(older) != 1 || err != nil {
			t.Errorf("%+v, %v", older, err)
		}
	}
	check()
	n := startOn(t, db, func(r *running) { r.Version = "1.1.0" })
	await(t, "the others are removed", func() bool { return n.log.count("silent for too long") == 2 })
	if err := n.stop(); err != nil {
		t.Error(err)
	}
	check()
}

// TestTooOldNode: a node that is too old for the schema renews no claims, so it begins nothing after
// a pause. It still leaves in order.
func TestTooOldNode(t *testing.T) {
	a, b := pair(t)
	a.Version = "1.0.0"
	b.Version = "1.1.0"
	execute(t, a.db, `UPDATE oldest_program SET version = '1.1.0'`)
	step(t, b.Tick)
	if err := a.Tick(t.Context()); err == nil || !strings.Contains(err.Error(), "needs claviger 1.1.0 or newer") {
		t.Errorf("a beat of a node that is too old: %v", err)
	}
}
