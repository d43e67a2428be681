package figure

import (
	"fmt"
	"io"
	"regexp"
	"runtime"
	"slices"
	"strings"
)

// Benchmarks writes rows in the format of Go's benchmarks, a line per round, so that benchstat can
// compare two runs.
func Benchmarks(w io.Writer, rows []Row) error {
	lines := []string{
		"goos: " + runtime.GOOS, "goarch: " + runtime.GOARCH, "pkg: claviger/bench",
		"Unit ratio better=higher", "Unit cost-ratio better=lower", "Unit op/s better=higher",
		"Unit yardstick-op/s better=higher",
	}
	for _, r := range rows {
		head := "Benchmark" + benchName(r.Case) + "/db=" + r.Database + " 1"
		if len(r.Rounds.Ours) == 0 {
			unit := r.Unit
			if unit == "" {
				unit = "count"
			}
			lines = append(lines, fmt.Sprintf("%s %g %s", head, r.Value, unit))
			continue
		}
		ratio := "ratio"
		if r.Goal.sign == "≤" || r.RoundUnit != "op/s" {
			ratio = "cost-ratio"
		}
		for i, v := range r.Rounds.ratios() {
			lines = append(lines, fmt.Sprintf("%s %g %s %g %s %g yardstick-%s", head, v, ratio, r.Rounds.Ours[i],
				r.RoundUnit, r.Rounds.Yardstick[i], r.RoundUnit))
		}
	}
	_, err := io.WriteString(w, strings.Join(lines, "\n")+"\n")
	return err
}

// Marks around the table of a page.
const (
	TableBegins = "<!-- figures -->"
	TableEnds   = "<!-- end of figures -->"
)

// ReplaceTable replaces the table in a page by the rows with a goal; machine describes the machine.
func ReplaceTable(page, machine string, rows []Row) (string, error) {
	before, rest, ok := strings.Cut(page, TableBegins)
	_, after, ended := strings.Cut(rest, TableEnds)
	if !ok || !ended {
		return "", fmt.Errorf("the page lacks the marks %s and %s", TableBegins, TableEnds)
	}
	var b strings.Builder
	b.WriteString(before + TableBegins + "\n\n" + machine + "\n\n")
	if err := Print(&b, slices.DeleteFunc(slices.Clone(rows), func(r Row) bool {
		return r.Goal.sign == ""
	})); err != nil {
		return "", err
	}
	b.WriteString("\n" + TableEnds + after)
	return b.String(), nil
}

var notWord = regexp.MustCompile(`[^A-Za-z0-9=.]+`)

// benchName returns the name of a row as a benchmark name: no spaces, and an upper-case letter
// first.
func benchName(s string) string {
	s = strings.Trim(notWord.ReplaceAllString(strings.ReplaceAll(s, ",000", "000"), "_"), "_")
	return strings.ToUpper(s[:1]) + s[1:]
}
