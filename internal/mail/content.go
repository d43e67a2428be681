package mail

import (
	"embed"
	"fmt"
	"html/template"
	"strings"
	"unicode/utf8"
)

// Content is the text of a mail in parts. Render lays it out, so that every mail of the
// service looks the same, in text and in HTML.
type Content struct {
	Title   string   // in a few words what it is about; the HTML's heading
	Hello   string   // how the reader is addressed
	Opening []string // paragraphs
	Facts   []Fact
	Ask     string   // the line above Steps
	Steps   []string // what to do, in order
	Button  Link     // what the reader is asked to open, if anything
	Closing []string // paragraphs
	Links   []Link
	Foot    string // why the reader gets it
	Look    Look
}

// Look is how mails show whom they are from; see Outbox.Render.
type Look struct {
	Name   string // of the marketplace
	Logo   string // the address of its picture; "": the name alone
	Accent string // the colour of the button, on which white can be read; "": the usual one

	SupportURL string // where readers ask: a page, or mailto:; "": nowhere
}

// Contact is the link by which readers ask the marketplace, none where nobody said where.
func (o *Outbox) Contact(marketplace string) []Link {
	if o.Look.SupportURL == "" {
		return nil
	}
	return []Link{{Name: "Contact " + marketplace, URL: o.Look.SupportURL}}
}

// Fact is a line of a list: what it is, and what it is now.
type Fact struct{ Name, Value string }

// Link is an address to open.
type Link struct{ Name, URL string }

//go:embed content.html
var files embed.FS

// page is the HTML of a mail. It loads no other resource but the logo, which its reader
// may leave out, and reads in order without its style.
var page = template.Must(template.ParseFS(files, "content.html"))

// Render lays the content out as plain text and as HTML.
func (l Content) Render() (text, html string) {
	var b strings.Builder
	if err := page.Execute(&b, l); err != nil {
		// Into memory, from strings: only a mistake in the template could fail.
		panic(fmt.Sprintf("lay out a mail: %v", err))
	}
	return l.text(), b.String()
}

// Render lays out content in the look of the marketplace.
func (o *Outbox) Render(c Content) (text, html string) {
	c.Look = o.Look
	return c.Render()
}

// text is the content in lines that fit any window.
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
	// Addresses are on lines of their own, so that no mail program breaks them.
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

// facts are the facts as lines, their values below one another.
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

// wrap breaks a text into lines, the first of which begins with first and the
// others with rest. A word that is too long, such as an address, stays whole.
func wrap(text, first, rest string) string {
	const most = 72
	lines, line, empty := []string{}, first, true
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
