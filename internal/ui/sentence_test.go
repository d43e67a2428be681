package ui_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"claviger/internal/ui"
)

// TestTimesInSentences: a time in a sentence looks like others, with UTC in its title. Near times
// have no day. Everything else is text.
func TestTimesInSentences(t *testing.T) {
	far, near := time.Date(2020, 1, 2, 6, 5, 0, 0, time.UTC), time.Now().UTC().Add(-time.Hour).Truncate(time.Minute)
	tag := func(at time.Time, as, shown string) string {
		return fmt.Sprintf(`<time datetime="%s" data-as="%s" title="%s">%s</time>`, at.Format(time.RFC3339), as, at.Format("2006-01-02 15:04:05 UTC"), shown)
	}
	for text, want := range map[string]string{
		"Failing since " + ui.InSentence(near) + ": <401>": "Failing since " + tag(near, "clock", near.Format("15:04 UTC")) + ": &lt;401&gt;",
		"Sold on " + ui.InSentence(far) + ".":              "Sold on " + tag(far, "minute", "2 Jan 2020, 06:05 UTC") + ".",
		"At " + ui.ExactInSentence(near) + ", and " + ui.ExactInSentence(far) + ".": "At " + tag(near, "second", near.Format("2 Jan 2006, 15:04:05 UTC")) +
			", and " + tag(far, "second", "2 Jan 2020, 06:05:00 UTC") + ".",
		"At 31 Feb 2026, 99:99 UTC, in UTC & <b>": "At 31 Feb 2026, 99:99 UTC, in UTC &amp; &lt;b&gt;",
		"Nothing.": "Nothing.",
	} {
		if got := part(t, `{{says .Data}}`, text); strings.TrimSpace(got) != want {
			t.Errorf("%s is\n%s, want\n%s", text, got, want)
		}
	}
	said := "until " + ui.InSentence(far)
	for name, got := range map[string]string{
		"timeline": part(t, `{{template "timeline" .Data}}`, ui.Timeline{Entries: []ui.TimelineEntry{{At: far, Title: "Sold", Text: said}}}),
		"note":     part(t, `{{template "table" .Data}}`, ui.Table{Rows: []ui.Row{{Cells: []ui.Cell{{Text: "Sold", Note: said}}}}}),
	} {
		if !strings.Contains(got, "until "+tag(far, "minute", "2 Jan 2020, 06:05 UTC")) {
			t.Errorf("the %s is %s", name, got)
		}
	}
}
