// Package pagetest serves the pages of the shop and of signing in for tests: on its own database,
// over real HTTP, with browsers that keep cookies and check the rules of every page.
package pagetest

import (
	"context"
	"crypto/tls"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"claviger/internal/account"
	"claviger/internal/answers"
	"claviger/internal/app"
	"claviger/internal/apptest"
	"claviger/internal/httpd"
	"claviger/internal/license"
	"claviger/internal/mail"
	"claviger/internal/partner"
	"claviger/internal/profile"
	"claviger/internal/secret"
	"claviger/internal/shop"
	"claviger/internal/signin"
	"claviger/internal/sqldb"
	"claviger/internal/ui"
	"claviger/internal/visitor"
	"claviger/internal/wire"
)

// Tester acts for tests in the audit.
var Tester = apptest.Tester

// The usual buyer.
const (
	Ann      = "ann@example.com"
	Eve      = "eve@example.com" // another person
	Password = "correct horse battery"
)

// Service serves the pages with one partner that sells the tiers 1 to 3. At the end of each test
// its log is searched for secrets.
type Service struct {
	testing.TB
	DB          *sqldb.DB
	Shop        *shop.Shop
	SignIn      *signin.Handler
	URL         string
	tls         *tls.Config // nil: plain HTTP
	Partner     partner.Partner
	Credentials partner.Credentials

	clock       *apptest.Clock
	clients     atomic.Int64
	Log         apptest.Log
	secrets     []string
	RedirectURL string // the partner's saved redirect URL
}

// Now returns the time of a clock that only Advance moves.
func (h *Service) Now() time.Time { return h.clock.Now() }

// Advance moves the clock.
func (h *Service) Advance(d time.Duration) { h.clock.Advance(d) }

// In reports failures in the test t from now on, and not in the one that created the service.
func (h *Service) In(t *testing.T) *Service {
	before := h.TB
	h.TB = t
	t.Cleanup(func() { h.TB = before })
	return h
}

// New serves the pages over HTTP.
func New(t testing.TB) *Service {
	t.Helper()
	h := newService(t, false)
	proxies, err := httpd.ParseProxies([]string{"127.0.0.0/8"})
	if err != nil {
		t.Fatal(err)
	}
	s := &httpd.Server{Address: "127.0.0.1:0", Proxies: proxies, Log: slog.New(slog.NewJSONHandler(&h.Log, nil))}
	var handler http.Handler
	s.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { handler.ServeHTTP(w, r) })
	if err := s.Listen(t.Context()); err != nil {
		t.Fatal(err)
	}
	h.URL = "http://" + s.Addr()
	handler = h.handler()
	ctx, stop := context.WithCancel(context.WithoutCancel(t.Context()))
	ended := make(chan error, 1)
	go func() { ended <- s.Run(ctx) }()
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			t.Errorf("stop: %v", err)
		}
		h.searchLog()
	})
	return h
}

// NewSecure serves the pages over HTTPS.
func NewSecure(t testing.TB) *Service {
	t.Helper()
	h := newService(t, true)
	var handler http.Handler
	s := httptest.NewTLSServer(
		http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { handler.ServeHTTP(w, r) }),
	)
	t.Cleanup(s.Close)
	h.URL, h.tls = s.URL, s.Client().Transport.(*http.Transport).TLSClientConfig
	handler = h.handler()
	return h
}

// At returns browsers for an application that runs at a URL, such as that of apptest. The fields of
// the pages are not set.
func At(t testing.TB, url string, db *sqldb.DB) *Service {
	return &Service{TB: t, URL: url, DB: db, clock: &apptest.Clock{}}
}

// newService creates the domain services and the initial data of every test.
func newService(t testing.TB, secure bool) *Service {
	t.Helper()
	start := time.Now().UTC().Truncate(time.Second)
	clock := apptest.StoppedClock(start)
	a := apptest.New(t, clock.Set, func(cfg *app.Config) {
		cfg.CodeLife = 10 * time.Minute
		cfg.AccessLife = time.Hour
		cfg.RefreshLife = 30 * 24 * time.Hour
	})
	h := &Service{TB: t, DB: a.DB, clock: clock, RedirectURL: "https://tide.example/in"}
	a.OAuth.Keys.Grace = 2 * time.Hour
	sessions := ui.NewSessions(&account.Sessions{DB: h.DB, Now: h.Now}, secure)
	a.Mail.Off = nil // there is no mail server, and tests read the queue
	h.SignIn = &signin.Handler{
		Site: &visitor.Site{
			Sessions: sessions,
			Accounts: a.Accounts,
			Partners: a.Partners,
		}, Accounts: a.Accounts, Merges: a.Merges, Partners: a.Partners, Licenses: a.Licenses,
		OAuth: a.OAuth, Sealer: a.OAuth.Sealer, Now: h.Now, Throttle: ui.NewThrottle(h.Now),
		Data: &answers.Person{
			Accounts: a.Accounts, Partners: a.Partners, Licenses: a.Licenses, OAuth: a.OAuth, Payments: a.Payments,
			Now: h.Now,
		},
	}
	h.Shop = &shop.Shop{
		Site: &visitor.Site{
			Sessions: sessions,
			Accounts: a.Accounts,
			Partners: a.Partners,
		}, Partners: a.Partners, Licenses: a.Licenses,
		Webhooks: a.Webhooks, OAuth: a.OAuth, Payments: a.Payments, Now: h.Now, TestMoney: true,
		Guests: true, Throttle: h.SignIn.Throttle,
	}
	h.Partner, h.Credentials = a.Partner("Tide Planner", profile.URLs{
		Redirect: h.RedirectURL, Connection: profile.Connection{IDTokenAlg: new(profile.ES256)},
	})
	for tier := 1; tier <= 3; tier++ {
		plan := partner.Plan{
			Tier:       tier,
			Name:       fmt.Sprintf("Plan %d", tier),
			PriceCents: int64(tier) * 4900,
			Currency:   "USD",
		}
		if _, _, err := a.Partners.PutPlan(t.Context(), Tester, h.Partner.ID, plan); err != nil {
			t.Fatal(err)
		}
	}
	return h
}

