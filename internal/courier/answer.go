package courier

import (
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// maxRetryAfter is the longest wait that a partner can ask for.
const maxRetryAfter = 24 * time.Hour

// Delivered reports whether an answer means that the partner accepted the webhook, and otherwise
// the reason. Normally any 2xx does, unless its body is a JSON object with "success": false. With
// strict it must be 200 with "success": true.
func Delivered(status int, body string, strict bool) (ok bool, why string) {
	switch {
	case status == 0:
		return false, "there was no HTTP answer"
	case status >= 300 && status < 400:
		return false, "it answered " + statusText(status) + ", a redirect, and redirects are not followed"
	case status < 200 || status > 299:
		return false, "it answered " + statusText(status)
	case strict && status != http.StatusOK:
		return false, "it answered " + statusText(status) + " and must answer 200"
	}
	switch Success(body) {
	case SaysNo:
		return false, "it answered " + statusText(status) + ` with "success": false`
	case SaysNothing:
		if strict {
			return false, "it answered " + statusText(status) + ` without "success": true`
		}
	case SaysYes:
	}
	return true, ""
}

// statusText returns a status with its name, if it has one.
func statusText(status int) string {
	if name := http.StatusText(status); name != "" {
		return strconv.Itoa(status) + " " + name
	}
	return strconv.Itoa(status)
}

// RetryAfter returns the wait that an answer asks for, in seconds or as a date, at most a day. It
// returns 0 if the header is missing or malformed.
func RetryAfter(h http.Header, now time.Time) time.Duration {
	text := strings.TrimSpace(h.Get("Retry-After"))
	if text == "" {
		return 0
	}
	if !strings.ContainsFunc(text, func(r rune) bool { return r < '0' || r > '9' }) {
		seconds, err := strconv.ParseInt(text, 10, 64)
		if err != nil || seconds > int64(maxRetryAfter/time.Second) {
			return maxRetryAfter // too many digits ask for a very long wait
		}
		return time.Duration(seconds) * time.Second
	}
	at, err := http.ParseTime(text)
	if err != nil {
		return 0
	}
	return min(max(at.Sub(now), 0), maxRetryAfter)
}

// Clean makes text fit to be stored and shown: valid UTF-8 of at most limit bytes, cut between
// characters. U+FFFD replaces control characters other than tab, LF and CR. JSON writes a control
// character in six bytes, so answers to partners could become six times as long. PostgreSQL rejects
// NUL.
func Clean(s string, limit int) string {
	if len(s) > limit {
		s = cut(s, limit)
	}
	if utf8.ValidString(s) && !strings.ContainsFunc(s, unfit) {
		return s
	}
	s = strings.Map(func(r rune) rune {
		if unfit(r) {
			return utf8.RuneError
		}
		return r
	}, strings.ToValidUTF8(s, "\ufffd"))
	// A replacement has three bytes and may replace one, so the text can grow.
	if len(s) > limit {
		s = cut(s, limit)
	}
	return s
}

// unfit reports whether Clean replaces the character.
func unfit(r rune) bool { return unicode.IsControl(r) && r != '\t' && r != '\n' && r != '\r' }

// cut shortens s to at most limit bytes, between characters.
func cut(s string, limit int) string {
	for i := limit; i >= 0 && i > limit-utf8.UTFMax; i-- {
		if utf8.RuneStart(s[i]) {
			return s[:i]
		}
	}
	return s[:limit] // not UTF-8 there
}

// HeaderText formats headers as one `Name: value` per line: first those in first, then the others
// in the order in which they are sent.
func HeaderText(h http.Header, first ...string) string {
	var buf [16]string
	names := append(buf[:0], first...)
	for name := range h {
		if !slices.Contains(first, name) {
			names = append(names, name)
		}
	}
	slices.SortFunc(names[len(first):], wireOrder)
	size := 0
	for name, values := range h {
		for _, v := range values {
			size += len(name) + len(": \n") + len(v)
		}
	}
	var b strings.Builder
	b.Grow(size)
	for _, name := range names {
		for _, v := range h[name] {
			if b.Len() > 0 {
				b.WriteByte('\n')
			}
			b.WriteString(name)
			b.WriteString(": ")
			b.WriteString(v)
		}
	}
	return b.String()
}

// wireOrder compares by the order in which net/http sends headers.
func wireOrder(a, b string) int {
	const agent = "User-Agent"
	switch {
	case a == agent:
		return -1
	case b == agent:
		return 1
	}
	return strings.Compare(a, b)
}

// Text formats an answer: its status, headers and body, each part cut to limit bytes.
func (a Answer) Text(limit int) string {
	text := statusText(a.Status)
	if header := HeaderText(a.Header); header != "" {
		text += "\n" + shorten(header, limit)
	}
	if len(a.Body) > 0 {
		text += "\n\n" + shorten(a.Body, limit)
	}
	return text
}

// shorten cleans a text and marks a cut.
func shorten(s string, limit int) string {
	short := Clean(s, limit)
	if len(s) > limit {
		short += fmt.Sprintf(" … (cut after %d bytes)", limit)
	}
	return short
}
