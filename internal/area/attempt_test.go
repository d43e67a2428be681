package area_test

import (
	"testing"
	"time"

	"claviger/internal/area"
)

// TestDuration: a duration too short to show is not shown as zero.
func TestDuration(t *testing.T) {
	for d, want := range map[time.Duration]string{
		0: "< 1 ms", time.Microsecond: "< 0.1 ms", 99 * time.Microsecond: "< 0.1 ms", 100 * time.Microsecond: "0.1 ms", 1240 * time.Microsecond: "1.2 ms",
		3 * time.Millisecond: "3 ms", 25400 * time.Microsecond: "25 ms", 1500 * time.Millisecond: "1.5 s",
	} {
		if got := area.Duration(true, d); got != want {
			t.Errorf("%v is %q, want %q", d, got, want)
		}
	}
	if got := area.Duration(false, time.Second); got != "–" {
		t.Errorf("what is not known is %q", got)
	}
}
