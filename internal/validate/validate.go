// Package validate has the rules for members of a request: a line of text, a name, an email
// address, a URL. A value that breaks its rule is a fault that names the member and the fix.
// WithQuery adds parameters to an accepted URL. The package knows no member by name and stores
// nothing.
package validate

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"claviger/internal/fault"
)

// Line checks a one-line text of low..high characters and returns it without surrounding white
// space. Control characters are rejected, not removed: they do not belong in a name, and PostgreSQL
// does not store a NUL.
func Line(name, value string, low, high int) (string, error) {
	if !utf8.ValidString(value) {
		return "", fault.Field(name, "is not valid UTF-8; send the text in UTF-8.")
	}
	value = strings.TrimSpace(value)
	if strings.ContainsFunc(value, breaksLine) {
		return "", fault.Field(name, "must be one line without control characters; remove them.")
	}
	n := utf8.RuneCountInString(value)
	if n == 0 && low > 0 {
		return "", fault.Field(name, "is missing or empty; send 1 to %d characters.", high)
	}
	if n < low || n > high {
		return "", fault.Field(name, "has %d characters; send %d to %d.", n, low, high)
	}
	return value, nil
}

// Name is Line for a displayed name of a person or thing. It also rejects characters that change
// the direction of text: with them, a name can show other words than it has, and reorder the text
// beside it.
func Name(name, value string, low, high int) (string, error) {
	value, err := Line(name, value, low, high)
	if err != nil {
		return "", err
	}
	return value, noDirection(name, value)
}

// noDirection rejects characters that change the direction of text.
func noDirection(name, value string) error {
	for _, r := range value {
		if unicode.Is(unicode.Bidi_Control, r) {
			return fault.Field(
				name,
				"has the invisible character %U, which changes the direction of text; remove it.",
				r,
			)
		}
	}
	return nil
}

// Text checks a displayed text of several lines with at most high characters, and returns it
// without surrounding white space. Its lines end in "\n", although browsers send "\r\n".
func Text(name, value string, high int) (string, error) {
	if !utf8.ValidString(value) {
		return "", fault.Field(name, "is not valid UTF-8; send the text in UTF-8.")
	}
	value = strings.TrimSpace(lineEnds.Replace(value))
	if strings.ContainsFunc(value, func(r rune) bool { return breaksLine(r) && r != '\n' && r != '\t' }) {
		return "", fault.Field(name, "must not have control characters other than line breaks; remove them.")
	}
	if n := utf8.RuneCountInString(value); n > high {
		return "", fault.Field(name, "has %d characters; send at most %d.", n, high)
	}
	return value, noDirection(name, value)
}

// Currency checks a currency code.
func Currency(name, code string) error {
	if len(code) != 3 || strings.Trim(code, "ABCDEFGHIJKLMNOPQRSTUVWXYZ") != "" {
		return fault.Field(name, "must be three capital letters as in ISO 4217, such as EUR.")
	}
	return nil
}

var lineEnds = strings.NewReplacer("\r\n", "\n", "\r", "\n")

// breaksLine reports whether a character ends a line or controls a terminal. The two separators are
// not in the control class, but they end a line.
func breaksLine(r rune) bool {
	return unicode.IsControl(r) || r == '\u2028' || r == '\u2029'
}
