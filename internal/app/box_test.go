package app_test

import (
	"testing"

	"claviger/internal/app"
	"claviger/internal/sqldb"
	"claviger/internal/sqldb/sqldbtest"
)

// TestSealer: a command without an App gets a sealer for the database's secrets from its
// configuration.
func TestSealer(t *testing.T) {
	cfg := config(t)
	cfg.Now = nil
	sealer, err := app.Sealer(t.Context(), sqldbtest.OpenWith(t, cfg.DB, sqldb.Options{}), cfg)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := sealer.Open("label", sealer.Seal("label", "x")); got != "x" || err != nil {
		t.Errorf("it opens %q, %v", got, err)
	}
}
