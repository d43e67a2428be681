package wire

import (
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"claviger/internal/fault"
)

// Query returns the query parameters of r. Each must be one of known, given at most once and text:
// valid UTF-8 without NUL.
func Query(r *http.Request, known ...string) (url.Values, error) {
	q, err := LenientQuery(r, known...)
	if err != nil {
		return nil, err
	}
	for _, name := range slices.Sorted(maps.Keys(q)) {
		if !slices.Contains(known, name) {
			return nil, unknownParameter("query parameter", "", name, known)
		}
	}
	return q, nil
}

// LenientQuery is Query for OAuth endpoints, which must ignore unknown names (RFC 6749 section
// 3.1).
func LenientQuery(r *http.Request, known ...string) (url.Values, error) {
	q, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		return nil, fault.New(
			fault.Invalid,
			fault.CodeInvalidParameter,
			"The query string cannot be read: it needs name=value pairs joined by &, with other characters "+
				"percent-encoded.",
		)
	}
	for _, name := range known {
		values := q[name]
		if len(values) > 1 {
			return nil, fault.Parameter(name, "is given %d times; give it once.", len(values))
		}
		if len(values) == 1 && !isText(values[0]) {
			return nil, fault.Parameter(name, "must be UTF-8 text without NUL characters.")
		}
	}
	return q, nil
}

// PathID returns a path value that is a plain positive whole number. ok is false for anything else:
// nothing has such an id.
func PathID(r *http.Request, name string) (id int64, ok bool) {
	s := r.PathValue(name)
	id, err := strconv.ParseInt(s, 10, 64)
	if err != nil || id < 1 || strconv.FormatInt(id, 10) != s {
		return 0, false
	}
	return id, true
}

// isText reports whether s can be stored and shown: PostgreSQL refuses invalid UTF-8 and NUL.
func isText(s string) bool {
	return utf8.ValidString(s) && !strings.Contains(s, "\x00")
}
