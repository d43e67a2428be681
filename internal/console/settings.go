package console

import (
	"net/http"

	"claviger/internal/ui"
)

// Setting is a setting in force: its displayable value and its source.
type Setting struct{ Name, Shown, From string }

// settings lists the settings in force.
func (s *System) settings(w http.ResponseWriter, r *http.Request, v *Visit) error {
	t := ui.Table{
		ID: "settings", Caption: "Settings in force", Cards: true,
		Columns: []ui.Column{{Label: "Setting"}, {Label: "Value", Wrap: true}, {Label: "From"}},
	}
	for _, one := range s.Settings {
		value := ui.Cell{Text: one.Shown, Code: true}
		if one.Shown == "" {
			value = ui.Cell{Text: "not set"}
		}
		t.Rows = append(
			t.Rows,
			ui.Row{ID: "setting-" + one.Name, Cells: []ui.Cell{{Text: one.Name, Code: true}, value, {Text: one.From}}},
		)
	}
	view := recordsView{
		Heading: "Settings",
		Lead: s.Version + ". The settings are listed as they are in force on the node that answers, as claviger " +
			"config check prints them. Secrets are hidden. They are changed where they come from, and read at the " +
			"start.",
		Results: ui.Results{Table: t}, Curl: s.call("The same by API", http.MethodGet, "/operator/v1/settings"),
	}
	return s.render(w, r, v, "records", ui.View{Title: "Settings", Data: view})
}
