package ui

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"claviger/internal/fault"
	"claviger/internal/wire"
)

// failure is the data of an error page.
type failure struct {
	Status    int
	Title     string
	Text      string
	RequestID string // only for errors that we must investigate
	Again     bool   // a retry may help
	Back      string // previous page in the same area; "": unknown
	Start     string // start page of the area
	Ours      bool   // the server's fault
}

// Fail shows err as a page and records it in the request log, as wire.Fail does for programs. A
// fault is shown with its own text; for any other error only the request id is shown.
func (p *Pages) Fail(w http.ResponseWriter, r *http.Request, err error) {
	note := wire.RequestLogOf(r.Context())
	note.Err = err
	if errors.Is(r.Context().Err(), context.Canceled) {
		note.Gone = true
	}
	if sent, ok := w.(interface{ Written() bool }); ok && sent.Written() {
		return
	}
	if note.Gone {
		w.WriteHeader(wire.StatusGone)
		return
	}
	if errors.Is(r.Context().Err(), context.DeadlineExceeded) && fault.Of(err) == nil {
		// The deadline may have caused any error.
		err = context.DeadlineExceeded
	}
	f := failureOf(w.Header(), err)
	if f.Status >= http.StatusInternalServerError {
		f.RequestID = note.ID
	}
	f.Again = f.Again && r.Method == http.MethodGet
	p.showFailure(w, r, f)
}

// showFailure shows an error page, or a notice for a fragment request. The notice replaces the
// fragment. If the fault is ours, it goes to the shell's status region, so the page stays. The
// flash stays for the next page that is no error. showFailure cannot fail: its templates are
// embedded.
func (p *Pages) showFailure(w http.ResponseWriter, r *http.Request, f failure) {
	f.Ours = f.Status >= http.StatusInternalServerError
	if f.Ours && IsFragment(r) {
		w.Header().Set(headerRetarget, statusTarget)
		w.Header().Set(headerReswap, "innerHTML")
	}
	f.Back, f.Start = p.waysOn(r)
	var banner *Banner
	if p.Mark != nil {
		banner = p.Mark(r)
	}
	view := View{Title: f.Title, Status: f.Status, Banner: banner, NoIndex: true, Fragment: "fragment-failure", Data: f}
	if p.Around != nil && !f.Ours { // if it is ours, the database may be unavailable
		view.Person, view.Menu = p.Around(r)
	}
	_ = p.render(w, r, pageFailure, view, func() {})
}

// waysOn returns the links of an error page: back to the previous page, if that was another page of
// the same area, and to the start of the area.
func (p *Pages) waysOn(r *http.Request) (back, start string) {
	if p.Start != nil {
		start = p.Start(r)
	}
	if start == "" {
		return "", or(p.Home, "/")
	}
	from, err := url.Parse(r.Referer())
	if err != nil || from.Host != r.Host && from.Scheme+"://"+from.Host != p.origin() {
		return "", start
	}
	area := strings.TrimSuffix(start, "/")
	if to := from.RequestURI(); to != r.URL.RequestURI() &&
		(from.Path == area || strings.HasPrefix(from.Path, area+"/")) {
		return to, start
	}
	return "", start
}

// titles are the headings of faults; other kinds have "That did not work".
var titles = map[fault.Kind]string{
	fault.Unknown:     "Please sign in",
	fault.Forbidden:   "You don't have access to this page",
	fault.Missing:     "Not found",
	fault.TooLarge:    "That was too large",
	fault.Unsupported: "We could not read that",
	fault.Throttled:   "Please wait a moment",
	fault.Busy:        "Please wait a moment",
}

// failureOf chooses status, headers and text for an error.
func failureOf(h http.Header, err error) failure {
	if f := fault.Of(err); f != nil {
		out := failure{Status: wire.Status(f.Kind), Title: or(titles[f.Kind], "That did not work"), Text: f.Text}
		switch f.Code {
		case wire.CodeNotFound:
			out.Title = "Page not found"
		case codeCrossOrigin:
			out.Title = "This came from another site"
		}
		if f.Kind == fault.Throttled || f.Kind == fault.Busy {
			wait := max(f.After, time.Second)
			h.Set("Retry-After", strconv.FormatInt(int64((wait+time.Second-1)/time.Second), 10))
			out.Again = true
		}
		return out
	}
	away, ok := errors.AsType[interface {
		error
		Unavailable() bool
	}](err)
	if ok && away.Unavailable() || errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled) {
		h.Set("Retry-After", "2")
		return failure{
			Status: http.StatusServiceUnavailable,
			Title:  "We are temporarily unavailable",
			Text:   cmp.Or(wire.Sentence(err), "We could not answer in time. Please try again in a moment."),
			Again:  true,
		}
	}
	return failure{
		Status: http.StatusInternalServerError,
		Title:  "Something went wrong",
		Text:   "Please try again. If it happens again, contact us with the request number below.",
		Again:  true,
	}
}

// NotFound returns the page of an unknown path.
func (p *Pages) NotFound() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		p.Fail(
			w,
			r,
			fault.New(
				fault.Missing,
				wire.CodeNotFound,
				"There is no page at this address. It may have moved, or the link may be incomplete.",
			),
		)
	})
}

// WrongMethod shows the page for a method that the URL does not support; see wire.Route.
func (p *Pages) WrongMethod(w http.ResponseWriter, r *http.Request) {
	f := failure{
		Status: http.StatusMethodNotAllowed,
		Title:  "This is not possible here",
		Text: "This page does not accept this kind of request, so nothing was changed. Open it in your browser, " +
			"or go to the start page.",
	}
	if r.Method == http.MethodGet || r.Method == http.MethodHead {
		f.Text = "This address only receives a form. Go back to the page that the form is on, or go to the start page."
	}
	p.showFailure(w, r, f)
}

// SameOrigin rejects forms posted by another site, using http.CrossOriginProtection: browsers send
// the origin of a request. Paths in exempt accept posts from anywhere, in every method, with or
// without a trailing slash. Programs send no origin and pass.
func (p *Pages) SameOrigin(next http.Handler, exempt ...string) http.Handler {
	guard := http.NewCrossOriginProtection()
	if o := p.origin(); o != "" {
		// Behind a proxy the Host header may differ from the browser's. A malformed origin is
		// rejected at start, when the setting is read.
		_ = guard.AddTrustedOrigin(o)
	}
	for _, path := range exempt {
		guard.AddInsecureBypassPattern(path)
		guard.AddInsecureBypassPattern(path + "/{$}")
	}
	guard.SetDenyHandler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		p.Fail(w, r, fault.New(
			fault.Forbidden,
			codeCrossOrigin,
			"This form was sent from another website, so nothing was changed. Open the page on %s and send its form "+
				"again.",
			or(p.Brand, "our site"),
		))
	}))
	return guard.Handler(next)
}
