package mail

import (
	"embed"
	"fmt"
	"html/template"
	"strings"
	"unicode/utf8"
)

// Content is the text of an email in parts. Render lays it out, so that every email of the service
// looks the same, in text and in HTML.
type Content struct {
	Title   string   // short summary; the HTML's heading
	Hello   string   // salutation
	Opening []string // paragraphs
	Facts   []Fact
	Ask     string   // the line above Steps
	Steps   []string // instructions, in order
	Button  Link     // main link, if any
	Closing []string // paragraphs
	Links   []Link
	Foot    string // reason for the email
	Look    Look
}

// Look is the branding of emails; see Outbox.Render.
type Look struct {
	Name   string // of the marketplace
	Logo   string // URL of its logo; "": only the name
	Accent string // colour of the button, readable with white text; "": the default

	SupportURL string // support page, or mailto:; "": none
}

// Contact returns the support link, if one is set.
func (o *Outbox) Contact(marketplace string) []Link {
	if o.Look.SupportURL == "" {
		return nil
	}
	return []Link{{Name: "Contact " + marketplace, URL: o.Look.SupportURL}}
}

// Fact is a line of a list: a name and its value.
type Fact struct{ Name, Value string }

// Link is a named URL.
type Link struct{ Name, URL string }

//go:embed content.html
var files embed.FS

// page is the HTML of an email. It loads only the logo, which clients may block, and reads in order
// without its style.
var page = template.Must(template.ParseFS(files, "content.html"))

// Render lays the content out as plain text and as HTML.
func (l Content) Render() (text, html string) {
	var b strings.Builder
	if err := page.Execute(&b, l); err != nil {
		// In memory, from strings: only an error in the template could fail.
		panic(fmt.Sprintf("lay out a mail: %v", err))
	}
	return l.text(), b.String()
}

// Render lays out content with the branding of the marketplace.
func (o *Outbox) Render(c Content) (text, html string) {
	c.Look = o.Look
	return c.Render()
}

// text returns the content in lines that fit any window.
func (l Content) text() string {
	var blocks []string
	add := func(lines ...string) {
		if block := strings.Join(lines, "\n"); block != "" {
			blocks = append(blocks, block)
		}
	}
	if l.Hello != "" {
		add(l.Hello)
	}
	for _, p := range l.Opening {
		add(wrap(p, "", ""))
	}
	add(l.facts()...)
	var steps []string
	for i, s := range l.Steps {
		number := fmt.Sprintf("%d. ", i+1)
		steps = append(steps, wrap(s, number, strings.Repeat(" ", len(number))))
	}
	if len(steps) > 0 {
		add(append([]string{l.Ask}, steps...)...)
	}
	// URLs are on their own lines, so that no email client breaks them.
	if l.Button.URL != "" {
		add(l.Button.Name+":", l.Button.URL)
	}
	for _, p := range l.Closing {
		add(wrap(p, "", ""))
	}
	for _, link := range l.Links {
		add(link.Name+":", link.URL)
	}
	if l.Foot != "" {
		add("-- ", wrap(l.Foot, "", ""))
	}
	return strings.Join(blocks, "\n\n") + "\n"
}

// facts returns the facts as lines with aligned values.
func (l Content) facts() []string {
	width := 0
	for _, f := range l.Facts {
		width = max(width, utf8.RuneCountInString(f.Name))
	}
	var lines []string
	for _, f := range l.Facts {
		first := "  " + f.Name + ":" + strings.Repeat(" ", width-utf8.RuneCountInString(f.Name)+1)
		lines = append(lines, wrap(f.Value, first, strings.Repeat(" ", utf8.RuneCountInString(first))))
	}
	return lines
}

// wrap breaks a text into lines; the first one starts with first and the others with rest. A word
// that is too long, such as a URL, stays whole.
func wrap(text, first, rest string) string {
	const most = 72
	lines := []string{}
	line := first
	empty := true
	for word := range strings.FieldsSeq(text) {
		switch {
		case empty:
			line += word
		case utf8.RuneCountInString(line)+1+utf8.RuneCountInString(word) <= most:
			line += " " + word
		default:
			lines = append(lines, line)
			line = rest + word
		}
		empty = false
	}
	return strings.Join(append(lines, strings.TrimRight(line, " ")), "\n")
}
