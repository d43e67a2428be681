package app

import (
	"context"
	"testing"

	"claviger/internal/sqldb/sqldbtest"
)

// TestLedgerTime: partners for which there is no time are not checked, which is no failure.
func TestLedgerTime(t *testing.T) {
	e := &examination{db: sqldbtest.Open(t)}
	partners := []int64{1, 2, 3}
	if n, wrong, err := e.ledgersOf(t.Context(), partners); n != 3 || wrong != "" || err != nil {
		t.Errorf("in time: %d, %q, %v", n, wrong, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if n, wrong, err := e.ledgersOf(ctx, partners); n != 0 || wrong != "" || err != nil {
		t.Errorf("without time: %d, %q, %v", n, wrong, err)
	}
}
