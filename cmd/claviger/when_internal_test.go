package main

import (
	"testing"
	"time"
)

func TestParseExpiry(t *testing.T) {
	now := time.Date(2026, 11, 15, 12, 0, 0, 0, time.UTC)
	tests := map[string]struct {
		text string
		want time.Time
		bad  bool
	}{
		"never":         {text: ""},
		"hours":         {text: "12h", want: now.Add(12 * time.Hour)},
		"days":          {text: "90d", want: now.AddDate(0, 0, 90)},
		"a day":         {text: "2027-01-31", want: time.Date(2027, 1, 31, 0, 0, 0, 0, time.UTC)},
		"a time":        {text: "2027-01-31T10:00:00+02:00", want: time.Date(2027, 1, 31, 8, 0, 0, 0, time.UTC)},
		"no unit":       {text: "90", bad: true},
		"a word":        {text: "soon", bad: true},
		"the past":      {text: "2020-01-31", bad: true},
		"at once":       {text: "0d", bad: true},
		"backwards":     {text: "-1h", bad: true},
		"negative days": {text: "-1d", bad: true},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			got, err := parseExpiry(tt.text, now)
			if (err != nil) != tt.bad {
				t.Fatalf("error %v, want one: %v", err, tt.bad)
			}
			if !tt.bad && !got.Equal(tt.want) {
				t.Errorf("got %v, want %v", got, tt.want)
			}
			if tt.bad && exitCode(err) != exitUsage {
				t.Errorf("exit code %d, want %d", exitCode(err), exitUsage)
			}
		})
	}
}

func TestParseSince(t *testing.T) {
	now := time.Date(2026, 11, 15, 12, 0, 0, 0, time.UTC)
	tests := map[string]struct {
		text string
		want time.Time
		bad  bool
	}{
		"ever":       {text: ""},
		"hours":      {text: "12h", want: now.Add(-12 * time.Hour)},
		"days":       {text: "7d", want: now.AddDate(0, 0, -7)},
		"a day":      {text: "2026-01-31", want: time.Date(2026, 1, 31, 0, 0, 0, 0, time.UTC)},
		"the future": {text: "2027-01-31", bad: true},
		"to come":    {text: "-1h", bad: true},
		"a word":     {text: "yesterday", bad: true},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			got, err := parseSince(tt.text, now)
			if (err != nil) != tt.bad {
				t.Fatalf("error %v, want one: %v", err, tt.bad)
			}
			if !tt.bad && !got.Equal(tt.want) {
				t.Errorf("got %v, want %v", got, tt.want)
			}
			if tt.bad && exitCode(err) != exitUsage {
				t.Errorf("exit code %d, want %d", exitCode(err), exitUsage)
			}
		})
	}
}
