package app

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"time"

	"claviger/internal/account"
	"claviger/internal/fault"
	"claviger/internal/oauth"
	"claviger/internal/secret"
	"claviger/internal/shop"
	"claviger/internal/sqldb"
	"claviger/internal/ui"
	"claviger/internal/visitor"
	"claviger/internal/wire"
)

// connect makes the room that connects licenses with applications.
func (a *App) connect(r *Services, box *secret.Sealer) *oauth.Server {
	keys := &oauth.Keys{DB: r.DB, Sealer: box, Now: a.cfg.Now}
	return &oauth.Server{
		DB: r.DB, Sealer: box, Now: a.cfg.Now, Partners: r.Partners, Profiles: r.Profiles, Licenses: r.Licenses, Keys: keys,
		Issuer: a.url,
		Life:   oauth.Lifetimes{Code: a.cfg.CodeLife, Access: a.cfg.AccessLife, Refresh: a.cfg.RefreshLife},
	}
}

// prepareKeys makes the keys that sign identity tokens, before somebody waits for
// one: an RSA key takes its time.
func (a *App) prepareKeys(ctx context.Context) {
	if err := a.services.OAuth.Keys.Prepare(ctx); err != nil && ctx.Err() == nil && !errors.Is(err, sqldb.ErrClosed) {
		a.log.Error("the keys that sign identity tokens could not be made; the first sign-in tries again", "err", err)
	}
}

// shop makes the door of the buyer, and with it what all pages share.
func (a *App) shop() (*shop.Shop, error) {
	pages, err := shop.NewPages(a.cfg.Name, a.url)
	if err != nil {
		return nil, err
	}
	r := a.services
	sessions := ui.NewSessions(&account.Sessions{DB: r.DB, Now: a.cfg.Now}, strings.HasPrefix(a.url, "https://"))
	sessions.Fail = pages.Fail
	s := &shop.Shop{
		Site:     &visitor.Site{Pages: pages, Sessions: sessions, Accounts: r.Accounts},
		Accounts: r.Accounts, Partners: r.Partners,
		Licenses: r.Licenses, Webhooks: r.Webhooks, OAuth: r.OAuth, Sealer: r.OAuth.Sealer, Now: a.cfg.Now,
		Glance: 200 * time.Millisecond, Patience: time.Second, TestMoney: a.cfg.TestMoney, Mailbox: a.cfg.Mailbox,
	}
	// The rate limit is about programs: without one, nobody may guess passwords all
	// the same. Where the money is none, as in development, there is nothing to guess.
	if a.cfg.RateLimit > 0 || !a.cfg.TestMoney {
		s.Throttle = ui.NewThrottle(a.cfg.Now)
	}
	return s, nil
}

// nowhere answers addresses that lead nowhere: people with a page, programs with
// JSON.
func nowhere(pages *ui.Pages) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		for _, door := range []string{"/v2/", "/operator/", "/openid/"} {
			if strings.HasPrefix(r.URL.Path, door) {
				wire.Fail(w, r, wire.NotFound())
				return
			}
		}
		if !strings.Contains(r.Header.Get("Accept"), "text/html") {
			wire.Fail(w, r, wire.NotFound())
			return
		}
		pages.Fail(w, r, fault.New(fault.Missing, "not_found",
			"There is no page at this address. Check it for a slip, or start from the front page."))
	})
}
