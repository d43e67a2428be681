package money

import "testing"

// TestKnown: each currency with other digits than two is known, and made-up codes are not.
func TestKnown(t *testing.T) {
	for code := range digits {
		if !Known(code) {
			t.Errorf("%s is unknown", code)
		}
	}
	for code, want := range map[string]bool{"EUR": true, "USD": true, "SLE": true, "HRK": true, "ZZZ": false, "eur": false, "": false} {
		if Known(code) != want {
			t.Errorf("%q: %t", code, !want)
		}
	}
	if len(isKnown) != len(known) {
		t.Error("a code is there twice")
	}
}
