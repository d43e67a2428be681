package main

import (
	"strconv"
	"strings"
	"time"
)

// parseExpiry parses the end of a token: a duration (also in days), the beginning of a day, or a
// time. An empty text means never.
func parseExpiry(s string, now time.Time) (time.Time, error) {
	until, err := parseTime("--expires", s, now, 1)
	if err == nil && s != "" && !until.After(now) {
		return until, usage("--expires %q is not in the future", s)
	}
	return until, err
}

// parseSince parses a start time: a duration ago (also in days), the beginning of a day, or a time.
// An empty text means no limit.
func parseSince(s string, now time.Time) (time.Time, error) {
	since, err := parseTime("--since", s, now, -1)
	if err == nil && since.After(now) {
		return since, usage("--since %q is not in the past", s)
	}
	return since, err
}

// parseTime parses the time of a flag. A duration counts from now, forward with sign 1 and back
// with sign -1. An empty text is the zero time.
func parseTime(flag, s string, now time.Time, sign int) (time.Time, error) {
	if s == "" {
		return time.Time{}, nil
	}
	if days, ok := strings.CutSuffix(s, "d"); ok {
		if n, err := strconv.ParseUint(days, 10, 16); err == nil {
			return now.AddDate(0, 0, sign*int(n)), nil
		}
	}
	if d, err := time.ParseDuration(s); err == nil {
		return now.Add(time.Duration(sign) * d), nil
	}
	for _, layout := range []string{time.DateOnly, time.RFC3339} {
		if t, err := time.Parse(layout, s); err == nil {
			return t.UTC(), nil
		}
	}
	return time.Time{}, usage("%s %q is not a time such as 12h or 90d, or a day such as 2027-01-31", flag, s)
}
