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

// Shell is what all sections have.
type Shell struct {
	Site    *visitor.Site  // with pages made by NewPages
	Streams *ui.Streams    // open pages that follow what happens
	Rights  *live.Versions // another version whenever an operator's role changes or a session of theirs ends: account.Book.AccessVersions
	Live    *Live          // made by NewLive
	Now     func() time.Time

	area *area.Area[account.Scope, *Visit]
}

// The kinds of rows.
const (
	Page   = area.Page
	Act    = area.Act
	Stream = area.Stream
)

// Route is one row of the table. It needs a scope.
type Route = area.Route[account.Scope, *Visit]

// row makes a row of the table.
func row(kind area.Kind, path string, needs account.Scope, serve Serve) Route {
	return Route{Kind: kind, Path: path, Needs: needs, Serve: serve}
}

// Serve answers a request of a person who may make it. An error that it returns is shown
// as an error page.
type Serve = func(w http.ResponseWriter, r *http.Request, v *Visit) error

// Visit is a request by an operator.
type Visit struct {
	area.Visit[account.Scope]
	Role account.Role // as it was stored when the request came
}

// May reports whether the person may do what needs the scope; templates ask it before
// they show a form.
func (v *Visit) May(needs account.Scope) bool { return v.Role.May(needs) }

// Path returns the address of a page: a path of the table, and values for its verbs, as
// for fmt.Sprintf.
func (v *Visit) Path(path string, values ...any) string {
	return visitor.ConsolePath + fmt.Sprintf(path, values...)
}

// open makes the area of the table.
func (s *Shell) open(table []Route) {
	s.area = &area.Area[account.Scope, *Visit]{
		Name: "console", Prefix: visitor.ConsolePath, Now: s.Now, Site: s.Site, Streams: s.Streams, Table: table, Navigation: navigation, Search: searchPath,
		Rights: s.Rights,
		Title:  func(*Visit) string { return "Console" }, Enter: enter,
	}
}

// enter lets operators in whose role has the scope. Everybody else learns nothing: who
// is no operator and whose role does not suffice are answered alike.
func enter(_ context.Context, _ *http.Request, v *visitor.Visitor, needs account.Scope) (*Visit, error) {
	role := v.User.Role // read from the database for this request
	if !role.May(needs) {
		return nil, area.NotFound()
	}
	return &Visit{Visit: area.Visit[account.Scope]{Visitor: v, Needs: needs}, Role: role}, nil
}

// render shows a page of the console, with the navigation.
func (s *Shell) render(w http.ResponseWriter, r *http.Request, v *Visit, name string, view ui.View) error {
	return s.area.Render(w, r, v, name, view)
}

// confirm shows the page of an act. After a refusal it has the status of that.
func (s *Shell) confirm(w http.ResponseWriter, r *http.Request, v *Visit, status int, view ui.Confirm) error {
	return s.area.Confirm(w, r, v, status, view)
}

// refuse shows the page of an act again with what is wrong.
func (s *Shell) refuse(w http.ResponseWriter, r *http.Request, v *Visit, view ui.Confirm, err error) error {
	return s.area.Refuse(w, r, v, view, err)
}

// marketplace is what the marketplace is called.
func (s *Shell) marketplace() string { return cmp.Or(s.Site.Pages.Brand, "Claviger") }

// call is the call of the operator API that does what a page shows or does, for the part
// "curl".
func (s *Shell) call(what, method, path string, query ...ui.Param) ui.Curl {
	return ui.Curl{What: what, Method: method, URL: s.Site.Pages.PublicURL + path, Query: query, Secret: "OPERATOR_TOKEN"}
}