// handler serves the pages under h.URL.
func (h *Service) handler() http.Handler {
	h.Helper()
	var err error
	if h.Shop.Site.Pages, err = shop.NewPages("Harbour", h.URL); err != nil {
		h.Fatal(err)
	}
	if h.SignIn.Site.Pages, err = signin.NewPages("Harbour", h.URL); err != nil {
		h.Fatal(err)
	}
	h.SignIn.Accounts.PublicURL = h.URL
	h.Shop.OAuth.Issuer = h.URL
	mux := wire.NewMux(append(h.Routes(), ui.Assets()...)...)
	mux.Else = h.Shop.Site.Pages.NotFound()
	return mux
}

// Routes returns the routes of all pages.
func (h *Service) Routes() []wire.Route { return append(h.SignIn.Routes(), h.Shop.Routes()...) }

// AddUser creates a user, without a password if it is "".
func (h *Service) AddUser(email, password string) account.User {
	h.Helper()
	u, _, err := h.SignIn.Accounts.Create(h.Context(), Tester, account.Person{Email: email})
	if err != nil {
		h.Fatal(err)
	}
	if password == "" {
		return u
	}
	h.AddSecret(password)
	hash, err := h.SignIn.Accounts.NewPassword(h.Context(), email, password)
	if err != nil {
		h.Fatal(err)
	}
	err = h.DB.Write(h.Context(), func(tx *sqldb.Tx) error {
		return account.SetPassword(h.Context(), tx, Tester, u.ID, hash, h.Now())
	})
	if err != nil {
		h.Fatal(err)
	}
	return u
}

// Sell sells a license of a tier, without an owner if email is "".
func (h *Service) Sell(email string, tier int) license.License {
	h.Helper()
	p := license.Purchase{
		PartnerID:   h.Partner.ID,
		Tier:        tier,
		Quantity:    1,
		AmountCents: int64(tier) * 4900,
		Currency:    "USD",
		ExternalID:  secret.UUID(),
	}
	if email != "" {
		p.Buyer = &account.Person{Email: email}
	}
	sold, err := h.Shop.Licenses.Purchase(h.Context(), Tester, p)
	if err != nil {
		h.Fatal(err)
	}
	return sold.Licenses[0]
}

// Emails returns all emails to an address, newest first.
func (h *Service) Emails(to string) []mail.Record {
	h.Helper()
	if _, err := (&account.LinkMailer{Store: h.SignIn.Accounts}).Round(h.Context()); err != nil {
		h.Fatal(err)
	}
	all, err := h.SignIn.Accounts.Mail.Recent(h.Context(), h.DB, 1000)
	if err != nil {
		h.Fatal(err)
	}
	var list []mail.Record
	for _, m := range all {
		if m.To == to {
			list = append(list, m)
		}
	}
	return list
}

// MailedLink returns the path of the newest link that was emailed to an address.
func (h *Service) MailedLink(to string) string {
	h.Helper()
	for _, m := range h.Emails(to) {
		if _, rest, ok := strings.Cut(m.Text, h.URL+"/sign-in/link?token="); ok {
			token := strings.Fields(rest)[0]
			h.AddSecret(token)
			return "/sign-in/link?token=" + token
		}
	}
	h.Fatalf("no link was mailed to %s", to)
	return ""
}

// AddSecret adds a text that must not be in the log.
func (h *Service) AddSecret(value string) { h.secrets = append(h.secrets, value) }

func (h *Service) searchLog() {
	h.Helper()
	text := h.Log.String()
	if h.clients.Load() > 0 && !strings.Contains(text, `"msg":"request"`) {
		h.Error("the log holds no requests, so it proves nothing")
	}
	for _, s := range h.secrets {
		if s != "" && strings.Contains(text, s) {
			h.Errorf("the log holds the secret %q", s)
		}
	}
}

// AuthorizeRequest returns a request of the application, with parameters changed or
// added by pairs of name and value; the value "" removes one.
func (h *Service) AuthorizeRequest(pairs ...string) url.Values {
	q := Fields([]string{
		"response_type", "code", "client_id", h.Partner.ClientID, "redirect_uri", h.RedirectURL, "scope",
		"openid read_license",
		"state", "a b&c", "nonce", "n-1",
	})
	for name, value := range Fields(pairs) {
		q[name] = value
		if value[0] == "" {
			q.Del(name)
		}
	}
	return q
}

// AuthorizeURL returns the path of a request of the application.
func AuthorizeURL(q url.Values) string { return "/openid/authorize?" + q.Encode() }

// CountSessions returns the number of stored sessions.
func (h *Service) CountSessions() int64 {
	h.Helper()
	n, err := sqldb.One(h.Context(), h.DB, sqldb.Value[int64], `SELECT count(*) FROM sessions`)
	if err != nil {
		h.Fatal(err)
	}
	return n
}

// RedeemPath returns the page that connects a license.
func RedeemPath(l license.License) string { return "/licensing/" + l.RedemptionID + "/redeem/" }
