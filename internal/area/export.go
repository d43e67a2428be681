package area

import (
	"context"
	"crypto/rand"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"

	"claviger/internal/audit"
	"claviger/internal/export"
	"claviger/internal/live"
	"claviger/internal/plural"
	"claviger/internal/ui"
	"claviger/internal/wire"
)

// ExportsPath is the page that exports lists and shows how far exports are.
const ExportsPath = "/exports"

// pageExports is its template.
const pageExports = "exports"

// exportsShown is how many exports of a person the page lists.
const exportsShown = 20

// ExportList is a list that can be exported.
type ExportList[V any] struct {
	Kind  export.Kind
	Label string
	Lead  string // what the file has in it

	// Read reads which rows the address of a request means, in the terms of the list itself.
	Read func(r *http.Request, visit V) (ExportQuery, error)
}

// ExportQuery is which rows of a list are exported.
type ExportQuery struct {
	Table export.Table // not set if the form has failed
	Form  ui.Form      // the filters
	Call  ui.Curl      // the API call for the same file
}

// Exports is the page with the exports of an area.
type Exports[N any, V Exporting[N]] struct {
	Area     *Area[N, V]
	Exporter *export.Exporter
	Live     *live.Versions // of Exporter.Versions
	Lists    []ExportList[V]
}

// Exporting is a visitor who can export.
type Exporting[N any] interface {
	Visitor[N]
	Actor() audit.Actor // as whom they do it
}

// exportsView is the page.
type exportsView struct {
	Lead    string
	Tabs    ui.Tabs
	Form    ui.Form
	Filters ui.Filters
	About   string // how many rows there are
	Action  string // where the forms are sent to, with the filters
	Running []runningExport
	Mine    ui.Table
	Call    ui.Curl
}

// runningExport is how far an export is.
type runningExport struct {
	ID      string
	Text    string
	Percent int64
	Known   bool // how many percent
}

// ExportURL is the page that exports what a list shows: with its filters, and from the
// newest on.
func ExportURL(page string, kind export.Kind, q url.Values) string {
	to := url.Values{"list": {string(kind)}}
	for name, values := range q {
		if !slices.Contains([]string{"list", "before", "after", "live", "page"}, name) && len(values) > 0 && values[0] != "" {
			to[name] = values
		}
	}
	return page + "?" + to.Encode()
}

// Show serves the page, Tell its stream.
func (x *Exports[N, V]) Show(w http.ResponseWriter, r *http.Request, visit V) error {
	return x.Area.Shows(w, r, visit, func(*http.Request, V) (Shown, error) { return x.shown(visit, x.view), nil })
}

// Tell serves the stream of the page: how far the exports are.
func (x *Exports[N, V]) Tell(w http.ResponseWriter, r *http.Request, visit V) error {
	return x.Area.Tells(w, r, visit, func(*http.Request, V) (Shown, error) {
		return x.shown(visit, func(r *http.Request, visit V) (ui.View, error) {
			view := exportsView{}
			err := x.addMine(r, visit, &view)
			return ui.View{Fragment: "exports-now", Data: view}, err
		}), nil
	})
}

func (x *Exports[N, V]) shown(visit V, view func(r *http.Request, visit V) (ui.View, error)) Shown {
	return Shown{
		Versions: x.Live, Topic: visit.Common().User.ID, Page: pageExports,
		View: func(r *http.Request) (ui.View, string, error) {
			v, err := view(r, visit)
			return v, "", err
		},
	}
}

// chosen is the list that the address names, the first if it names none.
func (x *Exports[N, V]) chosen(r *http.Request) (ExportList[V], error) {
	name := r.URL.Query().Get("list")
	for _, list := range x.Lists {
		if name == "" || name == string(list.Kind) {
			return list, nil
		}
	}
	return ExportList[V]{}, NotFound()
}

// view reads the page.
func (x *Exports[N, V]) view(r *http.Request, visit V) (ui.View, error) {
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

// page makes the page of a list; a filter that is not acceptable is said at its field.
func (x *Exports[N, V]) page(r *http.Request, visit V, list ExportList[V], q ExportQuery) (ui.View, error) {
	self := visit.Path("%s", ExportsPath)
	view := exportsView{
		Lead: list.Lead, Tabs: ui.Tabs{Label: "Lists"}, Form: q.Form, Action: ExportURL(self, list.Kind, r.URL.Query()), Call: q.Call,
		Filters: ui.Filters{
			Label: "Filter the export", URL: ExportURL(self, list.Kind, nil), Fields: q.Form.Fields, Hidden: []ui.Param{{Name: "list", Value: string(list.Kind)}}, Fold: true,
		},
	}
	for _, field := range q.Form.Fields {
		view.Filters.Active = view.Filters.Active || field.Value != ""
	}
	for _, other := range x.Lists {
		view.Tabs.Items = append(view.Tabs.Items, ui.Tab{Label: other.Label, URL: ExportURL(self, other.Kind, nil), Current: other.Kind == list.Kind})
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

// aboutRows says how many rows a file has.
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

// Send answers a list as a file. Whether the person may still have it is looked at before
// each batch.
func (x *Exports[N, V]) Send(w http.ResponseWriter, r *http.Request, visit V) error {
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
		job := export.Job{Table: q.Table, Format: format, By: visit.Actor(), Nonce: rand.Text(), Check: func(ctx context.Context) error {
			return x.Area.Recheck(ctx, r, visit)
		}}
		file := wire.File{Name: export.FileName(q.Table, format, x.Exporter.Now()), ContentType: format.ContentType()}
		err := wire.SendFile(w, r, file, func(ctx context.Context, to io.Writer) error { return x.Exporter.Run(ctx, to, job) })
		if err == nil || !q.Form.Refuse(err) {
			return err
		}
	}
	view, err := x.page(r, visit, list, q)
	if err != nil {
		return err
	}
	view.Status = http.StatusUnprocessableEntity
	return x.Area.Render(w, r, visit, pageExports, view)
}

// addMine reads how far the exports of the person are.
func (x *Exports[N, V]) addMine(r *http.Request, visit V, view *exportsView) error {
	list, err := x.Exporter.Of(r.Context(), visit.Actor(), exportsShown)
	if err != nil {
		return err
	}
	view.Mine = ui.Table{ID: "mine", Caption: "Your exports of the last 24 hours, newest first", Cards: true, Columns: []ui.Column{
		{Label: "Begun"}, {Label: "List"}, {Label: "Format"}, {Label: "State"}, {Label: "Rows"},
	}}
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
			{At: p.StartedAt, Exact: true}, {Text: string(p.Kind)}, {Text: formatNames[p.Format]}, state, {Text: plural.Of(p.Rows, "row")},
		}})
	}
	return nil
}

var formatNames = map[export.Format]string{export.CSV: "CSV", export.NDJSON: "NDJSON"}

// running says how far an export is.
func running(i int, p export.Progress) runningExport {
	e := runningExport{ID: fmt.Sprintf("running-%d", i), Text: fmt.Sprintf("Exporting %s as %s: %s so far", p.Kind, formatNames[p.Format], plural.Of(p.Rows, "row"))}
	if p.About.Known() && p.About.Rows > 0 {
		of := "about "
		if p.About.More {
			of = "more than "
		}
		e.Text += " of " + of + ui.Count(p.About.Rows)
		e.Percent, e.Known = min(100*p.Rows/p.About.Rows, 99), true
	}
	return e
}
