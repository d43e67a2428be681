package app_test

import (
	"errors"
	"strings"
	"testing"

	"claviger/internal/app"
	"claviger/internal/sqldb/sqldbtest"
)

// TestADatabaseWithoutData: a command that reads does not open a database without our tables. On
// PostgreSQL such a database may exist.
func TestADatabaseWithoutData(t *testing.T) {
	cfg := app.Defaults(app.Serve)
	cfg.DB = sqldbtest.Empty(t)
	want := "there is no database at "
	if sqldbtest.Postgres() {
		want = "has no data of this program; name yours with --db"
	}
	db, err := app.OpenCurrent(t.Context(), cfg)
	if err == nil {
		t.Fatal("it was opened", db.Close())
	}
	if !errors.Is(err, app.ErrUnreachable) || !strings.Contains(err.Error(), want) {
		t.Errorf("%v, want %q", err, want)
	}
}
