// Package app builds the service from a Config and runs it. It is the only package that knows every
// domain package and every HTTP package, and the only one that reads settings. It decides the order
// of start and stop.
package app

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"net/http"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"claviger/internal/account"
	"claviger/internal/accounting"
	"claviger/internal/answers"
	"claviger/internal/api"
	"claviger/internal/audit"
	"claviger/internal/bulk"
	"claviger/internal/cluster"
	"claviger/internal/courier"
	"claviger/internal/dispatch"
	"claviger/internal/event"
	"claviger/internal/export"
	"claviger/internal/httpd"
	"claviger/internal/job"
	"claviger/internal/ledger"
	"claviger/internal/license"
	"claviger/internal/mail"
	"claviger/internal/merge"
	"claviger/internal/oauth"
	"claviger/internal/operator"
	"claviger/internal/outage"
	"claviger/internal/partner"
	"claviger/internal/payment"
	"claviger/internal/payout"
	"claviger/internal/profile"
	"claviger/internal/redelivery"
	"claviger/internal/release"
	"claviger/internal/requestlog"
	"claviger/internal/revenue"
	"claviger/internal/secret"
	"claviger/internal/simulator"
	"claviger/internal/sqldb"
	"claviger/internal/statement"
	"claviger/internal/stats"
	"claviger/internal/support"
	"claviger/internal/today"
	"claviger/internal/ui"
	"claviger/internal/webhook"
	"claviger/internal/webhook/history"
	"claviger/internal/wire"
)

// Services has every domain service of the application, for programs that call them directly, such
// as the development server and tests.
type Services struct {
	DB           *sqldb.DB
	Audit        *audit.Log
	Partners     *partner.Store
	Inviter      *partner.Inviter
	Accounts     *account.Store
	Profiles     *profile.Store
	TestMail     *outage.TestMailer
	Webhooks     *webhook.Outbox
	History      history.Reader
	Redeliveries *redelivery.Store
	Events       *event.Log
	Licenses     *license.Store
	OAuth        *oauth.Server
	Requests     *requestlog.Log
	Stats        *stats.Store
	Revenue      *revenue.Store
	Mail         *mail.Outbox
	Support      *support.Store
	Today        *today.Store
	Payments     *payment.Store
	Accounting   *accounting.Store
	Payouts      *payout.Store
	Statements   *statement.Store
	Merges       *merge.Store

	Simulator *simulator.Simulator
	Checks    *profile.Runs
	Exports   *export.Exporter
	Bulk      *bulk.Store
}

// App is the service, built and listening.
type App struct {
	cfg        Config
	log        *slog.Logger
	services   *Services
	caller     *courier.Client
	sender     *mail.Sender
	node       *cluster.Node
	dispatcher *dispatch.Dispatcher
	linkMailer *account.LinkMailer
	paymentJob *payment.Job
	runs       *job.Log
	server     *httpd.Server
	guard      *guard
	streams    ui.Streams
	tracing    *sdktrace.TracerProvider // nil: no tracing
	url        string

	certificate *certificate

	jobs     sync.WaitGroup
	stopJobs context.CancelFunc // nil until Run
}

// New opens the database, listens, migrates the schema and builds the service. It answers nothing
// until Run.
func New(ctx context.Context, cfg Config) (*App, error) {
	cfg.Log = cfg.logger()
	db, err := Open(ctx, cfg)
	if err != nil {
		return nil, err
	}
	a, err := NewOn(ctx, db, cfg)
	if err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return a, nil
}

// NewOn is New on an open database; the App closes it at its end. If it returns an error, the
// database still belongs to the caller.
func NewOn(ctx context.Context, db *sqldb.DB, cfg Config) (*App, error) {
	a := newApp(cfg)
	var err error
	if a.caller, err = a.newCaller(); err != nil {
		return nil, err
	}
	if err := a.startTracing(ctx); err != nil {
		return nil, err
	}
	a.guard = newGuard(db, cfg.logger())
	a.server = a.newServer(db)
	if err := a.server.Listen(ctx); err != nil {
		return nil, err
	}
	if err := a.build(ctx, db); err != nil {
		return nil, errors.Join(err, a.server.Stop(ctx))
	}
	return a, nil
}

