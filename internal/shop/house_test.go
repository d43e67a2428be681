package shop_test

import (
	"bytes"
	"context"
	"crypto/tls"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"claviger/internal/account"
	"claviger/internal/audit"
	"claviger/internal/courier"
	"claviger/internal/event"
	"claviger/internal/httpd"
	"claviger/internal/license"
	"claviger/internal/mail"
	"claviger/internal/oauth"
	"claviger/internal/partner"
	"claviger/internal/profile"
	"claviger/internal/secret"
	"claviger/internal/shop"
	"claviger/internal/signin"
	"claviger/internal/sqldb"
	"claviger/internal/sqldb/sqldbtest"
	"claviger/internal/ui"
	"claviger/internal/visitor"
	"claviger/internal/webhook"
	"claviger/internal/wire"
)

var tester = audit.System("test")

// house is the door on a database of its own, with one partner that sells the
// tiers 1 to 3, served over real HTTP. At the end of each test its log is searched
// for what must not be there.
type house struct {
	testing.TB
	db      *sqldb.DB
	shop    *shop.Shop
	signin  *signin.Handler
	url     string
	tls     *tls.Config // nil: plain HTTP
	partner partner.Partner
	keys    partner.Credentials

	start    time.Time
	ahead    atomic.Int64 // nanoseconds
	clients  atomic.Int64
	log      journal
	secrets  []string
	redirect string // the partner's saved redirect URL
}

// now is a clock that stands still but for advance.
func (h *house) now() time.Time { return h.start.Add(time.Duration(h.ahead.Load())) }

func (h *house) advance(d time.Duration) { h.ahead.Add(int64(d)) }

// in has what fails fail in the test t, and not in the one that built the house.
func (h *house) in(t *testing.T) *house {
	before := h.TB
	h.TB = t
	t.Cleanup(func() { h.TB = before })
	return h
}

// build builds a house that is reached by http.
func build(t testing.TB) *house {
	t.Helper()
	h := furnish(t, false)
	proxies, err := httpd.ParseProxies([]string{"127.0.0.0/8"})
	if err != nil {
		t.Fatal(err)
	}
	s := &httpd.Server{Address: "127.0.0.1:0", Proxies: proxies, Log: slog.New(slog.NewJSONHandler(&h.log, nil))}
	var handler http.Handler
	s.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { handler.ServeHTTP(w, r) })
	if err := s.Listen(t.Context()); err != nil {
		t.Fatal(err)
	}
	h.url = "http://" + s.Addr()
	handler = h.open()
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

// buildSecure builds a house that is reached by https.
func buildSecure(t testing.TB) *house {
	t.Helper()
	h := furnish(t, true)
	var handler http.Handler
	s := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { handler.ServeHTTP(w, r) }))
	t.Cleanup(s.Close)
	h.url, h.tls = s.URL, s.Client().Transport.(*http.Transport).TLSClientConfig
	handler = h.open()
	return h
}

// furnish makes the rooms and what every test starts from.
func furnish(t testing.TB, secure bool) *house {
	t.Helper()
	h := &house{TB: t, db: sqldbtest.Open(t), start: time.Now().UTC().Truncate(time.Second), redirect: "https://tide.example/in"}
	box, err := secret.NewSealer(make([]byte, secret.KeySize))
	if err != nil {
		t.Fatal(err)
	}
	client := courier.New(courier.Options{AllowPrivate: true})
	t.Cleanup(client.Close)
	partners := &partner.Registry{DB: h.db, Sealer: box, Now: h.now}
	profiles := &profile.Book{DB: h.db, Partners: partners, Now: h.now, Check: profile.Checker{Client: client}}
	outbox := &webhook.Outbox{DB: h.db, Now: h.now}
	profiles.Moved = outbox.Revive
	licenses := &license.Registry{DB: h.db, Now: h.now, Events: &event.Log{DB: h.db}}
	accounts := &account.Book{DB: h.db, Now: h.now, Mail: &mail.Outbox{Sealer: box}}
	authorization := &oauth.Server{
		DB: h.db, Sealer: box, Now: h.now, Partners: partners, Profiles: profiles, Licenses: licenses,
		Keys: &oauth.Keys{DB: h.db, Sealer: box, Now: h.now, Grace: 2 * time.Hour},
		Life: oauth.Lifetimes{Code: 10 * time.Minute, Access: time.Hour, Refresh: 30 * 24 * time.Hour},
	}
	sessions := ui.NewSessions(&account.Sessions{DB: h.db, Now: h.now}, secure)
	h.signin = &signin.Handler{
		Site: &visitor.Site{Sessions: sessions, Accounts: accounts}, Accounts: accounts, Partners: partners, Licenses: licenses,
		OAuth: authorization, Sealer: box, Now: h.now, Throttle: ui.NewThrottle(h.now),
	}
	h.shop = &shop.Shop{
		Site: &visitor.Site{Sessions: sessions, Accounts: accounts}, Partners: partners, Licenses: licenses,
		Webhooks: outbox, OAuth: authorization, Now: h.now, TestMoney: true,
	}
	h.partner, _, h.keys, err = profiles.Enrol(t.Context(), tester, partner.Draft{Name: "Tide Planner"}, profile.URLs{
		Redirect: h.redirect, Connection: profile.Connection{IDTokenAlg: new(profile.ES256)},
	}, false, partner.Credentials{})
	if err != nil {
		t.Fatal(err)
	}
	for tier := 1; tier <= 3; tier++ {
		plan := partner.Plan{Tier: tier, Name: fmt.Sprintf("Plan %d", tier), PriceCents: int64(tier) * 4900, Currency: "USD"}
		if _, _, err := partners.PutPlan(t.Context(), tester, h.partner.ID, plan); err != nil {
			t.Fatal(err)
		}
	}
	return h
}

