package portal

import (
	"fmt"
	"strings"
	"unicode"
)

// visible makes a foreign text safe to show: it escapes invisible characters and those that change
// the order of others, except tabs and line breaks.
func visible(s string) string {
	hidden := func(r rune) bool {
		return r != '\n' && r != '\t' && r != '\r' &&
			(unicode.IsControl(r) || unicode.In(r, unicode.Cf, unicode.Zl, unicode.Zp))
	}
	if !strings.ContainsFunc(s, hidden) {
		return s
	}
	var b strings.Builder
	for _, r := range s {
		if hidden(r) {
			fmt.Fprintf(&b, `\u{%x}`, r)
		} else {
			b.WriteRune(r)
		}
	}
	return b.String()
}
