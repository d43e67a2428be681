package ui

import (
	"html/template"
	"strings"
)

// Body is what stands in the table's tbody.
func (t Table) Body() template.HTML {
	var m markup
	m.Grow(400 * len(t.Rows))
	reshaped := t.Reshaped()
	role := func(name string) {
		if reshaped {
			m.raw(` role="`, name, `"`)
		}
	}
	for _, row := range t.Rows {
		m.raw("\n      <tr")
		role("row")
		if row.ID != "" {
			m.attribute("id", row.ID)
		}
		m.raw(">")
		for i, c := range row.Cells {
			if i == 0 {
				m.raw("\n        <th scope=\"row\"")
				role("rowheader")
				m.raw(">")
				c.write(&m, row.ID)
				m.raw("</th>")
				continue
			}
			m.raw("\n        <td")
			role("cell")
			if i < len(t.Columns) && t.Columns[i].Class() != "" {
				m.attribute("class", t.Columns[i].Class())
			}
			if t.Cards && i < len(t.Columns) && (t.Columns[i].Number || t.Columns[i].Named) {
				m.attribute("data-label", t.Columns[i].Label) // on a card nothing else says what it is
			}
			m.raw(">")
			c.write(&m, "")
			m.raw("</td>")
		}
		m.raw("\n      </tr>")
	}
	return m.html()
}

// write writes a cell. id is that of its row, if it is the first.
func (c *Cell) write(m *markup, id string) {
	if t := c.Tick; t != nil {
		m.raw(`<input type="checkbox" class="tick" autocomplete="off"`)
		m.attribute("id", t.Name+"-"+t.Value)
		m.attribute("name", t.Name)
		m.attribute("value", t.Value)
		m.attribute("form", t.Form)
		m.raw(`><label class="sr"`)
		m.attribute("for", t.Name+"-"+t.Value)
		m.raw(">")
		m.text(t.Of)
		m.raw("</label> ")
	}
	if c.URL != "" {
		m.raw("<a")
		m.href(c.URL)
		if id != "" {
			m.attribute("id", id+"-link")
		}
		m.raw(">")
	}
	switch {
	case c.Status != "":
		m.badge(c.Status)
	case !c.At.IsZero() && c.Exact:
		m.raw(string(exact(c.At)))
	case !c.At.IsZero():
		m.raw(string(moment(c.At)))
	case c.Code:
		m.raw("<code>")
		m.text(c.Text)
		m.raw("</code>")
	default:
		m.text(c.Text)
	}
	if c.URL != "" {
		m.raw("</a>")
	}
	if c.Note != "" {
		m.raw(`<span class="note">`)
		m.text(c.Note)
		m.raw("</span>")
	}
	c.writeLinks(m)
}

// rowForm is the form of an act on a record. There are few of them on a page.
var rowForm = template.Must(template.New("form").Parse(`<form method="post" action="{{.Action}}">{{range .Hidden}}<input type="hidden" name="{{.Name}}" value="{{.Value}}">{{end}}` +
	`<button class="button secondary small" type="submit">{{.Label}}<span class="sr"> {{.Of}}</span></button></form>`))

func (c *Cell) writeLinks(m *markup) {
	if len(c.Links)+len(c.Posts) == 0 {
		return
	}
	m.raw(`<span class="acts">`)
	for _, p := range c.Posts {
		var b strings.Builder
		if rowForm.Execute(&b, p) == nil {
			m.raw(b.String())
		}
	}
	for _, l := range c.Links {
		m.raw("<a")
		m.href(l.URL)
		m.raw(">")
		m.text(l.Label)
		m.raw(`<span class="sr"> `)
		m.text(l.Of)
		m.raw("</span></a>")
	}
	m.raw("</span>")
}

// Body is what stands in the timeline's list.
func (t Timeline) Body() template.HTML {
	var m markup
	for _, e := range t.Entries {
		m.raw("\n  <li class=\"", tone(e.Status), "\">\n    <p class=\"when\">", string(moment(e.At)), "</p>\n    <p class=\"what\">")
		if e.URL != "" {
			m.raw("<a")
			m.href(e.URL)
			m.raw(">")
			m.text(e.Title)
			m.raw("</a>")
		} else {
			m.text(e.Title)
		}
		if e.Status != "" {
			m.raw(" ")
			m.badge(e.Status)
		}
		m.raw("</p>")
		if e.Text != "" {
			m.raw("\n    <p>")
			m.text(e.Text)
			m.raw("</p>")
		}
		m.raw("\n  </li>")
	}
	return m.html()
}

// List is the list of the pages, group by group.
func (n Nav) List() template.HTML {
	var m markup
	for _, g := range n.Groups() {
		if g.Label != "" {
			m.raw("\n<p class=\"side-group\" aria-hidden=\"true\">")
			m.text(g.Label)
			m.raw("</p>")
		}
		m.raw("\n<ul")
		if g.Label != "" {
			m.attribute("aria-label", g.Label)
		}
		m.raw(">")
		for _, item := range g.Items {
			m.raw("\n  <li><a")
			m.href(item.URL)
			if item.Current {
				m.raw(` aria-current="page"`)
			}
			m.raw(">")
			m.text(item.Label)
			m.raw("</a></li>")
		}
		m.raw("\n</ul>")
	}
	return m.html()
}
