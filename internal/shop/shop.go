// Package shop serves the buyer's pages: products, redeeming a license, the consent that lets an
// application read it, changing the plan, and the buyer's licenses. It owns these pages and their
// texts; the domain packages do the work. The pages of the OAuth flow are here, too: package oauth
// decides, this package asks the person.
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

// Shop serves the pages of the shop.
type Shop struct {
	Site     *visitor.Site // with pages made by NewPages
	Partners *partner.Store
	Licenses *license.Store
	Webhooks *webhook.Outbox
	OAuth    *oauth.Server
	Payments *payment.Store // may be turned off
	Now      func() time.Time

	// WaitAtMost is the maximum wait for the first attempt to deliver the event of a license before
	// its buyer is redirected to the application. A page is shown after ShowAfter: one that
	// disappears immediately would only distract.
	ShowAfter, WaitAtMost time.Duration

	TestMoney bool // plans without a checkout are sold for test money
	Guests    bool // people without an account can buy: emails can be sent

	// Throttle limits how often a client may start a purchase without an account. Nil: no limits.
	Throttle *ui.Throttle
}

//go:embed all:templates
var files embed.FS

var templates = sync.OnceValues(func() (*ui.Pages, error) {
	return ui.New(files, template.FuncMap{"plan": partner.Plan.DisplayName, "icon": iconOf}, "templates/*.html")
})

// NewPages returns the page templates for a marketplace with this name and URL.
func NewPages(brand, publicURL string) (*ui.Pages, error) {
	p, err := templates()
	if err != nil {
		return nil, err
	}
	return p.For(brand, publicURL), nil
}

// Routes returns the routes of the pages.
func (s *Shop) Routes() []wire.Route {
	return slices.Concat(s.buyingRoutes(), s.refundRoutes(), s.connectingRoutes(), s.paymentRoutes())
}

// public returns the route of a public page.
func (s *Shop) public(method, path string, h visitor.Handler) wire.Route {
	return s.Site.Route(method, path, visitor.Anyone, withPause(h))
}

// signedIn returns the route of a page for signed-in visitors; others sign in first, then return.
func (s *Shop) signedIn(method, path string, h visitor.Handler) wire.Route {
	return s.Site.Route(method, path, visitor.SignedIn, withPause(h))
}

// withPause replaces the error of a paused partner, which has the operator's reason, by errPaused.
func withPause(h visitor.Handler) visitor.Handler {
	return func(w http.ResponseWriter, r *http.Request, v *visitor.Visitor) error {
		err := h(w, r, v)
		if fault.Is(err, partner.CodePartnerPaused) {
			return errPaused()
		}
		return err
	}
}

// errPaused tells a buyer that the partner is paused.
func errPaused() error {
	return fault.New(
		fault.Conflict,
		partner.CodePartnerPaused,
		"This application is not available right now, and nothing was changed. You keep the licenses that you have. "+
			"Try again later.",
	)
}

// secretPath marks routes with the redemption id of a license in their path: anyone with the id of
// an unclaimed license can claim it.
func secretPath(routes ...wire.Route) []wire.Route {
	for i := range routes {
		routes[i].SecretPath = true
	}
	return routes
}
