package requestlog

import (
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"
)

// The bounds of what an entry holds, in bytes.
const (
	maxPath    = 256
	maxMessage = 600
	maxWord    = 64
)

// cut is the call with texts of bounded length, of which nothing is shared with the
// request: what waits must not hold on to a large one. The rest is done by the writer.
func (c Call) cut() Call {
	c.Path, c.Message = shorten(c.Path, maxPath), shorten(c.Message, maxMessage)
	c.Method, c.Code, c.Cause = shorten(c.Method, maxWord), shorten(c.Code, maxWord), shorten(c.Cause, maxWord)
	c.RequestID, c.License = shorten(c.RequestID, maxWord), shorten(c.License, maxWord)
	return c
}

// shorten is the beginning of a text, as a copy where it was longer.
func shorten(s string, most int) string {
	if len(s) <= most {
		return s
	}
	for most > 0 && !utf8.RuneStart(s[most]) {
		most--
	}
	return strings.Clone(s[:most]) + "…"
}

// secretText finds what looks like one of our secrets: one that begins with its kind, and
// the hex of a code or token. queryText finds the query of a URL.
var (
	secretText = regexp.MustCompile(`\b(lk_|op_|cs_|whsec_)[A-Za-z0-9+/=_-]{6,}|\b[0-9a-fA-F]{40,}\b`)
	queryText  = regexp.MustCompile(`([a-z][a-z0-9+.-]*://[^\s?"'<>]*)\?[^\s"'<>]*`)
	uuidText   = regexp.MustCompile(`^[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}$`)
)

// clean is the call as it is stored: text that both databases take and that a page can
// show, without secrets and queries. Only what has the form of a license key is one.
func (c Call) clean() Call {
	c.Path, c.Message = cleanText(c.Path), cleanText(c.Message)
	c.Method, c.Code, c.Cause, c.RequestID = cleanText(c.Method), cleanText(c.Code), cleanText(c.Cause), cleanText(c.RequestID)
	if !uuidText.MatchString(c.License) {
		c.License = ""
	}
	return c
}

func cleanText(s string) string {
	s = strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) {
			return r
		}
		return '?'
	}, strings.ToValidUTF8(s, "?"))
	s = queryText.ReplaceAllString(s, "$1?…")
	return secretText.ReplaceAllStringFunc(s, func(found string) string {
		for _, kind := range []string{"lk_", "op_", "cs_", "whsec_"} {
			if strings.HasPrefix(found, kind) {
				return kind + "…"
			}
		}
		return "…"
	})
}
