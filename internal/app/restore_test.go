package app_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"claviger/internal/app"
	"claviger/internal/cluster"
	"claviger/internal/sqldb"
	"claviger/internal/sqldb/sqldbtest"
)

// TestRestoreFinishWaits: a restored database is not finished while the service runs on it, because
// its nodes would give ids twice.
func TestRestoreFinishWaits(t *testing.T) {
	cfg := config(t)
	db := sqldbtest.OpenWith(t, cfg.DB, sqldb.Options{})
	if _, err := db.Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	// skipped reports which sequences have passed the gap. A running node draws ids, too.
	const gap = 1_000_000
	skipped := func() (some, all bool) {
		t.Helper()
		var list []sqldb.Sequence
		err := db.Read(t.Context(), func(tx *sqldb.Tx) (err error) {
			list, err = sqldb.Sequences(t.Context(), tx)
			return err
		})
		if err != nil || len(list) == 0 {
			t.Fatalf("%d sequences, %v", len(list), err)
		}
		past := func(s sqldb.Sequence) bool { return s.Last >= gap }
		before := func(s sqldb.Sequence) bool { return !past(s) }
		return slices.ContainsFunc(list, past), !slices.ContainsFunc(list, before)
	}
	stop := func() error { return nil }
	if sqldbtest.Postgres() {
		a, err := app.New(t.Context(), cfg)
		if err != nil {
			t.Fatal(err)
		}
		stop = runApp(t, a)
		for n := 0; n == 0; { // until the test times out
			if n, err = cluster.Running(t.Context(), db); err != nil {
				t.Fatal(err)
			}
		}
	} else if alone, err := db.AcquireExclusive(t.Context(), func() {}); !alone || err != nil {
		t.Fatal(err)
	}
	_, err := app.Finish(t.Context(), cfg, app.Finishing{Gap: gap})
	if some, _ := skipped(); err == nil || !strings.Contains(err.Error(), "stop") || some {
		t.Errorf("while it runs: %v", err)
	}
	if err := errors.Join(stop(), db.ReleaseExclusive()); err != nil {
		t.Fatal(err)
	}
	_, err = app.Finish(t.Context(), cfg, app.Finishing{Gap: gap})
	if _, all := skipped(); err != nil || !all {
		t.Errorf("after it: %v", err)
	}
}
