// Package shop serves the buyer's pages: products, redeeming a license, the consent that
// lets an application read it, changing the plan, and the buyer's licenses. It owns
// these pages and their texts; the domain packages do the work. The pages of the OAuth
// flow are here too: package oauth decides, this package asks the person.
package shop

import (
	"embed"
	"html/template"
	"net/http"
	"slices"
	"sync"
	"time"

	"claviger/internal/fault"
	"claviger/internal/license"
	"claviger/internal/oauth"
	"claviger/internal/partner"
	"claviger/internal/payment"
	"claviger/internal/ui"
	"claviger/internal/visitor"
	"claviger/internal/webhook"
	"claviger/internal/wire"
)

// Shop serves the pages.
type Shop struct {
	Site     *visitor.Site // with pages made by NewPages
	Partners *partner.Registry
	Licenses *license.Registry
	Webhooks *webhook.Outbox
	OAuth    *oauth.Server
	Payments *payment.Book // may take nothing
	Now      func() time.Time

	// WaitAtMost is how long a buyer waits for the first attempt to deliver the event of
	// their license before they are redirected to the application. A page is shown after
	// ShowAfter: one that disappears at once would only distract.
	ShowAfter, WaitAtMost time.Duration

	TestMoney bool // plans without a checkout may be bought with test money
}

//go:embed all:templates
var files embed.FS

var templates = sync.OnceValues(func() (*ui.Pages, error) {
	return ui.New(files, template.FuncMap{"plan": partner.Plan.DisplayName, "icon": iconOf}, "templates/*.html")
})

// NewPages returns the pages, for a marketplace of that name at that URL.
func NewPages(brand, publicURL string) (*ui.Pages, error) {
	p, err := templates()
	if err != nil {
		return nil, err
	}
	return p.For(brand, publicURL), nil
}

// Routes returns the routes of the pages.
func (s *Shop) Routes() []wire.Route {
	return slices.Concat(s.buyingRoutes(), s.connectingRoutes(), s.paymentRoutes())
}

// public makes the route of a page that everybody may see.
func (s *Shop) public(method, path string, h visitor.Handler) wire.Route {
	return s.Site.Route(method, path, visitor.Anyone, withPause(h))
}

// signedIn makes the route of a page for somebody who is signed in; others sign in
// first, then return.
func (s *Shop) signedIn(method, path string, h visitor.Handler) wire.Route {
	return s.Site.Route(method, path, visitor.SignedIn, withPause(h))
}

// withPause has a handler answer errPaused in place of the error of a paused
// partner, which states the operator's reason.
func withPause(h visitor.Handler) visitor.Handler {
	return func(w http.ResponseWriter, r *http.Request, v *visitor.Visitor) error {
		err := h(w, r, v)
		if fault.Is(err, partner.CodePartnerPaused) {
			return errPaused()
		}
		return err
	}
}

// errPaused is what a buyer reads about a partner that is paused.
func errPaused() error {
	return fault.New(fault.Conflict, partner.CodePartnerPaused,
		"This application is not available right now, and nothing was changed. You keep the licenses that you have. Try again later.")
}

// secretPath marks routes whose path has the redemption id of a license: anybody who
// knows the id of an unclaimed license can claim it.
func secretPath(routes ...wire.Route) []wire.Route {
	for i := range routes {
		routes[i].SecretPath = true
	}
	return routes
}
