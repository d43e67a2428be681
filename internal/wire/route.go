package wire

import (
	"net/http"
	"path"
	"slices"
	"strings"

	"claviger/internal/fault"
)

// Route is one line of an API's table. It is made by AuthRoutes.Route, which
// authenticates, or by Public, which does not; there is no third way, so that a route
// without authentication is never an oversight.
type Route struct {
	Method string
	Path   string // a net/http pattern without method and without trailing slash
	Public bool   // anybody may call it

	// SecretPath says that the path itself tells a secret: the log shows Path in its place.
	SecretPath bool

	// Other answers, with 405, what comes by a method that the path does not have;
	// the header Allow is set by then. Nil: it is answered in JSON.
	Other func(http.ResponseWriter, *http.Request)

	// Deprecated is told to every caller. None is today.
	Deprecated Deprecation

	handle func(http.ResponseWriter, *http.Request) error
}

// Public makes a route that anybody may call.
func Public(method, path string, h func(http.ResponseWriter, *http.Request) error) Route {
	return Route{Method: method, Path: path, Public: true, handle: h}
}

// ServeHTTP runs the route and answers its error.
func (rt Route) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	rt.note(r)
	rt.Deprecated.header(w.Header())
	if err := rt.handle(w, r); err != nil {
		Fail(w, r, err)
	}
}

// note stores the route for the log line of the request.
func (rt Route) note(r *http.Request) {
	note := RequestLogOf(r.Context())
	note.Route, note.Secret, note.License = rt.Path, rt.SecretPath, r.PathValue("license_key")
}

// Mux serves a table of routes. Every path answers with and without its
// trailing slash and never by a redirect; what is not in the table, and a path
// that is not clean, is 404; a method the path does not have is 405. All of it
// in JSON, unless a route says otherwise. HEAD works where GET does.
type Mux struct {
	// Else serves what no route of the table matches in any method, unclean
	// paths aside. Nil: 404.
	Else http.Handler

	// Unmatched, if it is not nil, is called before what matches no path, or no method of
	// its path, is answered.
	Unmatched func(r *http.Request)

	mux     *http.ServeMux
	routes  []Route
	methods []string
}

// NewMux builds the mux of a table. Like net/http it panics when two routes
// contradict one another: that is a mistake in the program.
func NewMux(routes ...Route) *Mux {
	m := &Mux{mux: http.NewServeMux(), routes: slices.Clone(routes)}
	for _, rt := range routes {
		base := strings.TrimSuffix(rt.Path, "/")
		if base != "" {
			m.mux.Handle(rt.Method+" "+base, rt)
		}
		m.mux.Handle(rt.Method+" "+base+"/{$}", rt)
		if !slices.Contains(m.methods, rt.Method) {
			m.methods = append(m.methods, rt.Method)
		}
	}
	slices.Sort(m.methods)
	// Catching everything here keeps the mux from answering by itself, in plain
	// text or by a redirect.
	m.mux.HandleFunc("/", m.unmatched)
	return m
}

// Routes is the table, in the order in which it was given.
func (m *Mux) Routes() []Route { return slices.Clone(m.routes) }

// ServeHTTP serves one request.
func (m *Mux) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if RequestLogOf(r.Context()).ID == "" {
		ctx, note := Begin(r.Context(), NewRequestID(), "")
		w.Header().Set("X-Request-Id", note.ID)
		r = r.WithContext(ctx)
	}
	if r.Method == http.MethodConnect || !clean(r.URL.EscapedPath()) {
		Fail(w, r, NotFound())
		return
	}
	m.mux.ServeHTTP(w, r)
}

// clean reports whether net/http would serve this path as it stands, and not
// redirect to another.
func clean(p string) bool {
	if p == "" || p[0] != '/' {
		return false
	}
	c := path.Clean(p)
	return c == p || c != "/" && c+"/" == p
}

// NotFound is the error of a path where nothing is.
func NotFound() error {
	return fault.New(fault.Missing, CodeNotFound, "There is nothing at this path. Check the path against the API reference.")
}

// unmatched serves what no route matched: another method of a known path, or
// nothing we know.
func (m *Mux) unmatched(w http.ResponseWriter, r *http.Request) {
	if m.Unmatched != nil {
		m.Unmatched(r)
	}
	routes, allow := m.allowed(r)
	switch {
	case len(allow) > 0:
		wrongMethod(w, r, routes, strings.Join(allow, ", "))
	case m.Else != nil:
		m.Else.ServeHTTP(w, r)
	default:
		Fail(w, r, NotFound())
	}
}

// wrongMethod answers 405. It is the one refusal that no domain package makes: only the
// table knows methods.
func wrongMethod(w http.ResponseWriter, r *http.Request, routes []Route, allow string) {
	note := RequestLogOf(r.Context())
	note.Err = fault.New(fault.Invalid, codeMethodNotAllowed, "This path answers %s only.", allow)
	w.Header().Set("Allow", allow)
	for _, rt := range routes {
		if rt.note(r); rt.Other != nil {
			rt.Other(w, r)
			return
		}
	}
	_ = JSON(w, http.StatusMethodNotAllowed, problem{
		Error:     codeMethodNotAllowed,
		Message:   "This path answers " + allow + " only.",
		RequestID: note.ID,
	})
}

// allowed lists the routes of the path of r, and the methods that it answers.
func (m *Mux) allowed(r *http.Request) (routes []Route, allow []string) {
	for _, method := range m.methods {
		probe := &http.Request{Method: method, URL: r.URL, Host: r.Host}
		h, _ := m.mux.Handler(probe)
		rt, ok := h.(Route)
		if !ok {
			continue
		}
		routes, allow = append(routes, rt), append(allow, method)
		if method == http.MethodGet && !slices.Contains(m.methods, http.MethodHead) {
			allow = append(allow, http.MethodHead)
		}
	}
	slices.Sort(allow)
	return routes, allow
}
