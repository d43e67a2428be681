package ui

import (
	"html/template"
	"net/http"
	"slices"
	"strings"
)

// htmx 4 marks its requests: HX-Request is true, and HX-Request-Type is partial when
// it puts the answer into an element of the page, or full when it wants the whole
// page, as after the back button. So the type decides, never HX-Request alone.
const (
	headerRequest    = "HX-Request"
	headerType       = "HX-Request-Type"
	headerCurrentURL = "HX-Current-URL"
	headerRedirect   = "HX-Redirect"
	headerRetarget   = "HX-Retarget"
	headerReswap     = "HX-Reswap"
)

// statusTarget is the element of the shell where a fragment's notice and errors of
// the server are shown; see Page.writeFoot.
const statusTarget = "#status"

// IsHTMX reports whether htmx sent the request, for a fragment or for a whole page.
func IsHTMX(r *http.Request) bool { return r.Header.Get(headerRequest) == "true" }

// IsFragment reports whether htmx puts the answer into an element of the page that
// the person is looking at.
func IsFragment(r *http.Request) bool { return IsHTMX(r) && r.Header.Get(headerType) == "partial" }

// CurrentURL returns the URL of the page that htmx sent the request from, "" if it
// did not. It may hold secrets: do not log it.
func CurrentURL(r *http.Request) string {
	if !IsHTMX(r) {
		return ""
	}
	return r.Header.Get(headerCurrentURL)
}

// SeeOther redirects the browser to a page, after a form or to sign in. Without
// HX-Redirect, the answer to a fragment request would end up inside an element.
func SeeOther(w http.ResponseWriter, r *http.Request, to string) {
	if IsFragment(r) {
		varyByFragment(w.Header())
		w.Header().Set(headerRedirect, to)
		w.WriteHeader(http.StatusNoContent)
		return
	}
	http.Redirect(w, r, to, http.StatusSeeOther)
}

// SetRedirect has htmx leave the page for another one, whatever the answer says.
func SetRedirect(h http.Header, to string) { h.Set(headerRedirect, to) }

// SwapNothing has htmx leave the page as it is, whatever the answer says.
func SwapNothing(h http.Header) { h.Set(headerReswap, "none") }

// varyByFragment tells caches that one URL answers pages and fragments.
func varyByFragment(h http.Header) {
	for _, name := range []string{headerRequest, headerType} {
		if !slices.ContainsFunc(h.Values("Vary"), func(v string) bool { return strings.EqualFold(v, name) }) {
			h.Add("Vary", name)
		}
	}
}

// fragment writes the answer to a fragment request: the problem, the page's template
// of that name, and the notice for the status region of the shell.
func fragment(m *markup, t *template.Template, page Page) error {
	for _, name := range []string{"fragment-problem", page.Fragment, "fragment-notice"} {
		if err := t.ExecuteTemplate(m, name, page); err != nil {
			return err
		}
	}
	return nil
}
