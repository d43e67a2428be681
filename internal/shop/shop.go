// Package shop is the door of the buyer: signing up and in, the product pages,
// redeeming a license, the consent that lets an application know it, changing the
// plan, and what one has bought. It owns these pages and their words; what they
// do is done by the rooms. The pages of the OAuth flow are here too: package oauth
// decides, this package asks the person.
package shop

import (
	"cmp"
	"embed"
	"html/template"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"claviger/internal/account"
	"claviger/internal/audit"
	"claviger/internal/fault"
	"claviger/internal/license"
	"claviger/internal/oauth"
	"claviger/internal/partner"
	"claviger/internal/secret"
	"claviger/internal/ui"
	"claviger/internal/webhook"
	"claviger/internal/wire"
)

// Shop is the door.
type Shop struct {
	Pages    *ui.Pages // made by NewPages
	Sessions *ui.Sessions
	Accounts *account.Book
	Partners *partner.Registry
	Licenses *license.Registry
	Webhooks *webhook.Outbox
	OAuth    *oauth.Server
	Sealer   *secret.Sealer // seals what makes a browser known; nil: none is
	Now      func() time.Time

	// Patience is how long a buyer waits, before going to the application, for it to
	// be told of the license. For the first of it, Glance, nothing is shown: a page
	// that flashes is worse than none.
	Glance, Patience time.Duration

	TestMoney bool   // plans without a checkout may be bought with play money
	Mailbox   string // the page where mails are shown and not sent, in development; "" when they are sent

	// Throttle bounds how often an address may try to sign in, sign up or ask for
	// a mail, and how often somebody may try one account. Nil: no bounds.
	Throttle *ui.Throttle
}

//go:embed all:templates
var files embed.FS

// NewPages reads the door's templates, for a marketplace of that name at that
// address.
func NewPages(brand, publicURL string) (*ui.Pages, error) {
	p, err := ui.New(files, template.FuncMap{"plan": planName}, "templates/*.html")
	if err != nil {
		return nil, err
	}
	p.Brand, p.PublicURL = brand, publicURL
	return p, nil
}

// visit is a request by a person, who may be signed in.
type visit struct {
	user   account.User // zero when nobody is signed in
	signed ui.Signed

	session string // the id of the session
	client  string // the address of the client
}

// in reports whether somebody is signed in.
func (v *visit) in() bool { return v.user.ID != 0 }

// actor is the person as the audit names one.
func (v *visit) actor() audit.Actor {
	return audit.Actor{Kind: audit.ByUser, ID: v.user.ID, Session: v.session, Client: v.client}
}

// handler serves a page. What it returns is shown as an error page.
type handler func(w http.ResponseWriter, r *http.Request, v *visit) error

// Routes is the table of the door's pages.
func (s *Shop) Routes() []wire.Route {
	return slices.Concat(s.personalRoutes(), s.buyingRoutes(), s.connectingRoutes())
}

// open makes the route of a page that anybody may see.
func (s *Shop) open(method, path string, h handler) wire.Route {
	return s.route(method, path, func(next http.Handler) http.Handler { return s.Pages.SameOrigin(next) }, h)
}

// own makes the route of a page for somebody who is signed in; others are sent to
// sign in, and come back.
func (s *Shop) own(method, path string, h handler) wire.Route {
	return s.open(method, path, func(w http.ResponseWriter, r *http.Request, v *visit) error {
		if v.in() {
			return h(w, r, v)
		}
		s.sendToSignIn(w, r)
		return nil
	})
}

// route makes the route of a page behind a guard of its forms.
func (s *Shop) route(method, path string, guard func(http.Handler) http.Handler, h handler) wire.Route {
	serve := s.Sessions.Wrap(guard(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		v, err := s.visitor(r)
		if err == nil {
			if v.in() {
				wire.RequestLogOf(r.Context()).Who = "user:" + strconv.FormatInt(v.user.ID, 10)
			}
			err = h(w, r, v)
		}
		if fault.Is(err, "partner_paused") {
			err = errPaused() // in place of one that tells the operator's reason
		}
		if err != nil {
			s.Pages.Fail(w, r, err)
		}
	})))
	rt := wire.Public(method, path, func(w http.ResponseWriter, r *http.Request) error {
		s.Pages.Headers(w.Header())
		// Whatever the method: net/http reads the form of a GET that has a body, too,
		// and what is large of it into files.
		r.Body = http.MaxBytesReader(w, r.Body, ui.MaxForm)
		serve.ServeHTTP(w, r)
		return nil
	})
	rt.Other = s.Pages.WrongMethod
	return rt
}

// errPaused is what a buyer reads of a partner that is paused.
func errPaused() error {
	return fault.New(fault.Conflict, "partner_paused",
		"This application is not available at the moment, and nothing was changed. Licenses that you have stay yours; try again later.")
}

// secretPath marks routes whose path has the redemption id of a license: whoever
// knows that of an unclaimed one can claim it.
func secretPath(routes ...wire.Route) []wire.Route {
	for i := range routes {
		routes[i].SecretPath = true
	}
	return routes
}

// visitor finds out who is signed in. A session that was ended elsewhere, or
// whose user was erased, is nobody's.
func (s *Shop) visitor(r *http.Request) (*visit, error) {
	signed, ok := s.Sessions.Who(r.Context())
	if !ok {
		return &visit{}, nil
	}
	u, err := s.Accounts.Get(r.Context(), signed.UserID)
	switch {
	case fault.Is(err, "unknown_user"):
		return &visit{}, nil
	case err != nil:
		return nil, err
	case !u.ErasedAt.IsZero() || u.SessionEpoch != signed.Epoch:
		return &visit{}, s.Sessions.SignOut(r.Context())
	}
	return &visit{user: u, signed: signed, session: account.SessionID(s.Sessions.Token(r.Context())), client: wire.Client(r)}, nil
}

// sendToSignIn has a person sign in first and then come back. A form that was
// sent is not repeated: the way back is to the page that it stood on.
func (s *Shop) sendToSignIn(w http.ResponseWriter, r *http.Request) {
	next := r.URL.RequestURI()
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		next = ""
		if page, err := url.Parse(r.Referer()); err == nil && page.Host != "" {
			next = page.RequestURI()
		}
	}
	seeOther(w, r, "/sign-in?next="+url.QueryEscape(next))
}

// seeOther sends the browser on, after a form or to sign in.
func seeOther(w http.ResponseWriter, r *http.Request, to string) {
	http.Redirect(w, r, to, http.StatusSeeOther)
}

// show renders a page of the door.
func (s *Shop) show(w http.ResponseWriter, r *http.Request, v *visit, name string, view ui.View) error {
	if v.in() {
		view.Person = cmp.Or(v.user.Name, v.user.Email)
		view.Menu = []ui.Item{
			{Label: "My licenses", URL: "/licenses", Current: strings.HasPrefix(r.URL.Path, "/licens")},
			{Label: "Account", URL: "/account", Current: strings.HasPrefix(r.URL.Path, "/account")},
		}
	} else {
		view.Menu = []ui.Item{{Label: "Sign in", URL: "/sign-in", Current: r.URL.Path == "/sign-in"}}
	}
	return s.Pages.Render(w, r, name, view)
}
