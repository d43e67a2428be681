package sqldb_test

import (
	"context"
	"errors"
	"testing"

	"claviger/internal/sqldb"
	"claviger/internal/sqldb/sqldbtest"
)

// TestSole: if two have the database open, the second waits until the first has closed it, or gives
// up.
func TestSole(t *testing.T) {
	url := sqldbtest.URL(t)
	first := sqldbtest.OpenWith(t, url, sqldb.Options{})
	second := sqldbtest.OpenWith(t, url, sqldb.Options{})
	sole, err := first.AcquireExclusive(t.Context(), func() { t.Error("the first waits") })
	if err != nil || sole == sqldbtest.Postgres() {
		t.Fatalf("the first is sole: %v, %v", sole, err)
	}
	if sqldbtest.Postgres() {
		return
	}
	ctx, cancel := context.WithCancel(t.Context())
	if sole, err := second.AcquireExclusive(ctx, cancel); sole || !errors.Is(err, context.Canceled) {
		t.Errorf("the second beside the first: %v, %v", sole, err)
	}
	sole, err = second.AcquireExclusive(t.Context(), func() {
		if err := first.Close(); err != nil {
			t.Error(err)
		}
	})
	if !sole || err != nil {
		t.Errorf("the second after the first: %v, %v", sole, err)
	}
	// The exclusive lock does not prevent others from reading and writing.
	third := sqldbtest.OpenWith(t, url, sqldb.Options{})
	write(t, third, func(tx *sqldb.Tx) error { note(tx, "a", ""); return nil })
	if got := notes(t, second); len(got) != 1 {
		t.Errorf("got %v", got)
	}
}
