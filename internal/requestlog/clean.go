package requestlog

import (
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"
)

// The limits of an entry's texts, in bytes.
const (
	maxPath    = 256
	maxMessage = 600
	maxWord    = 64
)

// cut returns the call with texts of limited length that share no memory with the request: a
// waiting call must not keep a large request alive. The writer does the rest.
func (c Call) cut() Call {
	c.Path, c.Message = shorten(c.Path, maxPath), shorten(c.Message, maxMessage)
	c.Method, c.Code, c.Cause = shorten(c.Method, maxWord), shorten(c.Code, maxWord), shorten(c.Cause, maxWord)
	c.RequestID, c.License = shorten(c.RequestID, maxWord), shorten(c.License, maxWord)
	return c
}

// shorten returns the beginning of a text, copied if it was longer.
func shorten(s string, most int) string {
	if len(s) <= most {
		return s
	}
	for most > 0 && !utf8.RuneStart(s[most]) {
		most--
	}
	return strings.Clone(s[:most]) + "…"
}

// secretText matches our secrets: by the prefix of their kind, or the hex of a code or token.
// queryText matches the query of a URL.
var (
	secretText = regexp.MustCompile(`\b(lk_|op_|cs_|whsec_)[A-Za-z0-9+/=_-]{6,}|\b[0-9a-fA-F]{40,}\b`)
	queryText  = regexp.MustCompile(`([a-z][a-z0-9+.-]*://[^\s?"'<>]*)\?[^\s"'<>]*`)
	uuidText   = regexp.MustCompile(`^[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}$`)
)

// clean returns the call as stored: text that both databases accept and a page can show, without
// secrets and queries. A license must have the form of a license key.
func (c Call) clean() Call {
	c.Path, c.Message = cleanText(c.Path), cleanText(c.Message)
	c.Method, c.Code, c.Cause, c.RequestID = cleanText(c.Method), cleanText(c.Code), cleanText(c.Cause), cleanText(
		c.RequestID,
	)
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
