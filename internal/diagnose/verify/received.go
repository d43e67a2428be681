package verify

import (
	"encoding/json"
	"net/http"
	"net/textproto"
	"strconv"
	"strings"
	"time"

	"claviger/internal/courier"
)

// ParseHeaders parses copied headers: one `Name: value` per line, also with the marks of curl -v; a
// JSON object as Node.js and Python print it; or names as in PHP and WSGI (HTTP_X_…). It ignores
// everything else.
func ParseHeaders(text string) http.Header {
	h := http.Header{}
	var object map[string]any
	if json.Unmarshal([]byte(text), &object) == nil {
		for name, value := range object {
			switch v := value.(type) {
			case string:
				h.Add(plainName(name), v)
			case []any:
				for _, one := range v {
					if s, ok := one.(string); ok {
						h.Add(plainName(name), s)
					}
				}
			}
		}
		return h
	}
	for line := range strings.Lines(text) {
		line = strings.TrimLeft(strings.TrimRight(line, "\r\n"), "<> *\t")
		name, value, ok := strings.Cut(line, ":")
		if before, after, isSet := strings.Cut(line, "="); isSet && (!ok || len(before) < len(name)) &&
			strings.HasPrefix(before, "HTTP_") {
			name = before
			value = after
			ok = true
		}
		name = strings.Trim(strings.TrimSpace(name), `"'`)
		if !ok || name == "" || strings.ContainsAny(name, " \t") {
			continue
		}
		h.Add(plainName(name), strings.TrimSpace(value))
	}
	return h
}

// plainName normalizes a header's name.
func plainName(name string) string {
	if rest, ok := strings.CutPrefix(name, "HTTP_"); ok {
		name = strings.ReplaceAll(rest, "_", "-")
	}
	return textproto.CanonicalMIMEHeaderKey(name)
}

// EventIDOf returns the event id in a webhook's headers, or 0.
func EventIDOf(h http.Header) int64 {
	text, ok := strings.CutPrefix(h.Get(courier.HeaderID), "evt_")
	id, err := strconv.ParseInt(text, 10, 64)
	if !ok || err != nil || id < 0 {
		return 0
	}
	return id
}

// ParseMoment parses a copied time: RFC 3339, an HTTP date, or a number of seconds or milliseconds.
func ParseMoment(text string) (time.Time, bool) {
	text = strings.TrimSpace(text)
	if n, err := strconv.ParseInt(text, 10, 64); err == nil {
		switch {
		case n >= 1e9 && n < 1e11:
			return time.Unix(n, 0).UTC(), true
		case n >= 1e12 && n < 1e14:
			return time.UnixMilli(n).UTC(), true
		}
		return time.Time{}, false
	}
	for _, form := range []string{
		time.RFC3339Nano, "2006-01-02 15:04:05Z07:00", "2006-01-02T15:04:05",
		"2006-01-02 15:04:05", "2006-01-02T15:04", http.TimeFormat, time.RFC1123Z,
	} {
		if at, err := time.Parse(form, text); err == nil {
			return at.UTC(), true
		}
	}
	return time.Time{}, false
}
