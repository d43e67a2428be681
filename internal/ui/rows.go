package ui

import (
	"html/template"
	"strings"
)

// HTML returns the table in its box, for the part "table".
func (t Table) HTML() template.HTML {
	m := getMarkup()
	defer m.release()
	t.write(m)
	return m.html()
}

// write writes the table. If it is shown as cards or lines, browsers drop its roles, so they are
// written explicitly.
func (t *Table) write(m *markup) {
	role := func(name string) string {
		if !t.Reshaped() {
			return ""
		}
		return ` role="` + name + `"`
	}
	m.raw(`<div class="table-box"`)
	m.attribute("id", t.ID)
	m.raw(` role="region"`)
	m.attribute("aria-labelledby", t.ID+"-caption")
	m.raw(` tabindex="0">`, "\n  <table class=\"", t.Class(), `"`, role("table"), ">\n    <caption")
	m.attribute("id", t.ID+"-caption")
	m.raw(">")
	m.text(t.Caption)
	m.raw("</caption>\n    <thead", role("rowgroup"), ">\n      <tr", role("row"), ">")
	for _, c := range t.Columns {
		m.raw("\n        <th scope=\"col\"", role("columnheader"))
		if class := c.Class(); class != "" {
			m.attribute("class", class)
		}
		m.raw(">")
		m.text(c.Label)
		m.raw("</th>")
	}
	m.raw("\n      </tr>\n    </thead>\n    <tbody", role("rowgroup"), ">")
	t.writeRows(m, role)
	m.raw("\n    </tbody>\n  </table>\n</div>")
}

// writeRows writes the contents of the tbody.
func (t *Table) writeRows(m *markup, role func(string) string) {
	row := "\n      <tr" + role("row")
	begins := t.cellsBegin(role)
	for i := range t.Rows {
		m.raw(row)
		t.Rows[i].write(m, begins)
	}
	made := Row{Cells: make([]Cell, 0, len(t.Columns))}
	for i := range t.count {
		made.Cells = made.Cells[:0]
		t.row(i, &made)
		m.raw(row)
		made.write(m, begins)
	}
}

// write writes the rest of a row after the name of its element. begins are the starts of its cells.
func (r *Row) write(m *markup, begins []string) {
	if r.ID != "" {
		m.attribute("id", r.ID)
	}
	m.raw(">")
	for i := range r.Cells {
		m.raw(begins[min(i, len(begins)-1)])
		if i == 0 {
			r.Cells[i].write(m, r.ID)
			m.raw("</th>")
			continue
		}
		r.Cells[i].write(m, "")
		m.raw("</td>")
	}
	m.raw("\n      </tr>")
}

// cellsBegin returns the start of the cells of each column, and last, of cells beyond the columns.
func (t *Table) cellsBegin(role func(string) string) []string {
	list := []string{"\n        <th scope=\"row\"" + role("rowheader") + ">"}
	for _, c := range t.Columns[min(1, len(t.Columns)):] {
		var m markup
		m.raw("\n        <td", role("cell"))
		if class := c.Class(); class != "" {
			m.attribute("class", class)
		}
		if t.Cards && (c.Number || c.Named) {
			m.attribute("data-label", c.Label) // the only label on a card
		}
		m.raw(">")
		list = append(list, string(m.b))
	}
	return append(list, "\n        <td"+role("cell")+">")
}

// write writes a cell. id is the id of its row, for the first cell.
func (c *Cell) write(m *markup, id string) {
	if c.Acts != nil && c.Acts.Tick != nil {
		t := c.Acts.Tick
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
			m.raw(` id="`)
			m.text(id)
			m.raw(`-link"`)
		}
		m.raw(">")
	}
	switch {
	case c.Status != "":
		m.badge(c.Status)
	case !c.At.IsZero() && c.Exact:
		m.time(c.At, "second")
	case !c.At.IsZero():
		m.time(c.At, "minute")
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
		m.sentence(c.Note)
		m.raw("</span>")
	}
	if c.Acts != nil {
		c.Acts.write(m)
	}
}

// rowForm is the form of an action on a record. A page has few of them.
var rowForm = template.Must(template.New("form").Parse(`<form method="post" action="{{.Action}}">{{range .Hidden}}` +
	`<input type="hidden" name="{{.Name}}" value="{{.Value}}">{{end}}` +
	`<button class="button secondary small" type="submit">{{.Label}}<span class="sr"> {{.Of}}</span></button></form>`))

// write writes the links and forms.
func (a *RowActs) write(m *markup) {
	if len(a.Links)+len(a.Posts) == 0 {
		return
	}
	m.raw(`<span class="acts">`)
	for _, p := range a.Posts {
		var b strings.Builder
		if rowForm.Execute(&b, p) == nil {
			m.raw(b.String())
		}
	}
	for _, l := range a.Links {
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

// Body returns the items of the timeline's list.
func (t Timeline) Body() template.HTML {
	var m markup
	for _, e := range t.Entries {
		m.raw("\n  <li class=\"", toneOf(e.Status), "\">\n    <p class=\"when\">")
		m.time(e.At, "minute")
		m.raw("</p>\n    <p class=\"what\">")
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
			m.sentence(e.Text)
			m.raw("</p>")
		}
		m.raw("\n  </li>")
	}
	return m.html()
}
