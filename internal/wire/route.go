package wire

import (
	"net/http"
	"path"
	"slices"
	"strings"

	"claviger/internal/fault"
)

// Route is an entry of an API's route table. It is made by AuthRoutes.Route, which authenticates,
// or by Public, which does not. There is no third way, so a route never lacks authentication by
// mistake.
type Route struct {
	Method string
	Path   string // a net/http pattern without method and trailing slash
	Public bool   // needs no authentication

	// SecretPath means that the path contains a secret: the log shows Path instead.
	SecretPath bool

	// Other answers requests with an unsupported method, after the Allow header is set. Nil: 405 in
	// JSON.
	Other func(http.ResponseWriter, *http.Request)

	// Deprecated is announced to every caller. None is today.
	Deprecated Deprecation

	handle func(http.ResponseWriter, *http.Request) error
}

// Public makes a route without authentication.
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

// Mux serves a table of routes. Every path works with and without a trailing slash, never by a
// redirect. Unknown and unclean paths are 404, and unsupported methods 405. Answers are JSON unless
// a route has its own form. HEAD works where GET does.
type Mux struct {
	// Else serves clean paths that no route matches in any method. Nil: 404.
	Else http.Handler

	// Unmatched is a hook. Mux calls it before it answers a request without a matching path or
	// method; Identify of api.API and oauth.Server listen, and name the caller in the request log.
	// Nil: not called.
	Unmatched func(r *http.Request)

	mux     *http.ServeMux
	routes  []Route
	methods []string
}

// NewMux builds the mux of a table. Like net/http it panics if two routes conflict: that is a
// mistake in the program.
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
	// This catch-all stops the mux from answering itself, in plain text or by a redirect.
	m.mux.HandleFunc("/", m.unmatched)
	return m
}

// Routes returns the table in the given order.
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

// clean reports whether net/http would serve this path without a redirect.
func clean(p string) bool {
	if p == "" || p[0] != '/' {
		return false
	}
	c := path.Clean(p)
	return c == p || c != "/" && c+"/" == p
}

// NotFound returns the error for an unknown path.
func NotFound() error {
	return fault.New(
		fault.Missing,
		CodeNotFound,
		"There is nothing at this path. Check the path against the API reference.",
	)
}

// unmatched serves requests that no route matched: another method of a known path, or an unknown
// path.
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

// wrongMethod answers 405. It is the one refusal that no domain package makes: only the table knows
// methods.
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

// allowed lists the routes of r's path and the methods it supports.
func (m *Mux) allowed(r *http.Request) (routes []Route, allow []string) {
	for _, method := range m.methods {
		probe := &http.Request{Method: method, URL: r.URL, Host: r.Host}
		h, _ := m.mux.Handler(probe)
		rt, ok := h.(Route)
		if !ok {
			continue
		}
		routes = append(routes, rt)
		allow = append(allow, method)
		if method == http.MethodGet && !slices.Contains(m.methods, http.MethodHead) {
			allow = append(allow, http.MethodHead)
		}
	}
	slices.Sort(allow)
	return routes, allow
}
