package ui

import (
	"html/template"
	"strconv"
)

// HTML returns the field with its label, hint and error, for the part "field".
func (f Field) HTML() template.HTML {
	var m markup
	f.write(&m)
	return m.html()
}

func (f *Field) write(m *markup) {
	m.raw(`<div class="field`)
	if f.Error != "" {
		m.raw(" wrong")
	}
	m.raw(`">`)
	if f.Type == "checkbox" {
		f.writeCheckbox(m)
	} else {
		f.writeInput(m)
	}
	m.raw("\n</div>")
}

func (f *Field) writeCheckbox(m *markup) {
	f.writeError(m)
	m.raw("\n  <div class=\"check\">\n    <input")
	f.writeNames(m)
	m.raw(` type="checkbox"`)
	m.attribute("value", or(f.Value, "yes"))
	if f.Checked {
		m.raw(" checked")
	}
	f.writeAttributes(m)
	m.raw(">\n    ")
	f.writeLabel(m, false)
	f.writeHint(m, "\n    ")
	m.raw("\n  </div>")
}

func (f *Field) writeInput(m *markup) {
	m.raw("\n  ")
	f.writeLabel(m, !f.Required)
	f.writeHint(m, "\n  ")
	f.writeError(m)
	switch f.Type {
	case "select":
		m.raw("\n  <select")
		f.writeNames(m)
		f.writeAttributes(m)
		m.raw(">")
		for _, o := range f.Options {
			m.raw("\n    <option")
			m.attribute("value", o.Value)
			if o.Value == f.Value {
				m.raw(" selected")
			}
			m.raw(">")
			m.text(o.Label)
			m.raw("</option>")
		}
		m.raw("\n  </select>")
	case "textarea":
		m.raw("\n  <textarea")
		f.writeNames(m)
		rows := f.Rows
		if rows == 0 {
			rows = 4
		}
		m.attribute("rows", strconv.Itoa(rows))
		f.writeAttributes(m)
		m.raw(">")
		m.text(f.Value)
		m.raw("</textarea>")
	default:
		m.raw("\n  <input")
		f.writeNames(m)
		m.attribute("type", or(f.Type, "text"))
		if f.Value != "" && f.Type != "password" {
			m.attribute("value", f.Value)
		}
		f.writeAttributes(m)
		if f.Type == "email" || f.Type == "password" {
			m.raw(` autocapitalize="none" spellcheck="false"`)
		}
		m.raw(">")
	}
}

func (f *Field) writeNames(m *markup) {
	m.attribute("id", f.Name)
	m.attribute("name", f.Name)
}

func (f *Field) writeLabel(m *markup, optional bool) {
	m.raw("<label")
	m.attribute("for", f.Name)
	m.raw(">")
	m.text(f.Label)
	if optional {
		m.raw(` <span class="optional">(optional)</span>`)
	}
	m.raw("</label>")
}

func (f *Field) writeHint(m *markup, before string) {
	if f.Hint != "" {
		m.raw(before, `<p class="hint"`)
		m.attribute("id", f.Name+"-hint")
		m.raw(">")
		m.text(f.Hint)
		m.raw("</p>")
	}
}

func (f *Field) writeError(m *markup) {
	if f.Error != "" {
		m.raw("\n  <p class=\"error\"")
		m.attribute("id", f.Name+"-error")
		m.raw(`><span class="sr">Error: </span>`)
		m.text(f.Error)
		m.raw("</p>")
	}
}

func (f *Field) writeAttributes(m *markup) {
	if f.Autocomplete != "" {
		m.attribute("autocomplete", f.Autocomplete)
	}
	if f.Required {
		m.raw(" required")
	}
	described := ""
	if f.Hint != "" {
		described = f.Name + "-hint"
	}
	if f.Error != "" {
		m.raw(` aria-invalid="true"`)
		if described != "" {
			described += " "
		}
		described += f.Name + "-error"
	}
	if described != "" {
		m.attribute("aria-describedby", described)
	}
	if f.Autofocus {
		m.raw(" autofocus")
	}
}
