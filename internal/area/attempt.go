package area

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"claviger/internal/plural"
)

// AnswerWords describes the result of a delivery attempt: the status code, or the cause in words.
// It returns "–" for id 0, no attempt.
func AnswerWords(id int64, status int, success bool, cause string) string {
	switch {
	case id == 0:
		return "–"
	case status == 0:
		return shortCause(cause)
	case success || status < 200 || status > 299:
		return strings.TrimSpace(strconv.Itoa(status) + " " + http.StatusText(status))
	}
	return strconv.Itoa(status) + ", not a success"
}

// shortCause shortens a sentence and capitalizes it.
func shortCause(s string) string {
	if len(s) > 80 {
		s = strings.ToValidUTF8(s[:80], "") + "…"
	}
	if s == "" {
		return "No answer"
	}
	return strings.ToUpper(s[:1]) + s[1:]
}

// Duration formats a duration; "–" if it is not known.
func Duration(known bool, d time.Duration) string {
	switch {
	case !known:
		return "–"
	case d == 0:
		return "< 1 ms"
	case d < 100*time.Microsecond: // too short for a tenth of a millisecond
		return "< 0.1 ms"
	case d >= time.Second:
		return fmt.Sprintf("%.1f s", d.Seconds())
	case d >= 10*time.Millisecond || d%time.Millisecond == 0:
		return fmt.Sprintf("%d ms", d.Milliseconds())
	}
	return fmt.Sprintf("%.1f ms", float64(d.Microseconds())/1000)
}

// Waiting describes the number of events that wait for an endpoint; more means that there are
// others.
func Waiting(n int64, more bool) string {
	if n == 0 {
		return "No event waits."
	}
	return AtLeast(n, more, "event waits", "events wait") + "."
}

// AtLeast formats a number with its noun; more means that it is a minimum.
func AtLeast(n int64, more bool, one string, many ...string) string {
	if !more {
		return plural.Of(n, one, many...)
	}
	return "More than " + plural.Of(n, one, many...)
}
