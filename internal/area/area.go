// Package area is what the portal and the console share: a table of routes that says
// what each row needs, the check of every request against it, streams that end when the
// access does, the navigation, pages that ask before an act, and the answer to a form
// whose thing has changed since it was shown. Package areatest, in it, has the
// isolation test of both.
//
// It has the pages that are in both, such as that of a delivery: their templates are in
// its folder pages, which NewPages reads together with those of the package, and their
// views are made by functions that take what differs. It owns no route and no table; the
// looks are those of package ui, and who is signed in is known by package visitor.
package area

import (
	"context"
	"net/http"
	"strings"
	"sync"
	"time"

	"claviger/internal/fault"
	"claviger/internal/live"
	"claviger/internal/ui"
	"claviger/internal/visitor"
	"claviger/internal/wire"
)

// Kind is what a row of the table serves.
type Kind string

// The kinds of rows.
const (
	Page   Kind = "page"   // answers GET with a page, a fragment or a download
	Act    Kind = "act"    // answers POST: it changes or sends something
	Stream Kind = "stream" // answers GET with server-sent events
)

// Route is one row of the table. N is what rows need, such as a role; V is who visits.
type Route[N any, V Visitor[N]] struct {
	Kind  Kind
	Path  string // below Area.Prefix, such as /deliveries/{delivery}
	Needs N      // what a person must have to request it
	Serve func(w http.ResponseWriter, r *http.Request, visit V) error

	Upload bool // the form of the act has a file in it
}

// Visit is what every area knows of a request that it lets in. The Visit of an area
// embeds it.
type Visit[N any] struct {
	*visitor.Visitor
	Needs N // of the route
}

// Common is what every area knows of the visit.
func (v Visit[N]) Common() Visit[N] { return v }

// Visitor is the Visit of an area.
type Visitor[N any] interface {
	May(needs N) bool                       // whether the person has what a row needs
	Path(path string, values ...any) string // the address of a page: a path of the table, and values for its verbs
	Common() Visit[N]                       // by embedding Visit
}

// Entry leads to a page from the navigation.
type Entry struct {
	Group, Label, Path string
	Also               string // the path of pages that belong to it; "" for none below another path
}

// Area is the pages below one prefix.
type Area[N any, V Visitor[N]] struct {
	Name       string // such as portal
	Prefix     string // of its addresses, such as /portal/{partner}
	Site       *visitor.Site
	Now        func() time.Time
	Streams    *ui.Streams // open pages that follow what happens
	Table      []Route[N, V]
	Search     string  // the page with the search box, "" if there is none; other pages have a box that leads there
	Navigation []Entry // in this order; an entry is shown if the table has its page and the person may see it

	// Rights has, by user, another version whenever their access changes: open streams
	// check theirs then.
	Rights *live.Versions

	// Title is what the navigation is called.
	Title func(visit V) string
	// Banner marks the pages of a visit that is not the usual one; nil, or its answer nil:
	// there is nothing to say. For those of errors see ui.Pages.Mark.
	Banner func(visit V) *ui.Banner
	// Enter finds out what a visitor may do, as it is stored now. Whoever lacks what the
	// row needs gets NotFound, whatever the reason, and so learns nothing.
	Enter func(ctx context.Context, r *http.Request, v *visitor.Visitor, needs N) (V, error)

	turns turns // of open pages

	indexed sync.Once
	pages   map[string]N // what each page of the table needs, by path
}

