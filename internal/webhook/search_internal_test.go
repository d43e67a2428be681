package webhook

import (
	"testing"
	"time"

	"claviger/internal/sqldb/sqldbtest"
)

// TestDuePlan: a lane reads due deliveries in order and stops when it has enough, however many wait
// behind them. PostgreSQL once read and sorted all of them for each search.
func TestDuePlan(t *testing.T) {
	db := sqldbtest.Open(t)
	sqldbtest.Fill(t, db, 5000,
		`INSERT INTO outbox (event_id, partner_id, license_id, state, attempts, due_at, created_at, updated_at) `+sqldbtest.Numbers+
			`SELECT n, n % 20, n, 1, 0, 1, n, n FROM numbers`,
		`INSERT INTO deliveries (event_id, partner_id, license_id, license_key, kind, body, created_at) `+sqldbtest.Numbers+
			`SELECT n, n % 20, n, '', 1, '', n FROM numbers`)
	index := "SEARCH h USING INDEX outbox_due"
	if sqldbtest.Postgres() {
		index = "Index Scan using outbox_due on outbox h"
	}
	for _, condition := range []string{`h.due_at <= $2`, `h.not_before <= $2`} {
		sqldbtest.WantIndex(t, db, index, nil, selectDue(condition), 7, time.Unix(1, 0), 64, time.Time{}, 0)
	}
}