// build migrates the schema and builds the service. The ports are bound before, so that a start that
// must fail changes nothing.
func (a *App) build(ctx context.Context, db *sqldb.DB) error {
	cfg := a.cfg
	if err := migrate(ctx, db, cfg); err != nil {
		return err
	}
	if err := ledger.Begin(ctx, db, cfg.Now()); err != nil {
		return err
	}
	box, err := a.sealer(ctx, db)
	if err != nil {
		return err
	}
	if a.url = cfg.PublicURL; a.url == "" {
		a.url = "http://" + reachable(a.server.Addr())
	}
	if cfg.OwnHosts {
		a.server.Hosts = []string{hostOf(a.url), cfg.Addr}
	}
	a.buildServices(db, box)
	routes, err := a.buildRoutes()
	if err != nil {
		return err
	}
	a.server.Handler = a.guard.protect(inRequest(routes))
	if cfg.Wrap != nil {
		a.server.Handler = cfg.Wrap(a.server.Handler)
	}
	return nil
}

// inRequest bounds the waits of requests for the database.
func inRequest(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		next.ServeHTTP(w, r.WithContext(sqldb.InRequest(r.Context())))
	})
}

// newApp sets the fields that every part of the App needs.
func newApp(cfg Config) *App {
	if cfg.Now == nil {
		cfg.Now = Now
	}
	log := cfg.logger()
	return &App{cfg: cfg, log: log, certificate: newCertificate(cfg.PublicURL, cfg.Now, log)}
}

// newServer returns the server. Its handler is set when the port is known.
func (a *App) newServer(db *sqldb.DB) *httpd.Server {
	metrics := prometheus.NewRegistry()
	metrics.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	metrics.MustRegister(buildMetric())
	metrics.MustRegister(databaseMetrics(db)...)
	metrics.MustRegister(a.laneMetrics()...)
	metrics.MustRegister(&backlog{db: db, now: a.cfg.Now}, diskFigures{db}, a.certificate)
	return &httpd.Server{
		Address: a.cfg.Addr, AdminAddress: a.cfg.AdminAddr, PprofAddress: a.cfg.PprofAddr,
		Proxies: a.cfg.TrustedProxies, Version: release.Version,
		Log: a.log, Metrics: metrics, Tracer: a.tracer(),
		// A request that checks a partner's URLs may take this long, plus time to answer.
		Timeouts: httpd.Timeouts{
			Notice: a.cfg.drainDelay(), Drain: a.cfg.ShutdownTimeout, Request: profile.CheckTimeout + 15*time.Second,
		},
		Hurry: a.cfg.Hurry,
		Ready: []httpd.Check{
			{Name: "database", Ask: db.Ping},
			{Name: "writes", Ask: db.CheckWrites},
			{Name: "schema", Ask: a.guard.ready},
			{Name: "webhooks", Ask: func(ctx context.Context) error { return a.node.Ready(ctx) }},
		},
		OnDrain: []func(){a.streams.Close},
		OnLast: []func(){func() {
			if a.services != nil { // nil: the start failed
				a.services.Exports.Close()
			}
		}},
		// After the last request: first the background work, then the database.
		OnStop: []func(context.Context) error{
			a.endJobs,
			a.endTracing,
			func(context.Context) error {
				a.caller.Close()
				return db.Close()
			},
		},
	}
}

// logger returns the configured logger, or one on standard error.
func (c Config) logger() *slog.Logger {
	if c.Log != nil {
		return c.Log
	}
	return c.Logger(os.Stderr)
}

