package ui

import (
	"html/template"
	"regexp"
	"strings"
	"time"
)

// Layouts of times inside sentences. Sentences use UTC, so they are right everywhere; pages show
// these times in the person's zone.
const (
	sentenceMinute = "2 Jan 2006, 15:04 UTC"
	sentenceSecond = "2 Jan 2006, 15:04:05 UTC"
)

// nearTime is the distance from now within which a time is shown without its day.
const nearTime = 20 * time.Hour

// InSentence formats a time to the minute for a sentence.
func InSentence(t time.Time) string { return t.UTC().Format(sentenceMinute) }

// ExactInSentence formats a time to the second for a sentence.
func ExactInSentence(t time.Time) string { return t.UTC().Format(sentenceSecond) }

var sentenceTimes = regexp.MustCompile(
	`\b\d{1,2} (?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec) \d{4}, \d\d:\d\d(?::\d\d)? UTC\b`,
)

// sentence returns a text for pages, with its times as elements.
func sentence(text string) template.HTML {
	var m markup
	m.sentence(text)
	return m.html()
}

// sentence writes a text, with its times as elements.
func (m *markup) sentence(text string) {
	if !strings.Contains(text, " UTC") {
		m.text(text)
		return
	}
	from := 0
	for _, at := range sentenceTimes.FindAllStringIndex(text, -1) {
		tag := sentenceTag(text[at[0]:at[1]])
		if tag == "" {
			continue
		}
		m.text(text[from:at[0]])
		m.raw(string(tag))
		from = at[1]
	}
	m.text(text[from:])
}

// sentenceTag returns the element of a time in a sentence, "" if text is no such time.
func sentenceTag(text string) template.HTML {
	if t, err := time.Parse(sentenceSecond, text); err == nil {
		return timeTag(t, "second")
	}
	t, err := time.Parse(sentenceMinute, text)
	if err != nil {
		return ""
	}
	if d := time.Since(t); d < nearTime && d > -nearTime {
		return timeTag(t, "clock")
	}
	return timeTag(t, "minute")
}
