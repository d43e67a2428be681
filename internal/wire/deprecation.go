package wire

import (
	"net/http"
	"strconv"
	"time"
)

// Deprecation announces the end of a route. docs/versions.md has our promise.
type Deprecation struct {
	Since  time.Time // from then on, do not begin to use it; zero: not deprecated
	Sunset time.Time // when it ends; zero: not decided yet
}

// header sets the headers of RFC 9745 and RFC 8594 on every answer: programs notice them long
// before people read about the change.
func (d Deprecation) header(h http.Header) {
	if d.Since.IsZero() {
		return
	}
	h.Set("Deprecation", "@"+strconv.FormatInt(d.Since.Unix(), 10))
	if !d.Sunset.IsZero() {
		h.Set("Sunset", d.Sunset.UTC().Format(http.TimeFormat))
	}
}
