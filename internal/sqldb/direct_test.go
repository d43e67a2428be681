package sqldb_test

import (
	"strings"
	"testing"

	"claviger/internal/sqldb"
	"claviger/internal/sqldb/sqldbtest"
)

// TestDirectURL: a direct URL to another database is refused, because migrations would change that one.
func TestDirectURL(t *testing.T) {
	needsServer(t)
	url := sqldbtest.URL(t)
	sqldbtest.OpenWith(t, url, sqldb.Options{DirectURL: url})
	db, err := sqldb.Open(t.Context(), url, sqldb.Options{DirectURL: sqldbtest.URL(t)})
	if err == nil {
		_ = db.Close()
	}
	if err == nil || !strings.Contains(err.Error(), "another database") {
		t.Errorf("got %v", err)
	}
}
