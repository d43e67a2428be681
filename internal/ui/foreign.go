package ui

import (
	"fmt"
	"strings"
	"unicode"
)

// maxForeign is the maximum number of bytes shown of a foreign text.
const maxForeign = 16 << 10

// Foreign prepares a text from another server for display. It cuts the text, and writes invisible
// and direction-changing characters as their numbers, so that the text cannot look like another
// one.
func Foreign(text string) string {
	cut := 0
	if len(text) > maxForeign {
		cut = len(text) - maxForeign
		text = text[:maxForeign]
	}
	text = strings.ToValidUTF8(text, "\uFFFD")
	var b strings.Builder
	for _, r := range text {
		switch {
		case r == '\n' || r == '\t':
			b.WriteRune(r)
		case unicode.IsControl(r) || unicode.In(r, unicode.Cf, unicode.Zl, unicode.Zp, unicode.Co):
			fmt.Fprintf(&b, "\\u%04X", r)
		default:
			b.WriteRune(r)
		}
	}
	if cut > 0 {
		fmt.Fprintf(&b, "\n… (%d more bytes are not shown)", cut)
	}
	return b.String()
}
