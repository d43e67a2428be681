package ui

import (
	"html/template"
	"net/http"
	"slices"
	"strings"
)

// htmx 4 marks its requests with HX-Request: true. HX-Request-Type is partial if the answer goes
// into an element of the page, or full for a whole page, as after the back button. So check the
// type, never HX-Request alone.
const (
	headerRequest    = "HX-Request"
	headerType       = "HX-Request-Type"
	headerCurrentURL = "HX-Current-URL"
	headerRedirect   = "HX-Redirect"
	headerRetarget   = "HX-Retarget"
	headerReswap     = "HX-Reswap"
)

// statusTarget is the shell element for a fragment's notice and for server errors; see
// frame/frame.html.
const statusTarget = "#status"

// IsHTMX reports whether htmx sent the request, for a fragment or for a whole page.
func IsHTMX(r *http.Request) bool { return r.Header.Get(headerRequest) == "true" }

// IsFragment reports whether htmx puts the answer into an element of the current page.
func IsFragment(r *http.Request) bool { return IsHTMX(r) && r.Header.Get(headerType) == "partial" }

// CurrentURL returns the URL of the page that htmx sent the request from, "" otherwise. It may
// contain secrets: do not log it.
func CurrentURL(r *http.Request) string {
	if !IsHTMX(r) {
		return ""
	}
	return r.Header.Get(headerCurrentURL)
}

// SeeOther redirects the browser to a page, after a form or to sign in. Without HX-Redirect, htmx
// would put the target page into an element.
func SeeOther(w http.ResponseWriter, r *http.Request, to string) {
	if IsFragment(r) {
		varyByFragment(w.Header())
		w.Header().Set(headerRedirect, to)
		w.WriteHeader(http.StatusNoContent)
		return
	}
	http.Redirect(w, r, to, http.StatusSeeOther)
}

// SetRedirect makes htmx open another page, regardless of the answer.
func SetRedirect(h http.Header, to string) { h.Set(headerRedirect, to) }

// SwapNothing makes htmx leave the page unchanged, regardless of the answer.
func SwapNothing(h http.Header) { h.Set(headerReswap, "none") }

// varyByFragment tells caches that one URL has pages and fragments.
func varyByFragment(h http.Header) {
	for _, name := range []string{headerRequest, headerType} {
		if !slices.ContainsFunc(h.Values("Vary"), func(v string) bool { return strings.EqualFold(v, name) }) {
			h.Add("Vary", name)
		}
	}
}

// fragment writes the answer to a fragment request: the problem, the page's named template, and the
// notice for the status region.
func fragment(m *markup, t *template.Template, page Page) error {
	for _, name := range []string{"fragment-problem", page.Fragment, "fragment-notice"} {
		if err := t.ExecuteTemplate(m, name, page); err != nil {
			return err
		}
	}
	return nil
}
