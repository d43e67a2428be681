package sqldb_test

import (
	"strings"
	"testing"

	"claviger/internal/sqldb"
	"claviger/internal/sqldb/sqldbtest"
)

// A statement that is planned once while a table is small gets the plan for a large one: the plan
// outlives the size. The setting ends with its transaction.
func TestPlanOnceByIndex(t *testing.T) {
	if !sqldbtest.Postgres() {
		t.Skip("SQLite plans anew")
	}
	db := sqldbtest.Open(t)
	plan := func(once bool) (list []string) {
		t.Helper()
		err := db.Write(t.Context(), func(tx *sqldb.Tx) error {
			if once {
				tx.PlanOnce()
			}
			var err error
			list, err = sqldb.All(t.Context(), tx, sqldb.Value[string], `EXPLAIN SELECT n FROM small WHERE id = ANY('{1,2,3}')`)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		return list
	}
	if err := db.Write(t.Context(), func(tx *sqldb.Tx) error {
		for _, sql := range []string{`CREATE TABLE small (id bigint PRIMARY KEY, n bigint)`, `INSERT INTO small VALUES (1, 1), (2, 2), (3, 3)`, `ANALYZE small`} {
			if _, err := tx.Exec(t.Context(), sql); err != nil {
				return err
			}
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	for _, once := range []bool{true, false} {
		if list := plan(once); strings.Contains(list[0], "Seq Scan") == once {
			t.Errorf("planned once: %v: %q", once, list)
		}
	}
}
