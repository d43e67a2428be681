// Package shop is the door of the buyer: the product pages,
// redeeming a license, the consent that lets an application know it, changing the
// plan, and what one has bought. It owns these pages and their words; what they
// do is done by the rooms. The pages of the OAuth flow are here too: package oauth
// decides, this package asks the person.
package shop

import (
	"embed"
	"html/template"
	"net/http"
	"time"

	"claviger/internal/fault"
	"claviger/internal/license"
	"claviger/internal/oauth"
	"claviger/internal/partner"
	"claviger/internal/ui"
	"claviger/internal/visitor"
	"claviger/internal/webhook"
	"claviger/internal/wire"
)

// Shop is the door.
type Shop struct {
	Site     *visitor.Site // with pages made by NewPages
	Partners *partner.Registry
	Licenses *license.Registry
	Webhooks *webhook.Outbox
	OAuth    *oauth.Server
	Now      func() time.Time

	// Patience is how long a buyer waits, before going to the application, for it to
	// be told of the license. For the first of it, Glance, nothing is shown: a page
	// that flashes is worse than none.
	Glance, Patience time.Duration

	TestMoney bool // plans without a checkout may be bought with test money
}

//go:embed all:templates
var files embed.FS

// NewPages reads the door's templates, for a marketplace of that name at that
// address.
func NewPages(brand, publicURL string) (*ui.Pages, error) {
	p, err := ui.New(files, template.FuncMap{"plan": partner.Plan.DisplayName}, "templates/*.html")
	if err != nil {
		return nil, err
	}
	p.Brand, p.PublicURL = brand, publicURL
	return p, nil
}

// Routes is the table of the door's pages.
func (s *Shop) Routes() []wire.Route {
	return append(s.buyingRoutes(), s.connectingRoutes()...)
}

// open makes the route of a page that everybody may see.
func (s *Shop) open(method, path string, h visitor.Handler) wire.Route {
	return s.Site.Route(method, path, visitor.Anyone, withPause(h))
}

// own makes the route of a page for somebody who is signed in; others sign in
// first, then return.
func (s *Shop) own(method, path string, h visitor.Handler) wire.Route {
	return s.Site.Route(method, path, visitor.SignedIn, withPause(h))
}

// withPause has a handler answer errPaused in place of the error of a paused
// partner, which states the operator's reason.
func withPause(h visitor.Handler) visitor.Handler {
	return func(w http.ResponseWriter, r *http.Request, v *visitor.Visitor) error {
		err := h(w, r, v)
		if fault.Is(err, "partner_paused") {
			return errPaused()
		}
		return err
	}
}

// errPaused is what a buyer reads of a partner that is paused.
func errPaused() error {
	return fault.New(fault.Conflict, "partner_paused",
		"This application is not available right now, and nothing was changed. You keep the licenses that you have. Try again later.")
}

// secretPath marks routes whose path has the redemption id of a license: whoever
// knows that of an unclaimed one can claim it.
func secretPath(routes ...wire.Route) []wire.Route {
	for i := range routes {
		routes[i].SecretPath = true
	}
	return routes
}
