package sqldb

import (
	"path/filepath"
	"testing"

	"github.com/ncruces/go-sqlite3"
)

// TestStatementsStayPrepared: unless it is told not to, SQLite plans a statement anew for
// each value of its LIMIT, which takes longer than to run it.
func TestStatementsStayPrepared(t *testing.T) {
	t.Parallel()
	c, err := openSQLiteConn(t.Context(), privateFSName, filepath.Join(t.TempDir(), "a.db"), sqlitePragmas)
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
