package area

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"claviger/internal/plural"
)

// AnswerWords is what an attempt to deliver met: the status code, or the cause in words.
// "–" stands for no attempt, whose id is 0.
func AnswerWords(id int64, status int, success bool, cause string) string {
	switch {
	case id == 0:
		return "–"
	case status == 0:
		return ShortCause(cause)
	case success || status < 200 || status > 299:
		return strings.TrimSpace(strconv.Itoa(status) + " " + http.StatusText(status))
	}
	return strconv.Itoa(status) + ", not a success"
}

// ShortCause makes the first letter of a sentence large, and the rest short.
func ShortCause(s string) string {
	if len(s) > 80 {
		s = strings.ToValidUTF8(s[:80], "") + "…"
	}
	if s == "" {
		return "No answer"
	}
	return strings.ToUpper(s[:1]) + s[1:]
}

// Duration is how long something took; "–" if it is not known.
func Duration(known bool, d time.Duration) string {
	switch {
	case !known:
		return "–"
	case d == 0:
		return "< 1 ms"
	case d < 100*time.Microsecond: // which a tenth of a millisecond does not show
		return "< 0.1 ms"
	case d >= time.Second:
		return fmt.Sprintf("%.1f s", d.Seconds())
	case d >= 10*time.Millisecond || d%time.Millisecond == 0:
		return fmt.Sprintf("%d ms", d.Milliseconds())
	}
	return fmt.Sprintf("%.1f ms", float64(d.Microseconds())/1000)
}

// Waiting says how many events wait for an endpoint; more says that there are others.
func Waiting(n int64, more bool) string {
	if n == 0 {
		return "No event waits."
	}
	return AtLeast(n, more, "event waits", "events wait") + "."
}

// AtLeast is a number with its noun that may not be all.
func AtLeast(n int64, more bool, one string, many ...string) string {
	if !more {
		return plural.Of(n, one, many...)
	}
	return "More than " + plural.Of(n, one, many...)
}
