package app

import (
	"slices"
	"strings"
	"testing"

	"claviger/internal/oauth"
	"claviger/internal/prune"
	"claviger/internal/sqldb"
	"claviger/internal/sqldb/sqldbtest"
)

// TestExpiringRowsAreFound: the statement of each rule is valid, and SQLite finds the rows of a batch
// by an index. (PostgreSQL scans empty tables in any case.)
func TestExpiringRowsAreFound(t *testing.T) {
	db := sqldbtest.Open(t)
	a := &App{services: &Services{OAuth: &oauth.Server{Keys: &oauth.Keys{DB: db, Now: Now}}}}
	rules := slices.Concat(a.expiring(), oauth.ExpiringAnswers())
	if n, err := prune.Rows(t.Context(), db, Now(), rules); n != 0 || err != nil {
		t.Errorf("pruned %d of an empty database, %v", n, err)
	}
	looked := 0
	for _, r := range rules {
		if r.Do != nil || r.ByID || sqldbtest.Postgres() {
			continue
		}
		looked++
		steps, err := sqldb.All(t.Context(), db, func(row *sqldb.Row, step *string) error {
			var id, parent, unused int64
			return row.Scan(&id, &parent, &unused, step)
		}, `EXPLAIN QUERY PLAN `+r.Statement(), Now(), 1000)
		if err != nil {
			t.Fatal(err)
		}
		plan := strings.Join(steps, "\n")
		if strings.Contains(plan, "SCAN") || strings.Contains(plan, "TEMP B-TREE") {
			t.Errorf("%s is pruned by a scan:\n%s", r.Table, plan)
		}
	}
	if looked < 15 && !sqldbtest.Postgres() {
		t.Errorf("looked at %d rules; is the test blind?", looked)
	}
}
