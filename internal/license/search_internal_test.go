package license

import (
	"testing"

	"claviger/internal/event"
	"claviger/internal/sqldb/sqldbtest"
)

// TestUnredeemedPlan checks that only the blocks of the partners' inactive licenses are read: a
// million licenses of 300 partners have about as many blocks as here.
func TestUnredeemedPlan(t *testing.T) {
	db := sqldbtest.Open(t)
	sqldbtest.Fill(t, db, 3600, `INSERT INTO license_blocks (partner_id, status, block, n) `+sqldbtest.Numbers+
		`SELECT n % 300 + 1, n / 300 % 3 + 1, n / 900, 100 FROM numbers`)
	index := "license_blocks_pkey"
	if !sqldbtest.Postgres() {
		index = "USING PRIMARY KEY (partner_id=? AND status=?)" // the table is its own index
	}
	sqldbtest.WantIndex(t, db, index, nil, unredeemed, []int64{3, 7}, int(event.Inactive))
}
