package main

import (
	"bytes"
	"flag"
	"os"
	"slices"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write testdata/outcomes.txt")

// outcomes runs the tool on the fixture and returns its lines in order.
func outcomes(t *testing.T, r *runner, c choice) string {
	t.Helper()
	r.root, r.jobs, r.log = "testdata/fixture", 2, os.Stderr
	r.packages = append([]string{c.pkg}, r.packages...)
	var out bytes.Buffer
	survived, err := mutate(r, c, false, &out)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.SplitAfter(out.String(), "\n")
	slices.Sort(lines)
	if n := strings.Count(out.String(), "SURVIVED rule.go"); n != survived {
		t.Errorf("%d survived, and %d are listed", survived, n)
	}
	return strings.Join(lines, "")
}

// TestOutcomes compares the outcome of every change of the fixture with testdata. The fixture has
// each form of change, among them an endless loop, a constant, a child process and a function
// without a test.
func TestOutcomes(t *testing.T) {
	got := outcomes(t, &runner{}, choice{pkg: "./rule"})
	const golden = "testdata/outcomes.txt"
	if *update {
		if err := os.WriteFile(golden, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// TestOutcomesApart: with a separate build for each, the changes have the same outcomes as in one
// binary.
func TestOutcomesApart(t *testing.T) {
	if testing.Short() {
		t.Skip("builds a test binary for each change")
	}
	c := choice{pkg: "./rule", sample: 25}
	got, want := outcomes(t, &runner{}, c), outcomes(t, &runner{apart: true}, c)
	if got != want {
		t.Errorf("in one binary\n%s\none by one\n%s", got, want)
	}
}

func TestChoice(t *testing.T) {
	shop := "rule.go:89,rule.go:90"
	for name, c := range map[string]struct {
		runner *runner
		choice choice
		want   string
	}{
		"tests of another package": {
			&runner{packages: []string{"./shop"}},
			choice{pkg: "./rule", at: shop},
			"./rule: 3 changes, 3 killed, 0 SURVIVED (0 more do not compile)\n",
		},
		"some tests": {
			&runner{run: "TestDisc"},
			choice{pkg: "./rule", file: "rule.go", at: "rule.go:19,rule.go:32"},
			"./rule: 6 changes, 3 killed, 3 SURVIVED (0 more do not compile)\n",
		},
		"a sample": {
			&runner{run: "TestNone"},
			choice{pkg: "./rule", sample: 3, seed: 2},
			"./rule: 1 changes, 0 killed, 1 SURVIVED (2 more do not compile)\n",
		},
	} {
		t.Run(name, func(t *testing.T) {
			got := outcomes(t, c.runner, c.choice)
			if !strings.Contains(got, c.want) {
				t.Errorf("got\n%swant %s", got, c.want)
			}
		})
	}
}

// TestFailure: tests that fail without a change prove nothing.
func TestFailure(t *testing.T) {
	t.Setenv("FIXTURE_CHILD", "1") // has the test end with a status
	r := &runner{root: "testdata/fixture", packages: []string{"./rule"}, run: "TestChild", jobs: 1, log: os.Stderr}
	_, err := mutate(r, choice{pkg: "./rule"}, false, new(bytes.Buffer))
	if err == nil || !strings.Contains(err.Error(), "TestChild of ./rule fails without any change") {
		t.Errorf("got %v", err)
	}
}
