package mail

import (
	"strings"
	"testing"

	"claviger/internal/sqldb"
	"claviger/internal/sqldb/sqldbtest"
)

// TestWaitingMailsHaveAnIndex: SQLite reads due mails by their partial index, whose
// condition names the state by its number. PostgreSQL plans by statistics, which an
// empty table does not have.
func TestWaitingMailsHaveAnIndex(t *testing.T) {
	if sqldbtest.Postgres() {
		t.Skip("the plan of an empty table says nothing on PostgreSQL")
	}
	plan, err := sqldb.All(t.Context(), sqldbtest.Open(t), func(r *sqldb.Row, step *string) error {
		var id, parent, unused int64
		return r.Scan(&id, &parent, &unused, step)
	}, `EXPLAIN QUERY PLAN SELECT id FROM mails WHERE `+isWaiting+` AND due_at <= $1 ORDER BY due_at`, 1)
	if err != nil || !strings.Contains(strings.Join(plan, "\n"), "mails_due") {
		t.Errorf("due mails are read by %q, %v", plan, err)
	}
}
