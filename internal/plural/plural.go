// Package plural writes numbers for people: with commas, and with the noun that they
// count in its right form.
package plural

import (
	"strconv"
	"strings"
)

// Number writes a number with commas, and with a minus sign if it is below zero.
func Number[N int | int64](n N) string {
	if n < 0 {
		return "−" + Grouped(uint64(-int64(n)))
	}
	return Grouped(uint64(n))
}

// Grouped writes a number with commas.
func Grouped(n uint64) string {
	s := strconv.FormatUint(n, 10)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// Of writes a number with its noun: "1 license", "1,200 licenses". Where an s at the end
// does not make the plural, as in "event waits", many is it.
func Of[N int | int64](n N, one string, many ...string) string {
	if n == 1 {
		return "1 " + one
	}
	if len(many) > 0 {
		return Number(n) + " " + many[0]
	}
	return Number(n) + " " + plural(one)
}

// plural is the plural of a noun, or of words that end in one.
func plural(one string) string {
	if rest, ok := strings.CutSuffix(one, "y"); ok && rest != "" && !strings.ContainsRune("aeiou", rune(rest[len(rest)-1])) {
		return rest + "ies"
	}
	return one + "s"
}
