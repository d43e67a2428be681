// Package area has the parts that the portal and the console share: a table of routes with the
// access that each needs, the check of every request against it, streams that end with the access,
// the navigation, pages that ask before an act, and the refusal of stale forms. Package areatest,
// below it, has the isolation test of both.
//
// It has the pages that are in both, such as that of a delivery. Their templates are in its folder
// pages, which ReadPages reads together with those of the package; functions with parameters for
// the differences build their views. It owns no route and no table. Package ui has the looks, and
// package visitor knows the signed-in person.
package area

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"sync"
	"time"

	"claviger/internal/audit"
	"claviger/internal/fault"
	"claviger/internal/live"
	"claviger/internal/ui"
	"claviger/internal/visitor"
	"claviger/internal/wire"
)

// Kind is the kind of a row of the table.
type Kind string

// Kinds of rows.
const (
	Page   Kind = "page"   // answers GET with a page, a fragment or a download
	Act    Kind = "act"    // answers POST: changes or sends something
	Stream Kind = "stream" // answers GET with server-sent events
)

// Rule returns the access that an area requires for a row: changes means that the row changes
// something, or asks for that.
type Rule func(kind Kind, changes bool) any

// Serve handles a request of a person with access. A returned error is shown as an error page.
type Serve = func(w http.ResponseWriter, r *http.Request, v Visit) error

// Route is one row of the table. It has one of the functions.
type Route struct {
	Kind  Kind
	Path  string // below Area.Prefix, such as /deliveries/{delivery}
	Needs any    // required access, such as a role: Visit.Meets knows its type

	Serve Serve
	Ask   func(r *http.Request, v Visit) (Action, error) // of an act with a page that asks: see Actions
	Find  func(r *http.Request, v Visit) (Shown, error)  // of a page that is updated live: see Lives

	Upload bool // the form of the act is large: it has a file or long texts in it
}

// Visit is a request of an admitted person. Each area has its own type.
type Visit interface {
	Meets(needs any) bool                   // reports whether the person has the access that a row needs
	Path(path string, values ...any) string // returns the URL of a page: a path of the table, and values for its verbs
	Actor() audit.Actor                     // the person as the audit names them
	Common() Admitted                       // implemented by embedding Admitted
}

// Admitted has the facts of a visit that every area knows. The visit of an area embeds it.
type Admitted struct {
	*visitor.Visitor
	Area  *Area
	Needs any // of the route
}

// Common returns the facts.
func (a Admitted) Common() Admitted { return a }

// Entry is a link of the navigation.
type Entry struct {
	Group, Label, Path string
	Also               []string // paths of other pages that belong to it
}

// Area is the pages below one prefix.
type Area struct {
	Name       string // such as portal
	Prefix     string // of its addresses, such as /portal/{partner}
	Site       *visitor.Site
	Now        func() time.Time
	Streams    *ui.Streams // open pages that are updated live
	Table      []Route
	Search     string  // the page with the search box, "" if none; the box on other pages leads there
	Navigation []Entry // in order; entries without a page in the table or without access are hidden
	Token      string  // stands for the secret in examples of API calls, "" for the partner's key

	// Rights has a new version, by user, whenever their access changes. Open streams then check
	// theirs.
	Rights *live.Versions

	// Title returns the title of the navigation.
	Title func(v Visit) string
	// Banner marks the pages of an unusual visit. It may be nil or return nil. For error pages see
	// ui.Pages.Mark.
	Banner func(v Visit) *ui.Banner
	// Enter reads the visitor's stored access. Without the access that the row needs it always
	// returns NotFound, so that the answer reveals nothing.
	Enter func(ctx context.Context, r *http.Request, a Admitted) (Visit, error)
	// Before may answer a request in place of the row, and reports whether it did. It may be nil.
	Before func(w http.ResponseWriter, r *http.Request, v Visit) (refused bool, err error)

	turns turns // of open pages

	indexed sync.Once
	pages   map[string]any // required access of each page of the table, by path
}

