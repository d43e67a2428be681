package console

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"time"

	"claviger/internal/account"
	"claviger/internal/area"
	"claviger/internal/live"
	"claviger/internal/ui"
	"claviger/internal/visitor"
)

// Shell is shared by all sections.
type Shell struct {
	Site    *visitor.Site  // with pages made by NewPages
	Streams *ui.Streams    // open pages that are updated live
	Rights  *live.Versions // new version for each change of a role or end of a session: account.Store.AccessVersions
	Live    *Live          // made by NewLive
	Now     func() time.Time

	area *area.Area
}

// Kinds of rows.
const (
	Page   = area.Page
	Act    = area.Act
	Stream = area.Stream
)

// Route is one row of the table, with the scope that it needs.
type Route = area.Route

// row makes a row of the table.
func row(kind area.Kind, path string, needs account.Scope, serve Serve) Route {
	return Route{
		Kind: kind, Path: path, Needs: needs,
		Serve: func(w http.ResponseWriter, r *http.Request, v area.Visit) error {
			return serve(w, r, v.(*Visit))
		},
	}
}

// changes returns the rule of shared pages: everyone looks, and the scope changes something.
func changes(scope account.Scope) area.Rule {
	return func(_ area.Kind, changes bool) any {
		if !changes {
			return account.Read
		}
		return scope
	}
}

// of makes a function of the console one of its area.
func of[T any](read func(r *http.Request, v *Visit) (T, error)) func(*http.Request, area.Visit) (T, error) {
	return func(r *http.Request, v area.Visit) (T, error) { return read(r, v.(*Visit)) }
}

// lives returns the rows of a page that is updated live.
func lives(path string, find func(r *http.Request, v *Visit) (area.Shown, error)) []Route {
	return area.Lives(path, changes(account.Read), of(find))
}

// act returns the rows of an act with a page that asks.
func act(path string, scope account.Scope, read func(r *http.Request, v *Visit) (area.Action, error)) []Route {
	return area.Actions(path, changes(scope), of(read))
}

// Serve handles a request of a person with the needed scope. A returned error is shown as an error
// page.
type Serve = func(w http.ResponseWriter, r *http.Request, v *Visit) error

// Visit is a request by an operator.
type Visit struct {
	area.Admitted
	Role account.Role // as stored when the request came
}

// Meets reports whether the person has the scope that a row needs.
func (v *Visit) Meets(needs any) bool { return v.May(needs.(account.Scope)) }

// May reports whether the person has the scope. Templates ask before they show a form.
func (v *Visit) May(needs account.Scope) bool { return v.Role.May(needs) }

// Path returns the URL of a page from a path of the table and values for its verbs, as for
// fmt.Sprintf.
func (v *Visit) Path(path string, values ...any) string {
	return visitor.ConsolePath + fmt.Sprintf(path, values...)
}

// open creates the area of the table.
func (s *Shell) open(table []Route) {
	s.area = &area.Area{
		Name: "console", Prefix: visitor.ConsolePath, Now: s.Now, Site: s.Site, Streams: s.Streams, Rights: s.Rights,
		Table: table, Navigation: navigation, Search: searchPath, Token: "OPERATOR_TOKEN",
		Title: func(area.Visit) string { return "Console" }, Enter: enter,
	}
}

// enter admits operators whose role has the scope. All others get the same answer, operators or
// not.
func enter(_ context.Context, _ *http.Request, c area.Admitted) (area.Visit, error) {
	role := c.User.Role // read from the database for this request
	if !role.May(c.Needs.(account.Scope)) {
		return nil, area.NotFound()
	}
	return &Visit{Admitted: c, Role: role}, nil
}

// render shows a page of the console, with the navigation.
func (s *Shell) render(w http.ResponseWriter, r *http.Request, v *Visit, name string, view ui.View) error {
	return s.area.Render(w, r, v, name, view)
}

// marketplace returns the name of the marketplace.
func (s *Shell) marketplace() string { return cmp.Or(s.Site.Pages.Brand, "Claviger") }

// call returns the operator API call for a page or act, for the template "curl".
func (s *Shell) call(what, method, path string, query ...ui.Param) ui.Curl {
	return s.area.Call(what, method, path, query...)
}
