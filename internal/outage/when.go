package outage

import (
	"fmt"
	"time"

	"claviger/internal/plural"
)

// longTime formats a time for reading.
func longTime(t time.Time) string { return t.UTC().Format("2 January 2006, 15:04 UTC") }

// shortTime formats a time for a subject; the email's own date has the year.
func shortTime(t time.Time) string { return t.UTC().Format("2 January, 15:04 UTC") }

// span formats a duration as exactly as a reader needs it.
func span(d time.Duration) string {
	minutes := int64(d / time.Minute)
	hours := int64(d / time.Hour)
	days := int64(d / (24 * time.Hour))
	switch {
	case minutes < 1:
		return "less than a minute"
	case hours < 1:
		return plural.Of(minutes, "minute", "minutes")
	case days < 1:
		return with(plural.Of(hours, "hour", "hours"), minutes%60, "minute", "minutes")
	default:
		return with(plural.Of(days, "day", "days"), hours%24, "hour", "hours")
	}
}

// with appends the rest of a span, if there is one.
func with(text string, n int64, one, many string) string {
	if n == 0 {
		return text
	}
	return fmt.Sprintf("%s %s", text, plural.Of(n, one, many))
}

// roughly formats a rounded duration.
func roughly(d time.Duration) string {
	switch {
	case d >= 36*time.Hour:
		return plural.Of(int64((d+12*time.Hour)/(24*time.Hour)), "day", "days")
	case d >= 90*time.Minute:
		return plural.Of(int64((d+30*time.Minute)/time.Hour), "hour", "hours")
	case d >= 90*time.Second:
		return plural.Of(int64((d+30*time.Second)/time.Minute), "minute", "minutes")
	default:
		return plural.Of(max(1, int64(d.Round(time.Second)/time.Second)), "second", "seconds")
	}
}
