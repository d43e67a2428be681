package event_test

import (
	"strings"
	"testing"

	"claviger/internal/event"
	"claviger/internal/sqldb"
	"claviger/internal/sqldb/sqldbtest"
)

// TestKindsHaveAnIndex checks that SQLite reads the events of a kind by their partial index. The
// index leaves out the first kind of every license, by its number.
func TestKindsHaveAnIndex(t *testing.T) {
	if sqldbtest.Postgres() {
		t.Skip("the plan of an empty table says nothing on PostgreSQL")
	}
	plan, err := sqldb.All(t.Context(), sqldbtest.Open(t), func(r *sqldb.Row, step *string) error {
		var id, parent, unused int64
		return r.Scan(&id, &parent, &unused, step)
	}, `EXPLAIN QUERY PLAN SELECT ord FROM events WHERE partner_id = $1 AND kind = $2 AND kind <> `+sqldb.Literal(event.Purchase)+` ORDER BY ord`, 1, 2)
	if err != nil || !strings.Contains(strings.Join(plan, "\n"), "events_kind") {
		t.Errorf("events of a kind are read by %q, %v", plan, err)
	}
}
