package area

import (
	"cmp"
	"context"
	"crypto/rand"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"

	"claviger/internal/export"
	"claviger/internal/live"
	"claviger/internal/plural"
	"claviger/internal/ui"
	"claviger/internal/wire"
)

// ExportsPath is the page that exports lists and shows the progress of exports.
const ExportsPath = "/exports"

// pageExports is the template of that page.
const pageExports = "exports"

// exportsShown is the number of a person's exports on the page.
const exportsShown = 20

// ExportList is a list that can be exported.
type ExportList struct {
	Kind  export.Kind
	Label string
	Lead  string // describes the content of the file
	Order string // of the rows; "": newest first

	// Read reads the filters of the request, in the terms of the list itself.
	Read func(r *http.Request, visit Visit) (ExportQuery, error)
}

// ExportQuery selects the rows of an export.
type ExportQuery struct {
	Table export.Table // not set if the form has failed
	Form  ui.Form      // the filters
	Call  ui.Curl      // the API call for the same file
}

// Exports serves the page with the exports of an area. Its stream has their progress.
type Exports struct {
	Exporter *export.Exporter
	Live     *live.Versions // of Exporter.Versions
	Lists    []ExportList
}

// exportsView is the page of exports.
type exportsView struct {
	Lead    string
	Order   string
	Tabs    ui.Tabs
	Form    ui.Form
	Filters ui.Filters
	About   string // number of rows
	Action  string // target of the forms, with the filters
	Running []runningExport
	Mine    ui.Table
	Call    ui.Curl
}

// runningExport is the progress of an export.
type runningExport struct {
	ID      string
	Text    string
	Percent int64
	Known   bool // Percent is known
}

// ExportURL returns the page that exports a list, with its filters and from the newest row on.
func ExportURL(page string, kind export.Kind, q url.Values) string {
	to := url.Values{"list": {string(kind)}}
	for name, values := range q {
		if !slices.Contains([]string{"list", "before", "after", "live", "page"}, name) && len(values) > 0 &&
			values[0] != "" {
			to[name] = values
		}
	}
	return page + "?" + to.Encode()
}

// Routes returns the rows of exports.
func (x *Exports) Routes(rule Rule) []Route {
	return []Route{
		{Kind: Page, Path: ExportsPath, Needs: rule(Page, false), Find: x.shows(x.view)},
		{Kind: Act, Path: ExportsPath, Needs: rule(Act, false), Serve: x.send},
		{Kind: Stream, Path: ExportsPath + "/live", Needs: rule(Stream, false), Find: x.shows(x.progress)},
	}
}

// shows returns the page with a view.
func (x *Exports) shows(view func(*http.Request, Visit) (ui.View, error)) func(*http.Request, Visit) (Shown, error) {
	return func(_ *http.Request, visit Visit) (Shown, error) {
		return Shown{
			Versions: x.Live, Topic: visit.Common().User.ID, Page: pageExports,
			View: func(r *http.Request) (ui.View, string, error) {
				v, err := view(r, visit)
				return v, "", err
			},
		}, nil
	}
}

// progress reads the part of the page that is updated.
func (x *Exports) progress(r *http.Request, visit Visit) (ui.View, error) {
	view := exportsView{}
	err := x.addMine(r, visit, &view)
	return ui.View{Fragment: "exports-now", Data: view}, err
}

// chosen returns the list of the query, by default the first.
func (x *Exports) chosen(r *http.Request) (ExportList, error) {
	name := r.URL.Query().Get("list")
	for _, list := range x.Lists {
		if name == "" || name == string(list.Kind) {
			return list, nil
		}
	}
	return ExportList{}, NotFound()
}

// view reads the page.
func (x *Exports) view(r *http.Request, visit Visit) (ui.View, error) {
	list, err := x.chosen(r)
	if err != nil {
		return ui.View{}, err
	}
	q, err := list.Read(r, visit)
	if err != nil {
		return ui.View{}, err
	}
	return x.page(r, visit, list, q)
}

