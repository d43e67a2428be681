package webhook

import (
	"testing"
	"time"

	"claviger/internal/sqldb/sqldbtest"
)

// TestDuePlan: a lane reads what is due in its order and stops when it has enough, whatever
// waits behind that. PostgreSQL once read and sorted all of it for each search.
func TestDuePlan(t *testing.T) {
	db := sqldbtest.Open(t)
	sqldbtest.Fill(t, db, 5000, `INSERT INTO outbox (event_id, partner_id, license_id, state, attempts, due_at, created_at, updated_at) `+sqldbtest.Numbers+
		`SELECT n, n % 20, n, 1, 0, 1, n, n FROM numbers`)
	index := "SEARCH h USING INDEX outbox_due"
	if sqldbtest.Postgres() {
		index = "Index Scan using outbox_due on outbox h"
	}
	sqldbtest.WantIndex(t, db, index, nil, `SELECT h.event_id FROM outbox AS h WHERE h.partner_id = $1 AND h.`+IsPending+` AND h.due_at <= $2
		AND (h.due_at, h.event_id) > ($4, $5) AND `+isFirst+` ORDER BY h.due_at, h.event_id LIMIT $3`, 7, time.Unix(1, 0), 64, time.Time{}, 0)
}
