package ui

import (
	"html/template"
	"strings"
	"sync"
	"time"
)

// markup writes repeated HTML by hand. html/template checks type and context of each value again,
// which took most of the time of a page of fifty rows. markup escapes as html/template does in the
// same place.
type markup struct {
	b     []byte
	texts texts // of the frame
}

// markups are reused: growing a new one for each page took a third of a list's memory.
var markups = sync.Pool{New: func() any { return new(markup) }}

// maxMarkup is the maximum size of a reused one.
const maxMarkup = 256 << 10

func getMarkup() *markup { return markups.Get().(*markup) }

// release returns the markup to the pool. Its bytes must no longer be used.
func (m *markup) release() {
	if cap(m.b) <= maxMarkup {
		m.b = m.b[:0]
		markups.Put(m)
	}
}

// html returns the written markup.
func (m *markup) html() template.HTML { return template.HTML(m.b) } //nolint:gosec // every value in it was escaped

// Write appends the output of a template.
func (m *markup) Write(b []byte) (int, error) {
	m.b = append(m.b, b...)
	return len(b), nil
}

// raw writes constant markup unescaped.
func (m *markup) raw(parts ...string) {
	for _, s := range parts {
		m.b = append(m.b, s...)
	}
}

// escapes are those of html/template, for text and for attributes in double quotes.
var escapes = [256]string{
	0:    "\uFFFD",
	'"':  "&#34;",
	'&':  "&amp;",
	'\'': "&#39;",
	'+':  "&#43;",
	'<':  "&lt;",
	'>':  "&gt;",
}

// text writes an escaped value as text, or inside an attribute in double quotes.
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

// attribute writes a space and an attribute.
func (m *markup) attribute(name, value string) {
	m.raw(" ", name, `="`)
	m.text(value)
	m.raw(`"`)
}

// anyURL makes a safe URL from any text.
var anyURL = template.Must(template.New("url").Parse(`<a href="{{.}}">`))

// href writes the attribute href.
func (m *markup) href(url string) { m.address("href", url) }

// address writes a URL attribute.
func (m *markup) address(name, url string) {
	m.raw(" ", name, `="`)
	m.url(url)
	m.raw(`"`)
}

// url writes a URL inside an attribute in double quotes. Anything but a plain path of this site goes
// through html/template, which knows the safe URLs.
func (m *markup) url(url string) {
	if plainPath(url) {
		m.text(url)
		return
	}
	var b strings.Builder
	if anyURL.Execute(&b, url) == nil {
		m.raw(strings.TrimSuffix(strings.TrimPrefix(b.String(), `<a href="`), `">`))
	}
}

// plainBytes are the bytes that need no encoding in a URL.
var plainBytes = func() (plain [256]bool) {
	for _, c := range []byte("/-_.~?=&,:;@!$*#ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789") {
		plain[c] = true
	}
	return plain
}()

// plainPath reports whether a URL is a path of this site that needs no further encoding.
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

// badges has the badges of all statuses with a tone.
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