// page builds the page of a list. Invalid filters have an error at their field.
func (x *Exports) page(r *http.Request, visit Visit, list ExportList, q ExportQuery) (ui.View, error) {
	self := visit.Path("%s", ExportsPath)
	view := exportsView{
		Lead: list.Lead, Order: cmp.Or(list.Order, "Newest first"),
		Tabs: ui.Tabs{Label: "Lists"}, Form: q.Form, Action: ExportURL(self, list.Kind, r.URL.Query()),
		Call: q.Call,
		Filters: ui.Filters{
			Label: "Filter the export", URL: ExportURL(self, list.Kind, nil), Fields: q.Form.Fields,
			Hidden: []ui.Param{{Name: "list", Value: string(list.Kind)}}, Fold: true,
		},
	}
	for _, field := range q.Form.Fields {
		view.Filters.Active = view.Filters.Active || field.Value != ""
	}
	for _, other := range x.Lists {
		view.Tabs.Items = append(
			view.Tabs.Items,
			ui.Tab{Label: other.Label, URL: ExportURL(self, other.Kind, nil), Current: other.Kind == list.Kind},
		)
	}
	if err := x.addMine(r, visit, &view); err != nil {
		return ui.View{}, err
	}
	if q.Form.Failed() {
		return ui.View{Title: "Exports", Status: http.StatusBadRequest, Fragment: "exports-now", Data: view}, nil
	}
	about, err := q.Table.About(r.Context())
	view.About = aboutRows(about)
	return ui.View{Title: "Exports", Fragment: "exports-now", Data: view}, err
}

// aboutRows describes the number of rows of a file.
func aboutRows(e export.Estimate) string {
	switch {
	case !e.Known():
		return "The number of rows is known when the file is whole."
	case e.Rows == 0:
		return "There are no rows now."
	case e.More:
		return "More than " + plural.Of(e.Rows, "row") + "."
	}
	return "About " + plural.Of(e.Rows, "row") + "."
}

// send answers with a list as a file. It checks the person's access before each batch.
func (x *Exports) send(w http.ResponseWriter, r *http.Request, visit Visit) error {
	if err := ui.ReadForm(r); err != nil {
		return err
	}
	format, err := export.ParseFormat(ui.FormText(r, "format"))
	if err != nil {
		return err
	}
	list, err := x.chosen(r)
	if err != nil {
		return err
	}
	q, err := list.Read(r, visit)
	if err != nil {
		return err
	}
	if !q.Form.Failed() {
		job := export.Job{
			Table:  q.Table,
			Format: format,
			By:     visit.Actor(),
			Nonce:  rand.Text(),
			Check: func(ctx context.Context) error {
				return visit.Common().Area.Recheck(ctx, r, visit)
			},
		}
		file := wire.File{Name: export.FileName(q.Table, format, x.Exporter.Now()), ContentType: format.ContentType()}
		err := wire.SendFile(
			w, r, file, func(ctx context.Context, to io.Writer) error { return x.Exporter.Run(ctx, to, job) },
		)
		if err == nil || !q.Form.Refuse(err) {
			return err
		}
	}
	view, err := x.page(r, visit, list, q)
	if err != nil {
		return err
	}
	view.Status = http.StatusUnprocessableEntity
	return visit.Common().Area.Render(w, r, visit, pageExports, view)
}

// addMine adds the progress of the person's exports.
func (x *Exports) addMine(r *http.Request, visit Visit, view *exportsView) error {
	list, err := x.Exporter.Of(r.Context(), visit.Actor(), exportsShown)
	if err != nil {
		return err
	}
	view.Mine = ui.Table{
		ID:      "mine",
		Caption: "Your exports of the last 24 hours, newest first",
		Cards:   true,
		Columns: []ui.Column{
			{Label: "Begun"}, {Label: "List"}, {Label: "Format"}, {Label: "State"}, {Label: "Rows"},
		},
	}
	for i, p := range list {
		state := ui.Cell{Status: string(p.State)}
		switch p.State {
		case export.Ended:
			state = ui.Cell{Status: "interrupted", Note: "the file is not whole: begin again"}
		case export.Running:
			view.Running = append(view.Running, running(i, p))
		case export.Done:
		}
		view.Mine.Rows = append(view.Mine.Rows, ui.Row{ID: fmt.Sprintf("export-%d", i), Cells: []ui.Cell{
			{At: p.StartedAt, Exact: true},
			{Text: string(p.Kind)},
			{Text: formatNames[p.Format]},
			state,
			{Text: plural.Of(p.Rows, "row")},
		}})
	}
	return nil
}

var formatNames = map[export.Format]string{export.CSV: "CSV", export.NDJSON: "NDJSON"}

// running describes the progress of an export.
func running(i int, p export.Progress) runningExport {
	e := runningExport{
		ID:   fmt.Sprintf("running-%d", i),
		Text: fmt.Sprintf("Exporting %s as %s: %s so far", p.Kind, formatNames[p.Format], plural.Of(p.Rows, "row")),
	}
	if p.About.Known() && p.About.Rows > 0 {
		of := "about "
		if p.About.More {
			of = "more than "
		}
		e.Text += " of " + of + ui.Count(p.About.Rows)
		e.Percent = min(100*p.Rows/p.About.Rows, 99)
		e.Known = true
	}
	return e
}
