package ui

import (
	"fmt"
	"html/template"
)

// HTML returns the links to the neighbouring pages, for the part "pager".
func (p Pager) HTML() template.HTML {
	var m markup
	p.write(&m)
	return m.html()
}

func (p *Pager) write(m *markup) {
	m.raw(`<nav class="pager"`)
	m.attribute("aria-label", or(p.Label, "Pages"))
	m.raw(">")
	m.neighbour("prev", p.Prev, "Previous")
	m.raw("\n  <span class=\"muted\">")
	m.text(p.Showing)
	m.raw("</span>")
	m.neighbour("next", p.Next, "Next")
	m.raw("\n</nav>")
}

// neighbour writes the link to a neighbouring page, or a placeholder.
func (m *markup) neighbour(rel, url, label string) {
	if url == "" {
		m.raw("\n  <span></span>")
		return
	}
	m.raw("\n  <a class=\"button secondary\" rel=\"", rel, `"`)
	m.href(url)
	m.raw(">", label, "</a>")
}

// HTML returns the results, for the part "results".
func (r Results) HTML() template.HTML {
	m := getMarkup()
	defer m.release()
	m.raw("\n")
	switch {
	case !r.Empty():
		r.Table.write(m)
	case !r.SearchedTo.IsZero():
		m.raw(`<p class="muted">Nothing matches so far.</p>`)
	case r.Filters.Active:
		m.empty(
			Empty{
				Title:  "Nothing matches",
				Text:   "Take a filter out, or clear all of them.",
				URL:    r.Filters.URL,
				Action: "Clear filters",
			},
		)
	default:
		m.empty(r.Nothing)
	}
	if !r.SearchedTo.IsZero() {
		m.raw("\n<p class=\"bar\"><span class=\"muted\">Searched back to ")
		m.time(r.SearchedTo, "second")
		m.raw(`.</span> <a class="button secondary"`)
		m.href(r.GoOn)
		m.raw(">Go on</a></p>")
	}
	if r.Pager.Prev != "" || r.Pager.Next != "" {
		m.raw("\n")
		r.Pager.write(m)
	}
	return m.html()
}

// link returns a link, for templates with several: html/template checks a URL three times.
func link(class, url, label string) template.HTML {
	var m markup
	m.raw(`<a class="`)
	m.text(class)
	m.raw(`"`)
	m.href(url)
	m.raw(">")
	m.text(label)
	m.raw("</a>")
	return m.html()
}

// empty writes the message for an empty list, like the part "empty".
func (m *markup) empty(e Empty) {
	m.raw("<div class=\"empty\">\n  <h2>")
	m.text(e.Title)
	m.raw("</h2>\n  <p>")
	m.text(e.Text)
	m.raw("</p>")
	if e.Action != "" {
		m.raw("\n  <p><a class=\"button secondary\"")
		m.href(e.URL)
		m.raw(">")
		m.text(e.Action)
		m.raw("</a></p>")
	}
	m.raw("\n</div>")
}

// HTML returns the filter form, for the part "filters".
func (f Filters) HTML() template.HTML {
	m := getMarkup()
	defer m.release()
	if !f.Fold {
		f.write(m)
		return m.html()
	}
	m.raw(`<details class="fold"`)
	if f.Failed() {
		m.raw(" open")
	}
	m.raw(">\n  <summary>Filters")
	if said := f.Said(); said != "" {
		m.raw(` <span class="muted">`)
		m.text(said)
		m.raw("</span>")
	}
	m.raw("</summary>\n  ")
	f.write(m)
	m.raw("\n</details>")
	return m.html()
}

func (f Filters) write(m *markup) {
	m.raw(`<form class="filters" method="get"`)
	m.address("action", f.URL)
	m.raw(` role="search"`)
	m.attribute("aria-label", f.Label)
	m.raw(">")
	for _, p := range f.Hidden {
		m.raw("\n  <input type=\"hidden\"")
		m.attribute("name", p.Name)
		m.attribute("value", fmt.Sprint(p.Value))
		m.raw(">")
	}
	for i := range f.Fields {
		m.raw("\n  ")
		f.Fields[i].write(m)
	}
	m.raw("\n  <div class=\"actions\">\n    <button class=\"button secondary\" type=\"submit\">Filter</button>")
	if f.Active {
		m.raw("\n    <a class=\"button quiet\"")
		m.href(f.URL)
		m.raw(">Clear filters</a>")
	}
	m.raw("\n  </div>\n</form>")
}

// HTML returns the text with a copy button, for the part "code".
func (c Code) HTML() template.HTML {
	var m markup
	c.write(&m)
	return m.html()
}

func (c Code) write(m *markup) {
	m.raw("<div class=\"code\">\n  <div class=\"code-head\"><span>")
	m.text(c.Label)
	m.raw(`</span><button class="button quiet copy" type="button" data-copy><span>Copy</span><span class="sr"> `)
	m.text(c.Label)
	m.raw(`</span></button><span class="sr" role="status"></span></div>`, "\n  <pre tabindex=\"0\" role=\"region\"")
	m.attribute("aria-label", c.Label)
	m.raw("><code>")
	m.text(c.Text)
	m.raw("</code></pre>\n</div>")
}

// HTML returns the folded call, for the part "curl".
func (c Curl) HTML() template.HTML {
	m := markup{b: make([]byte, 0, 1024)}
	m.raw("<details class=\"curl\">\n  <summary>")
	m.text(or(c.What, sameByAPI))
	m.raw("</summary>\n  ")
	c.Code().write(&m)
	m.raw("\n</details>")
	return m.html()
}