// Routes returns the routes of the table for the mux.
func (a *Area[N, V]) Routes() []wire.Route {
	routes := make([]wire.Route, 0, len(a.Table))
	for _, rt := range a.Table {
		serve := func(w http.ResponseWriter, r *http.Request, v *visitor.Visitor) error {
			visit, err := a.Enter(r.Context(), r, v, rt.Needs)
			if err != nil {
				return err
			}
			if to := ui.InUTC(r); to != "" && rt.Kind == Page {
				http.Redirect(w, r, to, http.StatusSeeOther)
				return nil
			}
			return rt.Serve(w, r, visit)
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

// mayFollow is the access to streams that need that. It answers everybody else as
// somebody who is not signed in, so that their pages give up.
func (a *Area[N, V]) mayFollow(needs N) visitor.Access {
	return func(r *http.Request, v *visitor.Visitor) error {
		err := visitor.SignedIn(r, v)
		if err == nil {
			_, err = a.Enter(r.Context(), r, v, needs)
		}
		if fault.Is(err, wire.CodeNotFound) {
			return visitor.ErrSignIn
		}
		return err
	}
}

// Recheck returns an error if the person of a visit has signed out since, or may no
// longer have its route.
func (a *Area[N, V]) Recheck(ctx context.Context, r *http.Request, visit V) error {
	_, err := a.again(ctx, r, visit)
	return err
}

// again lets the person of a visit in anew.
func (a *Area[N, V]) again(ctx context.Context, r *http.Request, visit V) (V, error) {
	c := visit.Common()
	now, err := a.Site.Again(ctx, r, c.Visitor)
	if err != nil {
		var none V
		return none, err
	}
	return a.Enter(ctx, r, now, c.Needs)
}

// unchanged returns an error if the person of a visit may no longer have its route, or
// may have other rows of the table than at its beginning: what a stream sends is made
// for these.
func (a *Area[N, V]) unchanged(ctx context.Context, r *http.Request, visit V) error {
	now, err := a.again(ctx, r, visit)
	if err != nil {
		return err
	}
	for _, rt := range a.Table {
		if visit.May(rt.Needs) != now.May(rt.Needs) {
			return ui.ErrOtherAccess
		}
	}
	return nil
}

// Follow serves a stream: read returns what is new, and changed receives when there may
// be something. Whether the person is still signed in and may have it is checked before
// each message, when their access changes and every 30 seconds. read gets a context that
// lasts as long as the page.
func (a *Area[N, V]) Follow(w http.ResponseWriter, r *http.Request, visit V, changed <-chan struct{}, read func(context.Context) ([]ui.Message, error)) error {
	person := visit.Common().User.ID
	seen, err := a.Rights.Of(r.Context(), person)
	if err == nil {
		err = a.Recheck(r.Context(), r, visit) // as it is after that
	}
	if err != nil {
		return err
	}
	recheck := live.NewSignal()
	watch := a.Rights.Watch(r.Context(), person, seen, recheck)
	defer watch.Close()
	return a.Streams.Serve(w, r, ui.Stream{
		Person: person, Changed: changed, Read: read, Recheck: recheck,
		Check: func(ctx context.Context) error { return a.unchanged(ctx, r, visit) },
	})
}

// LastSeen is what a page that opens its stream knows: the id of the last message, or the
// parameter since that the page put into the address.
func LastSeen(r *http.Request) string {
	if id := r.Header.Get("Last-Event-ID"); id != "" {
		return id
	}
	return r.URL.Query().Get("since")
}

// Render shows a page of the area, with the navigation.
func (a *Area[N, V]) Render(w http.ResponseWriter, r *http.Request, visit V, name string, view ui.View) error {
	view.Wide, view.NoIndex = true, true
	view.Banner = a.banner(visit)
	view.Nav = &ui.Nav{Title: a.Title(visit), Items: a.Items(r, visit)}
	if a.Search != "" && a.Has(a.Search, visit) && r.URL.Path != visit.Path("%s", a.Search) {
		view.Nav.Search = visit.Path("%s", a.Search)
	}
	return a.Site.Render(w, r, visit.Common().Visitor, name, view)
}

// banner marks the pages of a visit.
func (a *Area[N, V]) banner(visit V) *ui.Banner {
	if a.Banner == nil {
		return nil
	}
	return a.Banner(visit)
}

// Items lists the pages of the navigation that exist and that the person may see. The
// page that is shown belongs to the entry with the longest path that it is below.
func (a *Area[N, V]) Items(r *http.Request, visit V) []ui.Item {
	items, prefix := make([]ui.Item, 0, len(a.Navigation)), visit.Path("")
	current, longest := -1, -1
	for _, entry := range a.Navigation {
		if !a.Has(entry.Path, visit) {
			continue
		}
		to := prefix + entry.Path
		here := strings.TrimSuffix(r.URL.Path, "/")
		if entry.Also != "" && strings.HasPrefix(here, prefix+entry.Also+"/") {
			current, longest = len(items), len(prefix+entry.Also)
		}
		if (here == to || entry.Path != "" && strings.HasPrefix(here, to+"/")) && len(to) > longest {
			current, longest = len(items), len(to)
		}
		items = append(items, ui.Item{Group: entry.Group, Label: entry.Label, URL: to})
	}
	if current >= 0 {
		items[current].Current = true
	}
	return items
}

// Has reports whether the area has a page that the person may see.
func (a *Area[N, V]) Has(path string, visit V) bool {
	a.indexed.Do(func() { // every page asks for each entry of the navigation
		a.pages = make(map[string]N, len(a.Table))
		for _, rt := range a.Table {
			if rt.Kind == Page {
				a.pages[rt.Path] = rt.Needs
			}
		}
	})
	needs, ok := a.pages[path]
	return ok && visit.May(needs)
}

// NotFound is the error of everything that does not exist for the person who requests
// it: ids that nobody has, ids of others, and pages that need another role. There is one
// text for all of them, so that the answer tells nothing.
func NotFound() error {
	return fault.New(fault.Missing, wire.CodeNotFound,
		"There is no page at this address, or your role does not include it. Check the address, or ask an admin of your team for access.")
}

// Missing answers an id that is unknown, or somebody else's, like every page that does
// not exist.
func Missing(err error) error {
	if f := fault.Of(err); f != nil && f.Kind == fault.Missing {
		return NotFound()
	}
	return err
}
