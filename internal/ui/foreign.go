package ui

import (
	"fmt"
	"strings"
	"unicode"
)

// maxForeign is how many bytes of a text from elsewhere are shown.
const maxForeign = 16 << 10

// Foreign makes a text that somebody else's server sent fit to be shown: it is cut, and
// characters that are not seen or that turn the direction of the text are written as
// their numbers, so that the text cannot pretend to be another one.
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
