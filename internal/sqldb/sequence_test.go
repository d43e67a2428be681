package sqldb_test

import (
	"testing"

	"claviger/internal/sqldb"
	"claviger/internal/sqldb/sqldbtest"
)

// TestAdvance: drawn ids and row ids continue higher, even in a table that never had a row, and
// again after a second call.
func TestAdvance(t *testing.T) {
	db := sqldbtest.Open(t)
	ids := func() (drawn, row int64) {
		write(t, db, func(tx *sqldb.Tx) error {
			got, err := sqldb.NextIDs(tx, "event_ids", 1).One(t.Context())
			if err != nil {
				return err
			}
			drawn = got
			row, err = sqldb.One(t.Context(), tx, sqldb.Value[int64], `INSERT INTO webhook_responses
				(event_id, request_header, response_status, response_body, response_time, url, success, created_at, updated_at)
				VALUES (1, '', 0, '', 0, '', $1, 0, 0) RETURNING id`, true)
			return err
		})
		return drawn, row
	}
	if err := db.Advance(t.Context(), 1000); err != nil {
		t.Fatal(err)
	}
	drawn, row := ids()
	if drawn != 1001 || row != 1001 {
		t.Errorf("the first ids are %d and %d", drawn, row)
	}
	if err := db.Advance(t.Context(), 1000); err != nil {
		t.Fatal(err)
	}
	if drawn, row := ids(); drawn != 2002 || row != 2002 {
		t.Errorf("the next ids are %d and %d", drawn, row)
	}
}
