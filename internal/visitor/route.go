package visitor

import (
	"errors"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"claviger/internal/account"
	"claviger/internal/fault"
	"claviger/internal/partner"
	"claviger/internal/ui"
	"claviger/internal/wire"
)

// SignInPath is the page where people sign in. Its parameter next is where they go
// afterwards.
const SignInPath = "/sign-in"

// Handler serves a page. A returned error is shown as an error page.
type Handler func(w http.ResponseWriter, r *http.Request, v *Visitor) error

// Access decides whether a visitor may see a page. ErrSignIn sends them to the sign-in page. Any
// other error is shown, so a fault of kind Missing hides the page.
type Access func(r *http.Request, v *Visitor) error

// ErrSignIn is returned by an Access if the visitor has to sign in first.
var ErrSignIn = errors.New("the visitor has to sign in")

// errSignInAgain is returned if the session has ended for the console and the portal, but not
// elsewhere.
var errSignInAgain = errors.New("the visitor has to sign in again")

// errEnroll is returned if the visitor needs a second factor first.
var errEnroll = errors.New("the visitor needs a second factor")

// SecurityPath is the page where people add second factors. Its parameter next is where
// they go afterwards.
const SecurityPath = accountPath + "/security"

// enrolled refuses visitors of the console without a required second factor. It runs for every
// route of the console, so that no page can leave it out.
func (s *Site) enrolled(r *http.Request, v *Visitor) error {
	if r.URL.Path != ConsolePath && !strings.HasPrefix(r.URL.Path, ConsolePath+"/") {
		return nil
	}
	if s.Accounts.Require.Of(v.User) && !v.User.SecondFactor {
		return errEnroll
	}
	return nil
}

// recent refuses visitors of the console and the portal if their session is too old, was idle for
// too long, or began with a right that the person has lost. It runs for every route of both except
// the team invitations: people outside of teams open these, and they need a sign-in of their own.
func (s *Site) recent(r *http.Request, v *Visitor) error {
	if !v.SignedIn() || !staffPage(r.URL.Path) {
		return nil
	}
	if v.Signed.Staff != v.User.StaffEpoch || s.Sessions.StaffOver(v.Signed) {
		return errSignInAgain
	}
	return nil
}

// staffPage reports whether a path is one of the console or the portal.
func staffPage(path string) bool {
	if path == account.InvitationPath || path == partner.InvitationPath {
		return false
	}
	for _, area := range []string{ConsolePath, PortalPath} {
		if path == area || strings.HasPrefix(path, area+"/") {
			return true
		}
	}
	return false
}

// Anyone is the access to public pages.
func Anyone(*http.Request, *Visitor) error { return nil }

// SignedIn is the access to pages for all signed-in people.
func SignedIn(_ *http.Request, v *Visitor) error {
	if !v.SignedIn() {
		return ErrSignIn
	}
	return nil
}

// Route returns the route of a page. Forms from other sites are refused.
func (s *Site) Route(method, path string, access Access, h Handler) wire.Route {
	return s.route(method, path, ui.MaxForm, s.Sessions.Wrap(s.Pages.SameOrigin(s.serve(access, h, s.leave))))
}

// UploadRoute returns the route of a form with a file.
func (s *Site) UploadRoute(path string, access Access, h Handler) wire.Route {
	return s.route(
		http.MethodPost,
		path,
		ui.MaxUpload,
		s.Sessions.Wrap(s.Pages.SameOrigin(s.serve(access, h, s.leave))),
	)
}

// CrossSiteRoute returns the route of a page that also accepts forms of other sites. It must not
// change anything on behalf of the visitor.
func (s *Site) CrossSiteRoute(method, path string, access Access, h Handler) wire.Route {
	return s.route(method, path, ui.MaxForm, s.Sessions.Wrap(s.serve(access, h, s.leave)))
}

// StreamRoute returns the route of a stream of events. It never redirects: without access the
// answer is 401, and app.js gives up. An open stream does not count as use of the session.
func (s *Site) StreamRoute(path string, access Access, h Handler) wire.Route {
	return s.route(
		http.MethodGet,
		path,
		ui.MaxForm,
		s.Sessions.WrapLive(s.serve(access, h, func(w http.ResponseWriter, r *http.Request, _ string) {
			ui.SwapNothing(w.Header())
			s.refuse(w, r)
		})),
	)
}

// serve identifies the visitor, checks their access and runs the handler. leave redirects visitors
// who must first sign in, or add a second factor, on another page.
func (s *Site) serve(
	access Access,
	h Handler,
	leave func(w http.ResponseWriter, r *http.Request, at string),
) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		v, err := s.visitor(r)
		if err == nil {
			if v.SignedIn() {
				wire.RequestLogOf(r.Context()).Who = "user:" + strconv.FormatInt(v.User.ID, 10)
			}
			if err = access(r, v); err == nil {
				err = s.recent(r, v)
			}
			if err == nil {
				err = s.enrolled(r, v)
			}
			if err == nil {
				err = h(w, r, v)
			}
		}
		switch {
		case errors.Is(err, ErrSignIn):
			leave(w, r, SignInPath)
		case errors.Is(err, errSignInAgain):
			leave(w, r, againPath)
		case errors.Is(err, errEnroll):
			leave(w, r, SecurityPath)
		case err != nil:
			s.Pages.Fail(w, r, err)
		}
	})
}

// route adds the headers and the body limit of every page.
func (s *Site) route(method, path string, limit int64, serve http.Handler) wire.Route {
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

// leave sends a person to the page at, such as the sign-in page, and then back. A form is not sent
// again: the person returns to its page. htmx would follow a redirect and put the page into an
// element, so it gets an error that makes it leave the page.
func (s *Site) leave(w http.ResponseWriter, r *http.Request, at string) {
	next := r.URL.RequestURI()
	switch {
	case ui.IsFragment(r):
		next = pathOf(ui.CurrentURL(r))
	case r.Method != http.MethodGet && r.Method != http.MethodHead:
		next = pathOf(r.Referer())
	}
	to := withNext(at, next)
	if !ui.IsHTMX(r) {
		ui.SeeOther(w, r, to)
		return
	}
	ui.SetRedirect(w.Header(), to)
	s.refuse(w, r)
}

// refuse answers with 401.
func (s *Site) refuse(w http.ResponseWriter, r *http.Request) {
	s.Pages.Fail(
		w,
		r,
		fault.New(fault.Unknown, codeSignInRequired, "You are no longer signed in. Sign in and try again."),
	)
}

// pathOf returns the path and query of an absolute URL, otherwise "".
func pathOf(address string) string {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" {
		return ""
	}
	return u.RequestURI()
}

// againPath is the sign-in page for a signed-in person.
const againPath = SignInPath + "?again=1"

// withNext adds the parameter next to a URL.
func withNext(at, next string) string {
	separator := "?"
	if strings.Contains(at, separator) {
		separator = "&"
	}
	return at + separator + "next=" + url.QueryEscape(next)
}

// SignIn returns the URL of the sign-in page that leads to next.
func SignIn(next string) string { return withNext(SignInPath, next) }

// SignInAgain is SignIn for a signed-in person who has to prove their identity again.
func SignInAgain(next string) string { return withNext(againPath, next) }
