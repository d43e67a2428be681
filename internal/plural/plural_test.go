package plural_test

import (
	"math"
	"testing"

	"claviger/internal/plural"
)

func TestOf(t *testing.T) {
	for _, c := range []struct{ got, want string }{
		{plural.Of(1, "license"), "1 license"},
		{plural.Of(0, "license"), "0 licenses"},
		{plural.Of(2, "license"), "2 licenses"},
		{plural.Of(-1, "day"), "−1 days"},
		{plural.Of(int64(1200), "delivery"), "1,200 deliveries"},
		{plural.Of(3, "key"), "3 keys"},
		{plural.Of(3, "failed attempt"), "3 failed attempts"},
		{plural.Of(1, "event waits", "events wait"), "1 event waits"},
		{plural.Of(2, "event waits", "events wait"), "2 events wait"},
		{plural.Of(2, "person", "people"), "2 people"},
		{plural.Number(1234567), "1,234,567"},
		{plural.Number(999), "999"},
		{plural.Number(int64(math.MinInt64)), "−9,223,372,036,854,775,808"},
	} {
		if c.got != c.want {
			t.Errorf("%q, want %q", c.got, c.want)
		}
	}
}
