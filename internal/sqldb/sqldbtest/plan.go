package sqldbtest

import (
	"strings"
	"testing"

	"claviger/internal/sqldb"
)

// Numbers begins a statement that reads n as the numbers from 1 to $1, for quickly writing many
// rows with INSERT … SELECT.
const Numbers = `WITH RECURSIVE numbers(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < $1) `

// Fill runs statements that write n rows, and may begin with Numbers. On PostgreSQL it then
// analyzes the tables; the service has no statistics on SQLite.
func Fill(t testing.TB, db *sqldb.DB, n int, statements ...string) {
	t.Helper()
	err := db.Write(t.Context(), func(tx *sqldb.Tx) error {
		for _, sql := range statements {
			if _, err := tx.Exec(t.Context(), sql, n); err != nil {
				return err
			}
		}
		if Postgres() {
			tx.Queue(`ANALYZE`)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// WantIndex checks that a statement uses an index. It may scan only the tables in whole (such as
// those with one row per partner) and its own results.
func WantIndex(t testing.TB, db *sqldb.DB, index string, whole []string, sql string, args ...any) {
	t.Helper()
	scan := sqldb.Value[string]
	verb := `EXPLAIN `
	if !Postgres() {
		verb = `EXPLAIN QUERY PLAN `
		scan = func(r *sqldb.Row, step *string) error {
			var id, parent, unused int64
			return r.Scan(&id, &parent, &unused, step)
		}
	}
	plan, err := sqldb.All(t.Context(), db, scan, verb+sql, args...)
	if err != nil {
		t.Fatalf("explain %s: %v", sql, err)
	}
	text := strings.Join(plan, "\n")
	if !strings.Contains(text, index) {
		t.Errorf("%s is not read by %s:\n%s", sql, index, text)
	}
	for _, line := range plan {
		for _, mark := range []string{"Seq Scan on ", "SCAN "} {
			if _, after, found := strings.Cut(line, mark); found && !strings.Contains(line, "USING") &&
				!startsWithAny(after, append(whole, "json_each")) { // the arguments of ANY
				t.Errorf("%s reads a table whole: %s in\n%s", sql, strings.TrimSpace(line), text)
			}
		}
	}
}

func startsWithAny(text string, names []string) bool {
	for _, name := range names {
		if text == name || strings.HasPrefix(text, name+" ") {
			return true
		}
	}
	return false
}
