package ui

import (
	"html/template"
	"strings"
)

// markup writes HTML by hand where a page repeats it: html/template looks at the types and
// the context of each value anew, which was most of the time of a page of fifty rows. It
// escapes as html/template does in the same place.
type markup struct{ strings.Builder }

// html is what was written.
func (m *markup) html() template.HTML { return template.HTML(m.String()) } //nolint:gosec // every value in it was escaped

// raw writes constant markup as it stands, part by part.
func (m *markup) raw(parts ...string) {
	for _, s := range parts {
		m.WriteString(s)
	}
}

// escapes are those of html/template, for text and for attributes in double quotes.
var escapes = [256]string{0: "\uFFFD", '"': "&#34;", '&': "&amp;", '\'': "&#39;", '+': "&#43;", '<': "&lt;", '>': "&gt;"}

// text writes a value as text, or inside an attribute that is in double quotes.
func (m *markup) text(s string) {
	from := 0
	for i := range len(s) {
		if e := escapes[s[i]]; e != "" {
			m.WriteString(s[from:i])
			m.WriteString(e)
			from = i + 1
		}
	}
	m.WriteString(s[from:])
}

// attribute writes an attribute with a space before it.
func (m *markup) attribute(name, value string) {
	m.raw(" ", name, `="`)
	m.text(value)
	m.raw(`"`)
}

// anyURL makes a safe URL of any text.
var anyURL = template.Must(template.New("url").Parse(`<a href="{{.}}">`))

// href writes the attribute href. What is more than a plain path of this site is left to
// html/template, which knows which URLs are safe.
func (m *markup) href(url string) {
	if !plainPath(url) {
		var b strings.Builder
		if anyURL.Execute(&b, url) == nil {
			m.raw(strings.TrimSuffix(strings.TrimPrefix(b.String(), "<a"), ">"))
		}
		return
	}
	m.attribute("href", url)
}

// plainPath reports whether a URL is a path of this site in which nothing has to be
// encoded.
func plainPath(url string) bool {
	if !strings.HasPrefix(url, "/") {
		return false
	}
	for i := range len(url) {
		c := url[i]
		if c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' {
			continue
		}
		if strings.IndexByte("/-_.~?=&,:;@!$*#", c) < 0 {
			return false
		}
	}
	return true
}

// badge writes a status.
func (m *markup) badge(status string) {
	m.raw(`<span class="badge `, tone(status), `">`)
	m.text(label(status))
	m.raw("</span>")
}