// open is the door as it is served under h.url.
func (h *house) open() http.Handler {
	h.Helper()
	var err error
	if h.shop.Site.Pages, err = shop.NewPages("Harbour", h.url); err != nil {
		h.Fatal(err)
	}
	if h.signin.Site.Pages, err = signin.NewPages("Harbour", h.url); err != nil {
		h.Fatal(err)
	}
	h.signin.Accounts.PublicURL, h.shop.OAuth.Issuer = h.url, h.url
	mux := wire.NewMux(append(h.routes(), ui.Assets()...)...)
	mux.Else = h.shop.Site.Pages.NotFound()
	return mux
}

// routes is the table of all pages.
func (h *house) routes() []wire.Route { return append(h.signin.Routes(), h.shop.Routes()...) }

// user makes a user with a password, or without one when it is "".
func (h *house) user(email, password string) account.User {
	h.Helper()
	u, _, err := h.signin.Accounts.Create(h.Context(), tester, account.Person{Email: email})
	if err != nil {
		h.Fatal(err)
	}
	if password == "" {
		return u
	}
	h.secret(password)
	hash, err := account.NewPassword(h.Context(), password)
	if err != nil {
		h.Fatal(err)
	}
	err = h.db.Write(h.Context(), func(tx *sqldb.Tx) error {
		return account.SetPassword(h.Context(), tx, tester, u.ID, hash, h.now())
	})
	if err != nil {
		h.Fatal(err)
	}
	return u
}

// sell sells a license of a tier, to nobody in particular when email is "".
func (h *house) sell(email string, tier int) license.License {
	h.Helper()
	p := license.Purchase{PartnerID: h.partner.ID, Tier: tier, Quantity: 1, AmountCents: int64(tier) * 4900, Currency: "USD", ExternalID: secret.UUID()}
	if email != "" {
		p.Buyer = &account.Person{Email: email}
	}
	var sold license.License
	if _, err := h.shop.Licenses.Purchase(h.Context(), tester, p, func(s license.Sale) []byte {
		sold = s.Licenses[0]
		return nil
	}); err != nil {
		h.Fatal(err)
	}
	return sold
}

// mails are all mails to an address, newest first.
func (h *house) mails(to string) []mail.Record {
	h.Helper()
	if _, err := (&account.LinkMailer{Book: h.signin.Accounts}).Round(h.Context()); err != nil {
		h.Fatal(err)
	}
	all, err := h.signin.Accounts.Mail.Recent(h.Context(), h.db, 1000)
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

// link is the path of the link in the newest mail to an address.
func (h *house) link(to string) string {
	h.Helper()
	mails := h.mails(to)
	if len(mails) == 0 {
		h.Fatalf("no mail was sent to %s", to)
	}
	_, rest, ok := strings.Cut(mails[0].Text, h.url+"/sign-in/link?token=")
	if !ok {
		h.Fatalf("the mail has no link in it:\n%s", mails[0].Text)
	}
	token := strings.Fields(rest)[0]
	h.secret(token)
	return "/sign-in/link?token=" + token
}

// secret names something that must not be in the log.
func (h *house) secret(value string) { h.secrets = append(h.secrets, value) }

func (h *house) searchLog() {
	h.Helper()
	text := h.log.String()
	if h.clients.Load() > 0 && !strings.Contains(text, `"msg":"request"`) {
		h.Error("the log holds no requests, so it proves nothing")
	}
	for _, s := range h.secrets {
		if s != "" && strings.Contains(text, s) {
			h.Errorf("the log holds the secret %q", s)
		}
	}
}

// journal is a log that is written by many.
type journal struct {
	mu   sync.Mutex
	text bytes.Buffer
}

// Write adds to the log.
func (j *journal) Write(b []byte) (int, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.text.Write(b)
}

func (j *journal) String() string {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.text.String()
}

// browser makes a browser with cookies and an address of its own. It follows no
// redirects by itself.
func (h *house) browser() *browser {
	h.Helper()
	jar, err := cookiejar.New(nil)
	if err != nil {
		h.Fatal(err)
	}
	transport := &http.Transport{TLSClientConfig: h.tls}
	h.Cleanup(transport.CloseIdleConnections)
	n := h.clients.Add(1)
	return &browser{house: h, jar: jar, address: fmt.Sprintf("192.0.2.%d", n), client: &http.Client{
		Jar: jar, Transport: transport, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
}
