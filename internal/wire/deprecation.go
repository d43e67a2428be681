package wire

import (
	"net/http"
	"strconv"
	"time"
)

// Deprecation says that a route will end, and when. docs/versions.md is what we promise.
type Deprecation struct {
	Since  time.Time // from when on nobody should begin to use it; zero: it is not deprecated
	Sunset time.Time // when it ends; zero: that is not decided yet
}

// header tells the caller by the headers of RFC 9745 and RFC 8594, whatever is answered:
// programs notice it long before people read of it.
func (d Deprecation) header(h http.Header) {
	if d.Since.IsZero() {
		return
	}
	h.Set("Deprecation", "@"+strconv.FormatInt(d.Since.Unix(), 10))
	if !d.Sunset.IsZero() {
		h.Set("Sunset", d.Sunset.UTC().Format(http.TimeFormat))
	}
}
