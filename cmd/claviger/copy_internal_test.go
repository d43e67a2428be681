package main

import (
	"strings"
	"testing"
	"time"

	"claviger/internal/sqldb/dbcopy"
)

// TestCopyProgress: a copy reports its progress every five seconds, and a short one reports
// nothing.
func TestCopyProgress(t *testing.T) {
	for _, c := range []struct {
		ago  time.Duration
		want string
	}{{0, ""}, {6 * time.Second, "copying table 2 of 80, events: 7 rows so far\n"}} {
		var out strings.Builder
		shown := &copyProgress{w: &out, last: time.Now().Add(-c.ago)}
		shown.tell(dbcopy.Progress{Table: "events", Number: 2, Tables: 80, Rows: 7})
		shown.end()
		if out.String() != c.want {
			t.Errorf("after %v it says %q, want %q", c.ago, out.String(), c.want)
		}
	}
}
