package profile

import (
	"testing"
	"time"

	"claviger/internal/sqldb/sqldbtest"
)

// TestLackingPlan checks that profiles are read in the order of their key until there are enough.
// For the contacts, which are few per partner, SQLite uses their index and PostgreSQL reads all of
// them in one scan.
func TestLackingPlan(t *testing.T) {
	db := sqldbtest.Open(t)
	sqldbtest.Fill(t, db, 2000,
		`INSERT INTO partners (id, name, brand, client_id, strict, single_key, created_at, updated_at) `+sqldbtest.Numbers+
			`SELECT n, '', '', CAST(n AS text), FALSE, FALSE, 0, 0 FROM numbers`,
		`INSERT INTO profiles (partner_id, webhook_url, webhook_valid_at, redirect_url, redirect_valid_at, redirect_epoch, created_at, updated_at) `+sqldbtest.Numbers+
			`SELECT n, 'https://a.example', 1, 'https://a.example', 1, 0, 0, 0 FROM numbers`,
		`INSERT INTO contacts (partner_id, name, email, email_key, created_at, updated_at) `+sqldbtest.Numbers+
			`SELECT n, '', '', '', 0, 0 FROM numbers`)
	index, whole := "contacts_email", []string{"p"} // in the order of its key
	if sqldbtest.Postgres() {
		index, whole = "profiles_pkey", []string{"contacts"}
	}
	sqldbtest.WantIndex(t, db, index, whole, lacking, time.Unix(1, 0), 50)
}
