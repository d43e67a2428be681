// Package console serves the pages of the marketplace's own people, the operators. It
// owns these pages and their texts; the domain packages do the work.
//
// Pages stand below /console. They are grouped in sections: a section is a small struct
// with the services that its pages need, the rows of its routes, and its handlers in
// files of its own. Each row names the scope of an operator token that it needs (read,
// sell, support or admin); a role has scopes (account.Role). No handler runs before the
// person's role was read from the database. Checking that, navigation, streams, pages
// that ask before an act and the refusal of forms whose thing has changed are in package
// area, which the portal uses, too.
//
// To add a section:
//
//  1. write its file, such as people.go: a struct that embeds section and has the
//     services as exported fields, and its method table (team.go is a sample);
//  2. add it to Handler and to Handler.sections, in this file;
//  3. set its fields in internal/app/console.go.
//
// To add a page:
//
//  1. write its handler, in a file that is called like the page, and its template in
//     pages; handlers use what Shell has (render, confirm, refuse, call), and
//     Shell.area.Follow for a stream;
//  2. add its rows to the table of its section, and its constant path to the navigation
//     if it is not there (navigation.go lists all of them already: an entry appears when
//     its page has a row);
//  3. add what fills its placeholders and forms to the registry of the isolation test, by
//     an init in a file such as isolation_people_test.go: each row is tested by itself;
//     then write the table of docs/console.md with
//     go test ./internal/console -run IsolationTable -update;
//  4. a page with a placeholder goes into the list of internal/e2e/console_pages_test.go,
//     which looks at every page, and of which `make screenshots` takes pictures.
//
// Acts are forms. A page with a form of an act carries what it showed (area.Seen), and
// the act is refused with 409, with what has changed, if that is no longer so:
//
//	view, seen, err := p.holdView(r, v)               // the page, as it is now
//	…
//	view.Hidden = append(view.Hidden, seen.Param())   // in holdView
//	if err := seen.Unchanged(r); err != nil {         // in the act, after ui.ReadForm
//		return p.refuse(w, r, v, view, err)
//	}
package console

import (
	"embed"
	"net/http"
	"slices"
	"sync"

	"claviger/internal/area"
	"claviger/internal/bulk"
	"claviger/internal/ui"
	"claviger/internal/wire"
)

// Handler serves the pages.
type Handler struct {
	Shell

	Today    Today
	Partners Partners
	Team     Team
	Delivery Delivery
	System   System
	Search   Search
	People   People
	Licenses Licenses
	Bulk     Bulk
	Reports  Reports
}

// sections are all sections, in the order of their rows in the table.
func (h *Handler) sections() []pages {
	return []pages{
		&h.Today,
		&h.Search,
		&h.Partners,
		&h.People,
		&h.Licenses,
		&h.Bulk,
		&h.Team,
		&h.Delivery,
		&h.Reports,
		&h.System,
	}
}

//go:embed all:pages
var files embed.FS

var templates = sync.OnceValues(func() (*ui.Pages, error) { return area.ReadPages(files, nil) })

// NewPages returns the pages, for a marketplace of that name at that URL.
func NewPages(brand, publicURL string) (*ui.Pages, error) {
	p, err := templates()
	if err != nil {
		return nil, err
	}
	return p.For(brand, publicURL), nil
}

// pages is a section.
type pages interface {
	table() []Route
	use(shell *Shell)
}

// section is what each section embeds.
type section struct{ *Shell }

func (s *section) use(shell *Shell) { s.Shell = shell }

// Table returns every route of the console.
func (h *Handler) Table() []Route {
	var rows []Route
	for _, s := range h.sections() {
		rows = slices.Concat(rows, s.table())
	}
	return rows
}

// Routes returns the routes for the mux.
func (h *Handler) Routes() []wire.Route {
	for _, s := range h.sections() {
		s.use(&h.Shell)
	}
	h.Bulk.chosen = map[bulk.Kind]func(*http.Request, *Visit) (chosen, error){
		bulk.Licenses: h.Licenses.chosen, bulk.Purchases: h.Licenses.chosenSales, bulk.Events: h.Delivery.chosen, bulk.Partners: h.Partners.chosen,
	}
	h.open(h.Table())
	return append(h.area.Routes(), h.Team.invitations().Routes()...)
}