// Routes returns the routes of the table for the mux.
func (a *Area) Routes() []wire.Route {
	routes := make([]wire.Route, 0, len(a.Table))
	for _, rt := range a.Table {
		serve := func(w http.ResponseWriter, r *http.Request, v *visitor.Visitor) error {
			visit, err := a.Enter(r.Context(), r, Admitted{v, a, rt.Needs})
			if err != nil {
				return err
			}
			if to := ui.InUTC(r); to != "" && rt.Kind == Page {
				http.Redirect(w, r, to, http.StatusSeeOther)
				return nil
			}
			if a.Before != nil {
				if refused, err := a.Before(w, r, visit); refused || err != nil {
					return err
				}
			}
			return a.serve(rt, w, r, visit) //nolint:contextcheck // it has the request
		}
		switch rt.Kind {
		case Act:
			if rt.Upload {
				routes = append(routes, a.Site.UploadRoute(a.Prefix+rt.Path, visitor.SignedIn, serve))
				continue
			}
			routes = append(routes, a.Site.Route(http.MethodPost, a.Prefix+rt.Path, visitor.SignedIn, serve))
		case Stream:
			routes = append(routes, a.Site.StreamRoute(a.Prefix+rt.Path, a.mayFollow(rt.Needs), serve))
		case Page:
			routes = append(routes, a.Site.Route(http.MethodGet, a.Prefix+rt.Path, visitor.SignedIn, serve))
		}
	}
	return routes
}

// serve calls the function of a row.
func (a *Area) serve(rt Route, w http.ResponseWriter, r *http.Request, v Visit) error {
	switch {
	case rt.Ask != nil && rt.Kind == Act:
		return a.perform(w, r, v, rt.Ask)
	case rt.Ask != nil:
		return a.ask(w, r, v, rt.Ask)
	case rt.Find != nil && rt.Kind == Stream:
		return a.tell(w, r, v, rt.Find)
	case rt.Find != nil:
		return a.show(w, r, v, rt.Find)
	}
	return rt.Serve(w, r, v)
}

// mayFollow returns the access check of streams. Without access it answers as for a signed-out
// visitor, so that the page stops reconnecting.
func (a *Area) mayFollow(needs any) visitor.Access {
	return func(r *http.Request, v *visitor.Visitor) error {
		err := visitor.SignedIn(r, v)
		if err == nil {
			_, err = a.Enter(r.Context(), r, Admitted{v, a, needs})
		}
		if fault.Is(err, wire.CodeNotFound) {
			return visitor.ErrSignIn
		}
		return err
	}
}

// Recheck returns an error if the person has signed out or lost access to the route of the visit.
func (a *Area) Recheck(ctx context.Context, r *http.Request, visit Visit) error {
	_, err := a.again(ctx, r, visit)
	return err
}

// again admits the person of a visit again.
func (a *Area) again(ctx context.Context, r *http.Request, visit Visit) (Visit, error) {
	c := visit.Common()
	now, err := a.Site.Again(ctx, r, c.Visitor)
	if err != nil {
		return nil, err
	}
	c.Visitor = now
	return a.Enter(ctx, r, c)
}

// unchanged returns an error if the person has lost access to the route, or may see other rows of
// the table than at the start: the content of a stream depends on them.
func (a *Area) unchanged(ctx context.Context, r *http.Request, visit Visit) error {
	now, err := a.again(ctx, r, visit)
	if err != nil {
		return err
	}
	for _, rt := range a.Table {
		if visit.Meets(rt.Needs) != now.Meets(rt.Needs) {
			return ui.ErrOtherAccess
		}
	}
	return nil
}

// Follow serves a stream: read returns the news, and changed receives when there may be some. It
// checks the session and the access before each message, when the access changes and every 30
// seconds. The context of read lasts as long as the page.
func (a *Area) Follow(
	w http.ResponseWriter, r *http.Request, visit Visit, changed <-chan struct{},
	read func(context.Context) ([]ui.Message, error),
) error {
	person := visit.Common().User.ID
	seen, err := a.Rights.Of(r.Context(), person)
	if err == nil {
		err = a.Recheck(r.Context(), r, visit) // after the version was read
	}
	if err != nil {
		return err
	}
	recheck := live.NewSignal()
	//nolint:contextcheck // it reads for all pages, with a context of its own
	watch := a.Rights.Watch(person, seen, recheck)
	defer watch.Close()
	return a.Streams.Serve(w, r, ui.Stream{
		Person: person, Changed: changed, Read: read, Recheck: recheck,
		Check: func(ctx context.Context) error { return a.unchanged(ctx, r, visit) },
	})
}

