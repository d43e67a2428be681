// Package release has the version of this program, which is in the file version, and compares
// versions. CONTRIBUTING.md says how a release is made.
package release

import (
	_ "embed"
	"fmt"
	"strings"
)

//go:embed version
var file string

// Version is the version of this program, such as 1.0.0. Until a version is released, it ends in
// -dev.
var Version = strings.TrimSpace(file)

// Number returns a version without its suffix, as the database stores it: 1.1.0-dev has the schema
// of 1.1.0.
func Number(version string) string {
	number, _, _ := strings.Cut(version, "-")
	return number
}

// Before reports whether a is an older version than b. Suffixes do not count. A text that is no
// version is older than every version.
func Before(a, b string) bool {
	x := parse(a)
	y := parse(b)
	for i := range x {
		if x[i] != y[i] {
			return x[i] < y[i]
		}
	}
	return false
}

// Valid reports whether a text is a version: three numbers, and a suffix if any.
func Valid(version string) bool { return parse(version) != parse("") }

// parse returns major, minor and patch, or -1 three times.
func parse(version string) [3]int {
	var n [3]int
	number := Number(version)
	_, err := fmt.Sscanf(number, "%d.%d.%d", &n[0], &n[1], &n[2])
	if err != nil || fmt.Sprintf("%d.%d.%d", n[0], n[1], n[2]) != number {
		return [3]int{-1, -1, -1}
	}
	return n
}
