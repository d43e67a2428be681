package visitor

import (
	"errors"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"claviger/internal/account"
	"claviger/internal/fault"
	"claviger/internal/ui"
	"claviger/internal/wire"
)

// SignInPath is the page where people sign in. Its parameter next is where they go
// afterwards.
const SignInPath = "/sign-in"

// Handler serves a page. An error that it returns is shown as an error page.
type Handler func(w http.ResponseWriter, r *http.Request, v *Visitor) error

// Access decides whether a visitor may see a page. ErrSignIn sends them to the
// sign-in page; any other error is shown, so a fault of kind Missing hides that
// there is something to see.
type Access func(r *http.Request, v *Visitor) error

// ErrSignIn is the answer of an Access to visitors who have to sign in first.
var ErrSignIn = errors.New("the visitor has to sign in")

// errEnroll is the answer to visitors who need a second factor first.
var errEnroll = errors.New("the visitor needs a second factor")

// SecurityPath is the page where people add second factors. Its parameter next is where
// they go afterwards.
const SecurityPath = accountPath + "/security"

// enrolled refuses visitors of the console who must have a second factor and have none.
// It is asked for every route of the console, so that no page can leave it out.
func (s *Site) enrolled(r *http.Request, v *Visitor) error {
	if r.URL.Path != ConsolePath && !strings.HasPrefix(r.URL.Path, ConsolePath+"/") {
		return nil
	}
	if s.Accounts.Require.Of(v.User) && !v.User.SecondFactor {
		return errEnroll
	}
	return nil
}

// Anyone is the access to pages that everybody may see.
func Anyone(*http.Request, *Visitor) error { return nil }

// SignedIn is the access to pages for everybody who is signed in.
func SignedIn(_ *http.Request, v *Visitor) error {
	if !v.SignedIn() {
		return ErrSignIn
	}
	return nil
}

// Route makes the route of a page. A form that comes from another site is refused.
func (s *Site) Route(method, path string, access Access, h Handler) wire.Route {
	return s.route(method, path, ui.MaxForm, s.Pages.SameOrigin(s.serve(access, h, s.leave)))
}

// UploadRoute makes the route of a form that has a file in it.
func (s *Site) UploadRoute(path string, access Access, h Handler) wire.Route {
	return s.route(http.MethodPost, path, ui.MaxUpload, s.Pages.SameOrigin(s.serve(access, h, s.leave)))
}

// CrossSiteRoute makes the route of a page that takes forms of other sites too. It
// must not change anything on behalf of the visitor.
func (s *Site) CrossSiteRoute(method, path string, access Access, h Handler) wire.Route {
	return s.route(method, path, ui.MaxForm, s.serve(access, h, s.leave))
}

// StreamRoute makes the route of a stream of events. It never redirects: whoever may
// not have the stream gets 401, at which app.js gives up.
func (s *Site) StreamRoute(path string, access Access, h Handler) wire.Route {
	return s.route(http.MethodGet, path, ui.MaxForm, s.serve(access, h, func(w http.ResponseWriter, r *http.Request, _ string) {
		ui.SwapNothing(w.Header())
		s.refuse(w, r)
	}))
}

// serve finds out who visits, checks their access and runs the handler. leave answers
// visitors who have to sign in, or to add a second factor, at another page first.
func (s *Site) serve(access Access, h Handler, leave func(w http.ResponseWriter, r *http.Request, at string)) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		v, err := s.visitor(r)
		if err == nil {
			if v.SignedIn() {
				wire.RequestLogOf(r.Context()).Who = "user:" + strconv.FormatInt(v.User.ID, 10)
			}
			if err = access(r, v); err == nil {
				err = s.enrolled(r, v)
			}
			if err == nil {
				err = h(w, r, v)
			}
		}
		switch {
		case errors.Is(err, ErrSignIn):
			leave(w, r, SignInPath)
		case errors.Is(err, errEnroll):
			leave(w, r, SecurityPath)
		case err != nil:
			s.Pages.Fail(w, r, err)
		}
	})
}

// route adds what every page has: the session, headers, and a limit of its body.
func (s *Site) route(method, path string, limit int64, serve http.Handler) wire.Route {
	serve = s.Sessions.Wrap(serve)
	rt := wire.Public(method, path, func(w http.ResponseWriter, r *http.Request) error {
		s.Pages.Headers(w.Header())
		// For every method: net/http also reads the form of a GET that has a body, and
		// writes large parts of it to files.
		r.Body = http.MaxBytesReader(w, r.Body, limit)
		serve.ServeHTTP(w, r.WithContext(account.WithHolder(r.Context())))
		return nil
	})
	rt.Other = s.Pages.WrongMethod
	return rt
}

// leave sends a person to the page at, such as the sign-in page, and then back. A form is
// not sent again: the person returns to the page that it is on. htmx would follow a
// redirect by itself and put the page into an element, so it gets an error that makes it
// leave the page.
func (s *Site) leave(w http.ResponseWriter, r *http.Request, at string) {
	next := r.URL.RequestURI()
	switch {
	case ui.IsFragment(r):
		next = pathOf(ui.CurrentURL(r))
	case r.Method != http.MethodGet && r.Method != http.MethodHead:
		next = pathOf(r.Referer())
	}
	to := at + "?next=" + url.QueryEscape(next)
	if !ui.IsHTMX(r) {
		ui.SeeOther(w, r, to)
		return
	}
	ui.SetRedirect(w.Header(), to)
	s.refuse(w, r)
}

// refuse answers 401.
func (s *Site) refuse(w http.ResponseWriter, r *http.Request) {
	s.Pages.Fail(w, r, fault.New(fault.Unknown, codeSignInRequired, "You are no longer signed in. Sign in and try again."))
}

// pathOf returns the path and query of an absolute URL, "" if it is none.
func pathOf(address string) string {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" {
		return ""
	}
	return u.RequestURI()
}

// SignIn returns the URL of the sign-in page that leads to next.
func SignIn(next string) string { return SignInPath + "?next=" + url.QueryEscape(next) }
