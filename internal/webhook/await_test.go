package webhook_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"claviger/internal/sqldb/sqldbtest"
)

// TestAwaitAttemptInVain: AwaitAttempt stops at its limit or when the caller has left, and returns
// false.
func TestAwaitAttemptInVain(t *testing.T) {
	if sqldbtest.Postgres() {
		t.Skip("sockets do not work under a fake clock")
	}
	synctest.Test(t, func(t *testing.T) {
		o := box(t) // the newest event is behind two that have not failed
		begun := time.Now()
		if o.AwaitAttempt(t.Context(), 1, time.Second) {
			t.Error("an attempt that nobody made counts as made")
		}
		if took := time.Since(begun); took < time.Second || took > 2*time.Second {
			t.Errorf("it waited %v", took)
		}
		left, leave := context.WithCancel(t.Context())
		leave()
		if o.AwaitAttempt(left, 1, time.Hour) {
			t.Error("that somebody left counts as an attempt")
		}
	})
}
