package sqldb

import (
	"path/filepath"
	"testing"

	"github.com/ncruces/go-sqlite3"

	"claviger/internal/sqldb/internal/litefile"
)

// TestStatementsStayPrepared: by default SQLite plans a statement again for each value of its
// LIMIT, which takes longer than running it.
func TestStatementsStayPrepared(t *testing.T) {
	t.Parallel()
	c, err := openSQLiteConn(t.Context(), litefile.Private, filepath.Join(t.TempDir(), "a.db"), sqlitePragmas)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	if err := c.exec(`CREATE TABLE t (id INTEGER PRIMARY KEY)`); err != nil {
		t.Fatal(err)
	}
	const sql = `SELECT id FROM t ORDER BY id LIMIT $1`
	for limit := range 3 {
		if err := c.run(&statement{sql: sql, args: []any{limit}}); err != nil {
			t.Fatal(err)
		}
	}
	if n := c.prepared[sql].Status(sqlite3.STMTSTATUS_REPREPARE, false); n != 0 {
		t.Errorf("the statement was prepared again %d times", n)
	}
}