// buildServices creates the domain services.
func (a *App) buildServices(db *sqldb.DB, box *secret.Sealer) {
	a.runs = a.runLog(db)
	a.node = &cluster.Node{DB: db, Log: a.log, Now: a.cfg.Machine, Host: a.runs.Node}
	a.sender = &mail.Sender{DB: db, Now: a.cfg.Now, Sealer: box, Transport: a.cfg.transport(), Log: a.log}
	r := &Services{DB: db, History: history.Reader{DB: db}, Audit: &audit.Log{DB: db}}
	look := mail.Look{Name: a.cfg.Name}
	r.Mail = &mail.Outbox{Sealer: box, Wake: a.node.Waker(mailJob), Off: a.cfg.mailsOff(), Look: look}
	r.Partners = &partner.Store{
		DB: db, Sealer: box, Now: a.cfg.Now, Brand: a.cfg.Brand, Uses: partner.NewUses(db, a.log),
		Pictures: partner.NewPictures(),
	}
	r.Accounts = a.accounts(r, box)
	r.Inviter = &partner.Inviter{Partners: r.Partners, Mail: r.Mail, PublicURL: a.url}
	r.Inviter.Marketplace = cmp.Or(a.cfg.Name, "Claviger")
	r.Partners.Accounts = r.Accounts
	r.Accounts.Serves = partner.Serves
	a.linkMailer = &account.LinkMailer{Store: r.Accounts, Log: a.log}
	r.Accounts.Asked = a.node.Waker(linksJob)
	r.Profiles = &profile.Store{
		DB: db, Partners: r.Partners, Now: a.cfg.Now,
		Check: profile.Checker{Client: a.caller, Often: a.cfg.TestMoney && a.cfg.RateLimit == 0},
	}
	r.TestMail = &outage.TestMailer{
		DB: db, Now: a.cfg.Now, Profiles: r.Profiles, Service: a.service(), Links: a.links(), Mail: r.Mail,
	}
	r.Checks = &profile.Runs{Store: r.Profiles, Log: a.log}
	a.dispatcher = a.buildDispatcher(r)
	r.Webhooks = &webhook.Outbox{DB: db, Now: a.cfg.Now, Tell: a.dispatcher.Tell, Checks: r.Profiles}
	r.Redeliveries = &redelivery.Store{DB: db, Outbox: r.Webhooks, Now: a.cfg.Now}
	r.Partners.Changed = r.Webhooks.Touch
	r.Profiles.Changed = r.Webhooks.FollowProfile
	r.Events = &event.Log{DB: db, Outbox: r.Webhooks}
	r.Simulator = &simulator.Simulator{
		DB: db, Partners: r.Partners, Profiles: r.Profiles, Events: r.Events, History: r.History, Client: a.caller,
		Now: a.cfg.Now, Log: a.log,
	}
	r.Licenses = &license.Store{
		DB: db, Now: a.cfg.Now, Events: r.Events, Gather: &license.Gatherer{}, Log: a.log, Accounts: r.Accounts,
		Tell: a.notices(r.Mail), Defaults: a.cfg.Defaults,
	}
	r.Payments = a.payments(r, box)
	r.Accounting, r.Statements = a.accounting(r), a.statements(r)
	r.Payouts = a.payouts(r, box)
	r.OAuth = a.connect(r, box)
	r.Today = a.today(r)
	r.Stats, r.Revenue = &stats.Store{DB: db, Now: a.cfg.Now}, &revenue.Store{DB: db, Now: a.cfg.Now}
	r.Requests = &requestlog.Log{
		DB: db, Now: a.cfg.Now, Licenses: r.Licenses, Metrics: requestlog.NewMetrics(a.server.Metrics), Logger: a.log,
	}
	a.server.Requests = r.Requests
	r.Exports = a.exporter(r)
	r.Bulk = &bulk.Store{
		DB: db, Now: a.cfg.Now, Licenses: r.Licenses, Partners: r.Partners, Outbox: r.Webhooks, Accounts: r.Accounts,
		Payments: r.Payments, Log: a.log,
	}
	r.Support = r.support()
	a.services = r
}

