package ui

import (
	"html/template"
	"regexp"
	"strings"
	"time"
)

// The layouts of times inside sentences. Sentences are written with times in UTC, so that
// they are right wherever they are read; the pages show these in the zone of the person.
const (
	sentenceMinute = "2 Jan 2006, 15:04 UTC"
	sentenceSecond = "2 Jan 2006, 15:04:05 UTC"
)

// nearTime is how far from now a time is whose day need not be said.
const nearTime = 20 * time.Hour

// InSentence writes a time to the minute into a sentence, and ExactInSentence to the
// second.
func InSentence(t time.Time) string { return t.UTC().Format(sentenceMinute) }

// ExactInSentence is InSentence to the second.
func ExactInSentence(t time.Time) string { return t.UTC().Format(sentenceSecond) }

var sentenceTimes = regexp.MustCompile(`\b\d{1,2} (?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec) \d{4}, \d\d:\d\d(?::\d\d)? UTC\b`)

// sentence writes a text with the times in it, for pages.
func sentence(text string) template.HTML {
	var m markup
	m.sentence(text)
	return m.html()
}

// sentence writes a text, and the times in it like those that stand alone.
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

// sentenceTag is the element of a time of a sentence, "" if there is no such time.
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
