package sqldb_test

import (
	"testing"

	"claviger/internal/sqldb"
	"claviger/internal/sqldb/sqldbtest"
)

// A rejected statement does not mean that the database is unavailable: its caller would retry
// forever.
func TestARefusedStatementIsNoOutage(t *testing.T) {
	db := sqldbtest.Open(t)
	for name, sql := range map[string]string{
		"a breach of a unique index": `INSERT INTO breach (id) VALUES (1), (1)`,
		"a breach of a check":        `INSERT INTO breach (id) VALUES (-1)`,
		"a table that is not there":  `INSERT INTO missing (id) VALUES (1)`,
	} {
		t.Run(name, func(t *testing.T) {
			err := db.Write(t.Context(), func(tx *sqldb.Tx) error {
				tx.Queue(`CREATE TABLE breach (id bigint PRIMARY KEY CHECK (id > 0))`)
				tx.Queue(sql)
				return nil
			})
			if err == nil || sqldb.IsUnavailable(err) {
				t.Errorf("%v, unavailable: %v", err, sqldb.IsUnavailable(err))
			}
		})
	}
}
