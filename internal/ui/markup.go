package ui

import (
	"html/template"
	"strings"
	"sync"
	"time"
)

// markup writes HTML by hand where a page repeats it: html/template looks at the types and
// the context of each value anew, which was most of the time of a page of fifty rows. It
// escapes as html/template does in the same place.
type markup struct{ b []byte }

// markups are used again: growing a new one for each page was a third of the memory that a
// list took.
var markups = sync.Pool{New: func() any { return new(markup) }}

// maxMarkup is the size up to which one is used again.
const maxMarkup = 256 << 10

func getMarkup() *markup { return markups.Get().(*markup) }

// release ends the use of a markup, and of what was written.
func (m *markup) release() {
	if cap(m.b) <= maxMarkup {
		m.b = m.b[:0]
		markups.Put(m)
	}
}

// html is what was written.
func (m *markup) html() template.HTML { return template.HTML(m.b) } //nolint:gosec // every value in it was escaped

// Write writes what a template made.
func (m *markup) Write(b []byte) (int, error) {
	m.b = append(m.b, b...)
	return len(b), nil
}

// raw writes constant markup as it stands, part by part.
func (m *markup) raw(parts ...string) {
	for _, s := range parts {
		m.b = append(m.b, s...)
	}
}

// escapes are those of html/template, for text and for attributes in double quotes.
var escapes = [256]string{0: "\uFFFD", '"': "&#34;", '&': "&amp;", '\'': "&#39;", '+': "&#43;", '<': "&lt;", '>': "&gt;"}

// text writes a value as text, or inside an attribute that is in double quotes.
func (m *markup) text(s string) {
	from := 0
	for i := range len(s) {
		if e := escapes[s[i]]; e != "" {
			m.b = append(append(m.b, s[from:i]...), e...)
			from = i + 1
		}
	}
	m.b = append(m.b, s[from:]...)
}

// attribute writes an attribute with a space before it.
func (m *markup) attribute(name, value string) {
	m.raw(" ", name, `="`)
	m.text(value)
	m.raw(`"`)
}

// anyURL makes a safe URL of any text.
var anyURL = template.Must(template.New("url").Parse(`<a href="{{.}}">`))

// href writes the attribute href.
func (m *markup) href(url string) { m.address("href", url) }

// address writes an attribute that is a URL. What is more than a plain path of this site
// is left to html/template, which knows which URLs are safe.
func (m *markup) address(name, url string) {
	if plainPath(url) {
		m.attribute(name, url)
		return
	}
	var b strings.Builder
	if anyURL.Execute(&b, url) == nil {
		m.raw(" ", name, strings.TrimSuffix(strings.TrimPrefix(b.String(), "<a href"), ">"))
	}
}

// plainBytes are those that stand in a URL as they are.
var plainBytes = func() (plain [256]bool) {
	for _, c := range []byte("/-_.~?=&,:;@!$*#ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789") {
		plain[c] = true
	}
	return plain
}()

// plainPath reports whether a URL is a path of this site in which nothing has to be
// encoded, or what has to is.
func plainPath(url string) bool {
	if !strings.HasPrefix(url, "/") {
		return false
	}
	for i := range len(url) {
		if c := url[i]; !plainBytes[c] && (c != '%' || i+2 >= len(url) || !isHex(url[i+1]) || !isHex(url[i+2])) {
			return false
		}
	}
	return true
}

func isHex(c byte) bool { return c >= '0' && c <= '9' || c >= 'a' && c <= 'f' || c >= 'A' && c <= 'F' }

// item writes an item of a list of links.
func (m *markup) item(i Item) {
	m.raw("<li><a")
	m.href(i.URL)
	if i.Current {
		m.raw(` aria-current="page"`)
	}
	m.raw(">")
	m.text(i.Label)
	m.raw("</a></li>")
}

// notice writes what was done or could not be done; nothing if there is no text.
func (m *markup) notice(kind, text string) {
	if text != "" {
		m.raw("\n<div class=\"notice ", kind, `"><p>`)
		m.sentence(text)
		m.raw("</p></div>")
	}
}

// badges are those of the statuses that have a tone.
var badges = func() map[string]string {
	all := make(map[string]string, len(tones))
	for status := range tones {
		var m markup
		m.writeBadge(status)
		all[status] = string(m.b)
	}
	return all
}()

// badge writes a status.
func (m *markup) badge(status string) {
	if made, ok := badges[status]; ok {
		m.raw(made)
		return
	}
	m.writeBadge(status)
}

func (m *markup) writeBadge(status string) {
	m.raw(`<span class="badge `, toneOf(status), `">`)
	m.text(labelOf(status))
	m.raw("</span>")
}

// time writes a time; as is a key of layouts.
func (m *markup) time(t time.Time, as string) { m.b = appendTime(m.b, t, as) }
