package app

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"
	"time"

	"claviger/internal/account"
	"claviger/internal/api"
	"claviger/internal/console"
	"claviger/internal/docsite"
	"claviger/internal/fault"
	"claviger/internal/oauth"
	"claviger/internal/operator"
	"claviger/internal/portal"
	"claviger/internal/secret"
	"claviger/internal/shop"
	"claviger/internal/signin"
	"claviger/internal/sqldb"
	"claviger/internal/ui"
	"claviger/internal/visitor"
	"claviger/internal/wire"
)

// connect creates the service that connects licenses with applications.
func (a *App) connect(r *Services, box *secret.Sealer) *oauth.Server {
	keys := &oauth.Keys{DB: r.DB, Sealer: box, Now: a.cfg.Now}
	return &oauth.Server{
		DB: r.DB, Sealer: box, Now: a.cfg.Now, Partners: r.Partners, Profiles: r.Profiles, Licenses: r.Licenses,
		Keys: keys, Issuer: a.url,
		Life: oauth.Lifetimes{Code: a.cfg.CodeLife, Access: a.cfg.AccessLife, Refresh: a.cfg.RefreshLife},
	}
}

// prepareKeys creates the signing keys of identity tokens before the first request: an RSA key
// takes a while.
func (a *App) prepareKeys(ctx context.Context) error {
	err := a.services.OAuth.Keys.Prepare(ctx)
	if err != nil && ctx.Err() == nil && !errors.Is(err, sqldb.ErrClosed) {
		a.log.Error("the keys that sign identity tokens could not be made; the first sign-in tries again", "err", err)
	}
	return err
}

// descriptions lists the APIs that the guides describe.
func descriptions() []docsite.API {
	return []docsite.API{
		{Title: "Partner API", URL: "/v2/openapi.json", Description: api.Description()},
		{Title: "OAuth and OpenID", URL: "/openid/openapi.json", Description: oauth.Description()},
		{Title: "Operator API", URL: "/operator/v1/openapi.json", Description: operator.Description()},
	}
}

// pages returns the routes of all pages, and the handler of unknown paths. All page packages share
// the sessions.
func (a *App) pages() ([]wire.Route, http.Handler, error) {
	imprint, err := a.cfg.imprint()
	if err != nil {
		return nil, nil, err
	}
	var shopPages, signinPages, portalPages, consolePages, docPages *ui.Pages
	for _, load := range []struct {
		pages **ui.Pages
		read  func(brand, publicURL string) (*ui.Pages, error)
	}{
		{&shopPages, shop.NewPages},
		{&signinPages, signin.NewPages},
		{&portalPages, portal.NewPages},
		{&consolePages, console.NewPages},
		{&docPages, docsite.NewPages},
	} {
		if *load.pages, err = load.read(a.cfg.Name, a.url); err != nil {
			return nil, nil, err
		}
		(*load.pages).Imprint = imprint
	}
	r := a.services
	r.Mail.Look.Accent, r.Mail.Look.SupportURL = imprint.Accent.Light(), imprint.SupportURL
	if at := imprint.Logo.Path(); at != "" {
		r.Mail.Look.Logo = a.url + at
	}
	sessions := ui.NewSessions(&account.Sessions{DB: r.DB, Now: a.cfg.Now}, strings.HasPrefix(a.url, "https://"))
	sessions.Pages, sessions.Now = shopPages, a.cfg.Now
	sessions.StaffLife, sessions.StaffIdle = a.cfg.StaffLife, a.cfg.StaffIdle
	site := func(pages *ui.Pages) *visitor.Site {
		s := &visitor.Site{Pages: pages, Sessions: sessions, Accounts: r.Accounts, Partners: r.Partners}
		s.FrameErrors()
		return s
	}
	people := &signin.Handler{
		Site: site(signinPages), Accounts: r.Accounts, Merges: r.Merges, Partners: r.Partners, Licenses: r.Licenses,
		OAuth: r.OAuth, Sealer: r.OAuth.Sealer, Now: a.cfg.Now, Mailbox: a.cfg.Mailbox, Data: a.personData(),
	}
	// The rate limit is for programs; password guessing is limited even without it. With test
	// money, as in development, there is nothing to guess.
	if a.cfg.RateLimit > 0 || !a.cfg.TestMoney {
		people.Throttle = ui.NewThrottle(a.cfg.Now)
	}
	buyers := &shop.Shop{
		Site: site(shopPages), Partners: r.Partners, Licenses: r.Licenses, Webhooks: r.Webhooks, OAuth: r.OAuth,
		Payments: r.Payments, Now: a.cfg.Now, ShowAfter: 200 * time.Millisecond, WaitAtMost: time.Second,
		TestMoney: a.cfg.TestMoney, Guests: a.sendsMail(), Throttle: people.Throttle,
	}
	members := &portal.Handler{
		Site: site(portalPages), Partners: r.Partners, Profiles: r.Profiles, Checks: r.Checks, Licenses: r.Licenses,
		Events: r.Events, Webhooks: r.Webhooks, Audit: r.Audit, Inviter: r.Inviter, TestMail: r.TestMail,
		Requests: r.Requests, History: r.History, Stats: r.Stats, Revenue: r.Revenue, Policy: a.policy(),
		Simulator: r.Simulator, Streams: &a.streams, Now: a.cfg.Now, Redeliveries: r.Redeliveries, Exports: r.Exports,
		RefundRequests: r.Payments.Requests, Statements: r.Statements, Payouts: r.Payouts,
	}
	members.Live = portal.NewLive(members, a.log)
	guides := &docsite.Handler{Site: site(docPages), APIs: descriptions()}
	return slices.Concat(people.Routes(), buyers.Routes(), members.Routes(), a.console(site(consolePages)).Routes(),
		guides.Routes(), ui.Assets(), imprint.Routes(), wellKnown()), notFound(shopPages), nil
}

// notFound answers unknown paths: people with a page, programs with JSON.
func notFound(pages *ui.Pages) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		for _, api := range []string{"/v2/", "/operator/", "/openid/"} {
			if strings.HasPrefix(r.URL.Path, api) {
				wire.Fail(w, r, wire.NotFound())
				return
			}
		}
		if !strings.Contains(r.Header.Get("Accept"), "text/html") {
			wire.Fail(w, r, wire.NotFound())
			return
		}
		pages.Fail(w, r, fault.New(fault.Missing, wire.CodeNotFound,
			"There is no page at this address. Check for a typo, or start from the front page."))
	})
}

// robots allows search engines to index the products, and nothing about people.
const robots = `User-agent: *
Allow: /$
Allow: /?page=
Allow: /products/
Allow: /docs/
Allow: /llms.txt
Allow: /assets/
Allow: /brand/
Disallow: /
`

// wellKnown returns the routes that browsers and other programs expect on every site.
func wellKnown() []wire.Route {
	leads := func(from, to string) wire.Route {
		return wire.Public(http.MethodGet, from, func(w http.ResponseWriter, r *http.Request) error {
			w.Header().Set("Cache-Control", "public, max-age=3600")
			http.Redirect(w, r, to, http.StatusFound)
			return nil
		})
	}
	return []wire.Route{
		wire.Public(http.MethodGet, "/robots.txt", func(w http.ResponseWriter, _ *http.Request) error {
			w.Header().Set("Cache-Control", "public, max-age=3600")
			return wire.Text(w, http.StatusOK, robots)
		}),
		leads("/favicon.ico", ui.Favicon()),
		leads("/.well-known/change-password", signin.PasswordPath),
	}
}
