package release_test

import (
	"testing"

	"claviger/internal/release"
)

func TestVersion(t *testing.T) {
	if !release.Valid(release.Version) {
		t.Errorf("the file version has %q", release.Version)
	}
}

func TestBefore(t *testing.T) {
	sorted := []string{"", "1.0.0", "1.0.2", "1.0.10", "1.2.0", "1.10.0", "2.0.0"}
	for i, a := range sorted {
		for j, b := range sorted {
			if got := release.Before(a, b); got != (i < j) {
				t.Errorf("%q is before %q: %v", a, b, got)
			}
		}
	}
	if release.Before("1.1.0-dev", "1.1.0") || release.Before("1.1.0", "1.1.0-dev") {
		t.Error("a version under development has another schema than its release")
	}
}

func TestValid(t *testing.T) {
	for version, want := range map[string]bool{
		"1.0.0": true, "1.1.0-dev": true, "0.0.1": true,
		"": false, "1.0": false, "1.0.0.0": false, "v1.0.0": false, "1.0.x": false, "-1.0.0": false, "01.0.0": false,
	} {
		if release.Valid(version) != want {
			t.Errorf("%q is a version: %v", version, !want)
		}
	}
}
