package app_test

import (
	"errors"
	"fmt"
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
	last := func() string {
		t.Helper()
		var list []sqldb.Sequence
		err := db.Read(t.Context(), func(tx *sqldb.Tx) (err error) {
			list, err = sqldb.Sequences(t.Context(), tx)
			return err
		})
		if err != nil || len(list) == 0 {
			t.Fatalf("%d sequences, %v", len(list), err)
		}
		return fmt.Sprint(list)
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
	before := last()
	_, err := app.Finish(t.Context(), cfg, app.Finishing{Gap: 1000})
	if err == nil || !strings.Contains(err.Error(), "stop") || last() != before {
		t.Errorf("while it runs: %v", err)
	}
	if err := errors.Join(stop(), db.ReleaseExclusive()); err != nil {
		t.Fatal(err)
	}
	if _, err := app.Finish(t.Context(), cfg, app.Finishing{Gap: 1000}); err != nil || last() == before {
		t.Errorf("after it: %v", err)
	}
}