// accounts returns the store of users.
func (a *App) accounts(r *Services, box *secret.Sealer) *account.Store {
	r.Merges = &merge.Store{DB: r.DB, Now: a.cfg.Now, Accounts: &account.Store{
		DB: r.DB, Now: a.cfg.Now, PublicURL: a.url, Marketplace: a.cfg.Name, Mail: r.Mail, Sealer: box,
		Require: a.cfg.RequireSecondFactor, TokenUses: account.NewTokenUses(r.DB, a.log),
	}}
	return r.Merges.Accounts
}

// guesses is the number of wrong keys or tokens per minute and address before the client is told to
// wait.
const guesses = 60

// redeliveries is the number of single redeliveries per minute and partner.
const redeliveries = 60

// Partners share these resources while they are answered. A quarter of the readers is left for
// authentication and everything else.
const unsent = 32 << 20 // bytes of answers not yet read by their clients

func readersForPartners(db *sqldb.DB) int64 { return int64(max(db.Readers()*3/4, 1)) }

// buildRoutes creates the HTTP packages and combines their routes in one table.
func (a *App) buildRoutes() (*wire.Mux, error) {
	r := a.services
	limit := func(perMinute int) *wire.Limiter { return &wire.Limiter{PerMinute: perMinute, Now: a.cfg.Now} }
	var guard *wire.Guard
	if a.cfg.RateLimit > 0 {
		guard = &wire.Guard{Failures: limit(guesses)}
		r.OAuth.Guard = &wire.Guard{Failures: limit(guesses)}
	}
	common := answers.Common{
		Partners: r.Partners, Licenses: r.Licenses, Events: r.Events, History: r.History, Redeliveries: r.Redeliveries,
		Requests: r.Requests, Exports: r.Exports, Stats: r.Stats, Statements: r.Statements, PublicURL: a.url,
	}
	partners := &api.API{
		Common: common, Webhooks: r.Webhooks, Profiles: r.Profiles,
		Portal: api.Portal{
			Policy: a.policy(), Audit: r.Audit, Accounts: r.Accounts, TestMail: r.TestMail, Simulator: r.Simulator,
		},
		Brand: a.cfg.Brand, Version: ThisBuild().String(), Limit: limit(a.cfg.RateLimit), Guard: guard,
		RedeliveryLimit: limit(redeliveries),
		Readers:         &wire.Share{Total: readersForPartners(r.DB)}, Bytes: &wire.Share{Total: unsent},
	}
	marketplace := &operator.Operator{
		Common: common, Accounts: r.Accounts, Accounting: r.Accounting, Payouts: r.Payouts,
		Merges: r.Merges, Profiles: r.Profiles,
		Webhooks: r.Webhooks,
		Audit:    r.Audit, Support: r.Support, Data: a.personData(),
		TestMail: r.TestMail, Payments: r.Payments, Guard: guard, Batches: &wire.Share{Total: 8}, Bulk: r.Bulk,
		Service: operator.Service{
			DB: r.DB, Today: r.Today, Mail: r.Mail, Keys: r.OAuth.Keys, Stats: r.Stats, Revenue: r.Revenue,
			Settings: a.settings(),
		},
	}
	pages, notFound, err := a.pages()
	if err != nil {
		return nil, err
	}
	mux := wire.NewMux(slices.Concat(partners.Routes(), marketplace.Routes(), r.OAuth.Routes(), pages, a.cfg.Extra)...)
	mux.Else = notFound
	mux.Unmatched = func(req *http.Request) {
		partners.Identify(req)
		r.OAuth.Identify(req)
	}
	return mux, nil
}

// Services returns the domain services.
func (a *App) Services() *Services { return a.services }

// Addr returns the listening address with its actual port.
func (a *App) Addr() string { return a.server.Addr() }

// AdminAddr returns the address of metrics and health, or "".
func (a *App) AdminAddr() string { return a.server.AdminAddr() }

// PprofAddr returns the address of profiles, or "".
func (a *App) PprofAddr() string { return a.server.PprofAddr() }

// URL returns the public URL of the service, without a trailing slash.
func (a *App) URL() string { return a.url }
