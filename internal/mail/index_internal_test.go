package mail

import (
	"math"
	"testing"
	"time"

	"claviger/internal/sqldb/sqldbtest"
)

// TestPlans: indexes find due and given-up emails among any number of sent ones. The conditions of
// these indexes name a state by its number.
func TestPlans(t *testing.T) {
	db := sqldbtest.Open(t)
	sqldbtest.Fill(t, db, 20_000, `INSERT INTO mails (cause, thread, recipient, subject, body, html, state, attempts, due_at, lease_until, error, created_at, sent_at) `+sqldbtest.Numbers+
		`SELECT CAST(n AS text), '', '', '', '', '', CASE n % 1000 WHEN 0 THEN 1 WHEN 1 THEN 3 ELSE 2 END, 0, n, 0, '', n, n FROM numbers`)
	sqldbtest.WantIndex(t, db, "mails_due", nil, `SELECT id FROM mails WHERE `+isWaiting+` AND due_at <= $1 ORDER BY due_at`, time.Unix(0, 5000))
	sqldbtest.WantIndex(t, db, "mails_given_up", nil, givenUp, int64(math.MaxInt64), 51)
}
