// Package console serves the pages of the marketplace's own people, the operators. It owns these
// pages and their texts; the domain packages do the work.
//
// Pages are below /console, grouped in sections. A section is a small struct with the services that
// its pages need, the rows of its routes, and handlers in its own files. Each row names the
// operator token scope that it needs (read, sell, support or admin); a role has scopes
// (account.Role). No handler runs before the person's role is read from the database. Package area,
// which the portal also uses, has this check, the navigation, streams, the pages that ask before an
// act and the refusal of stale forms.
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
//  1. write its handler, in a file with the name of the page, and its template in
//     pages; handlers use Shell (render, call), and lives for a page that follows
//     changes;
//  2. add its rows to the table of its section, and its constant path to the navigation
//     if it is missing (navigation.go already lists all of them: an entry appears when
//     its page has a row);
//  3. add values for its placeholders and forms to the registry of the isolation test, by
//     an init in a file such as isolation_people_test.go: each row is tested separately;
//     then write the table of docs/console.md with
//     go test ./internal/console -run IsolationTable -update;
//  4. add a page with a placeholder to the list of internal/e2e/console_pages_test.go,
//     which visits every page, also for the pictures of `make screenshots`.
//
// Acts are forms. A function returns the page of an act with the act itself (area.Action), and act
// makes the rows of both. If the state that the page showed (Action.Seen) has changed, the act is
// refused with 409 and a list of the changes:
//
//	return area.Action{Ask: view, Seen: seenPartner(one), Do: func(ctx context.Context) (string, error) {
//		…
//	}}, nil
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

// Handler serves the pages of the console.
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
	Payouts  Payouts
	Ledger   Ledger
	Reports  Reports
}

// sections returns all sections, in the order of their rows in the table.
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
		&h.Payouts,
		&h.Ledger,
		&h.Reports,
		&h.System,
	}
}

//go:embed all:pages
var files embed.FS

var templates = sync.OnceValues(func() (*ui.Pages, error) { return area.ReadPages(files) })

// NewPages returns the page templates for a marketplace with this name and URL.
func NewPages(brand, publicURL string) (*ui.Pages, error) {
	p, err := templates()
	if err != nil {
		return nil, err
	}
	return p.For(brand, publicURL), nil
}

// pages is implemented by each section.
type pages interface {
	table() []Route
	use(shell *Shell)
}

// section is embedded by each section.
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
		bulk.Licenses: h.Licenses.chosen, bulk.Purchases: h.Licenses.chosenSales, bulk.Events: h.Delivery.chosen,
		bulk.Partners: h.Partners.chosen,
	}
	h.open(h.Table())
	return append(h.area.Routes(), h.Team.invitations().Routes()...)
}
