// Package plural formats numbers for people: with commas, and with their noun in its right form.
package plural

import (
	"strconv"
	"strings"
)

// Number formats a number with commas, and with a minus sign if negative.
func Number[N int | int64](n N) string {
	if n < 0 {
		return "−" + Grouped(uint64(-int64(n)))
	}
	return Grouped(uint64(n))
}

// Grouped formats a number with commas.
func Grouped(n uint64) string {
	s := strconv.FormatUint(n, 10)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// Of formats a number with its noun: "1 license", "1,200 licenses". If the plural is irregular, as
// in "event waits", many has it.
func Of[N int | int64](n N, one string, many ...string) string {
	if n == 1 {
		return "1 " + one
	}
	if len(many) > 0 {
		return Number(n) + " " + many[0]
	}
	return Number(n) + " " + plural(one)
}

// plural returns the plural of a noun, or of words that end in one.
func plural(one string) string {
	if rest, ok := strings.CutSuffix(one, "y"); ok && rest != "" &&
		!strings.ContainsRune("aeiou", rune(rest[len(rest)-1])) {
		return rest + "ies"
	}
	return one + "s"
}
