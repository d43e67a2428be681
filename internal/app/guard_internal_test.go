package app

import (
	"log/slog"
	"testing"
	"time"

	"claviger/internal/sqldb/sqldbtest"
)

// TestPausedDuringACheck: a check that began before a pause of the process says nothing about the time
// after it, so another one follows.
func TestPausedDuringACheck(t *testing.T) {
	g := newGuard(sqldbtest.Open(t), slog.New(slog.DiscardHandler))
	began := time.Now()
	asked := 0
	g.now = func() time.Time {
		asked++
		if asked == 1 {
			return began
		}
		return began.Add(time.Minute)
	}
	if err := g.check(t.Context()); err != nil {
		t.Fatal(err)
	}
	if asked != 4 || g.stale() || !g.last.Load().After(began) {
		t.Errorf("the clock was read %d times, want 4: at the beginning and the end of two checks", asked)
	}
}