// LastSeen returns the state that a page knows when it opens its stream: the id of the last
// message, or the parameter since that the page put into the URL.
func LastSeen(r *http.Request) string {
	if id := r.Header.Get("Last-Event-ID"); id != "" {
		return id
	}
	return r.URL.Query().Get("since")
}

// Call returns the API call for a page or act, for the template "curl".
func (a *Area) Call(what, method, path string, query ...ui.Param) ui.Curl {
	return ui.Curl{What: what, Method: method, URL: a.Site.Pages.PublicURL + path, Query: query, Secret: a.Token}
}

// JSON returns the body of an API call in an example.
func JSON(body any) string {
	text, err := json.Marshal(body)
	if err != nil {
		return "" // pages pass only maps of texts, numbers and bools
	}
	return string(text)
}

// Render shows a page of the area, with the navigation.
func (a *Area) Render(w http.ResponseWriter, r *http.Request, visit Visit, name string, view ui.View) error {
	view.Wide = true
	view.NoIndex = true
	view.Banner = a.banner(visit)
	view.Nav = &ui.Nav{Title: a.Title(visit), Items: a.Items(r, visit)}
	if a.Search != "" && a.Has(a.Search, visit) && r.URL.Path != visit.Path("%s", a.Search) {
		view.Nav.Search = visit.Path("%s", a.Search)
	}
	return a.Site.Render(w, r, visit.Common().Visitor, name, view)
}

// banner returns the banner of a visit, or nil.
func (a *Area) banner(visit Visit) *ui.Banner {
	if a.Banner == nil {
		return nil
	}
	return a.Banner(visit)
}

// Items lists the navigation entries whose pages exist and that the person may see. The current
// page belongs to the entry with the longest path above it.
func (a *Area) Items(r *http.Request, visit Visit) []ui.Item {
	items := make([]ui.Item, 0, len(a.Navigation))
	prefix := visit.Path("")
	current := -1
	longest := -1
	for _, entry := range a.Navigation {
		if !a.Has(entry.Path, visit) {
			continue
		}
		to := prefix + entry.Path
		here := strings.TrimSuffix(r.URL.Path, "/")
		for _, also := range entry.Also {
			if strings.HasPrefix(here+"/", prefix+also+"/") {
				current = len(items)
				longest = len(prefix + also)
			}
		}
		if (here == to || entry.Path != "" && strings.HasPrefix(here, to+"/")) && len(to) > longest {
			current = len(items)
			longest = len(to)
		}
		items = append(items, ui.Item{Group: entry.Group, Label: entry.Label, URL: to})
	}
	if current >= 0 {
		items[current].Current = true
	}
	return items
}

// Has reports whether the area has a page at path that the person may see.
func (a *Area) Has(path string, visit Visit) bool {
	a.indexed.Do(func() { // every page asks for each entry of the navigation
		a.pages = make(map[string]any, len(a.Table))
		for _, rt := range a.Table {
			if rt.Kind == Page {
				a.pages[rt.Path] = rt.Needs
			}
		}
	})
	needs, ok := a.pages[path]
	return ok && visit.Meets(needs)
}

// NotFound is the error for everything that does not exist for this person: unknown ids, ids of
// others, and pages that need another role. They share one text, so that the answer reveals
// nothing.
func NotFound() error {
	return fault.New(
		fault.Missing, wire.CodeNotFound,
		"There is no page at this address, or your role does not include it. Check the address, or ask an admin of "+
			"your team for access.",
	)
}

// Missing turns an unknown or foreign id into NotFound.
func Missing(err error) error {
	if f := fault.Of(err); f != nil && f.Kind == fault.Missing {
		return NotFound()
	}
	return err
}
