// Package app builds the service from a Config and runs it: it is the only package that
// knows every domain package and every HTTP package, and the only one that reads
// settings. It decides in which order things start and stop.
package app

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"claviger/internal/account"
	"claviger/internal/api"
	"claviger/internal/audit"
	"claviger/internal/bulk"
	"claviger/internal/cluster"
	"claviger/internal/courier"
	"claviger/internal/dispatch"
	"claviger/internal/event"
	"claviger/internal/export"
	"claviger/internal/httpd"
	"claviger/internal/idempotency"
	"claviger/internal/job"
	"claviger/internal/license"
	"claviger/internal/mail"
	"claviger/internal/oauth"
	"claviger/internal/operator"
	"claviger/internal/outage"
	"claviger/internal/partner"
	"claviger/internal/payment"
	"claviger/internal/profile"
	"claviger/internal/replay"
	"claviger/internal/requestlog"
	"claviger/internal/secret"
	"claviger/internal/simulator"
	"claviger/internal/sqldb"
	"claviger/internal/stats"
	"claviger/internal/support"
	"claviger/internal/today"
	"claviger/internal/ui"
	"claviger/internal/webhook"
	"claviger/internal/webhook/history"
	"claviger/internal/wire"
)

// Services is every domain service of the application, for programs that call them
// directly, such as the development server and tests.
type Services struct {
	DB       *sqldb.DB
	Audit    *audit.Log
	Partners *partner.Registry
	Inviter  *partner.Inviter
	Accounts *account.Book
	Profiles *profile.Book
	TestMail *outage.TestMailer
	Webhooks *webhook.Outbox
	History  history.Reader
	Replays  *replay.Jobs
	Events   *event.Log
	Licenses *license.Registry
	OAuth    *oauth.Server
	Requests *requestlog.Log
	Stats    *stats.Book
	Outcomes *idempotency.Pruner
	Mail     *mail.Outbox
	Support  *support.Desk
	Today    *today.Book
	Payments *payment.Book

	Simulator *simulator.Simulator
	Checks    *profile.Runs
	Exports   *export.Exporter
	Bulk      *bulk.Jobs
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
	streams    ui.Streams
	tracing    *sdktrace.TracerProvider // nil: nothing is traced
	url        string

	jobs     sync.WaitGroup
	stopJobs context.CancelFunc // nil until Run
}

// New opens the database, brings its schema up to date, builds the service and
// listens. Nothing is answered until Run.
func New(ctx context.Context, cfg Config) (*App, error) {
	cfg.Log = cfg.logger()
	db, err := OpenMigrated(ctx, cfg)
	if err != nil {
		return nil, err
	}
	a, err := NewOn(ctx, db, cfg)
	if err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return a, nil
}

// NewOn is New on a database that is open and up to date; the App closes it
// at its end. On an error the database stays the caller's.
func NewOn(ctx context.Context, db *sqldb.DB, cfg Config) (*App, error) {
	a := newApp(cfg)
	box, err := a.sealer(ctx, db)
	if err != nil {
		return nil, err
	}
	if a.caller, err = a.newCaller(); err != nil {
		return nil, err
	}
	if err := a.startTracing(ctx); err != nil {
		return nil, err
	}
	a.server = a.newServer(db)
	if err := a.server.Listen(ctx); err != nil {
		return nil, err
	}
	if a.url = cfg.PublicURL; a.url == "" {
		a.url = "http://" + reachable(a.server.Addr())
	}
	if cfg.OwnHosts {
		a.server.Hosts = []string{hostOf(a.url), cfg.Addr}
	}
	a.buildServices(db, box)
	if a.server.Handler, err = a.buildRoutes(); err != nil {
		return nil, errors.Join(err, a.server.Stop(ctx))
	}
	if cfg.Wrap != nil {
		a.server.Handler = cfg.Wrap(a.server.Handler)
	}
	return a, nil
}

// newApp sets what every part of the App needs.
func newApp(cfg Config) *App {
	if cfg.Now == nil {
		cfg.Now = Now
	}
	return &App{cfg: cfg, log: cfg.logger()}
}

// newServer is what listens; which handler it has is known when the port is.
func (a *App) newServer(db *sqldb.DB) *httpd.Server {
	metrics := prometheus.NewRegistry()
	metrics.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	metrics.MustRegister(databaseMetrics(db)...)
	metrics.MustRegister(a.laneMetrics()...)
	metrics.MustRegister(&backlog{db: db, now: a.cfg.Now})
	return &httpd.Server{
		Address: a.cfg.Addr, AdminAddress: a.cfg.AdminAddr, Proxies: a.cfg.TrustedProxies,
		Log: a.log, Metrics: metrics, Tracer: a.tracer(), Finished: a.logRequest,
		// A request that checks a partner's URLs has that long for it, and to answer.
		Timeouts: httpd.Timeouts{Drain: a.cfg.ShutdownTimeout, Request: profile.CheckTimeout + 15*time.Second},
		Ready: []httpd.Check{
			{Name: "database", Ask: db.Ping},
			{Name: "schema", Ask: func(ctx context.Context) error { return current(ctx, db) }},
			{Name: "webhooks", Ask: func(ctx context.Context) error { return a.node.Ready(ctx) }},
		},
		OnDrain: []func(){a.streams.Close, func() { a.services.Exports.Close() }},
		// After the last request: first what works on its own, then the database.
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

// logger is the one that is set, or one on standard error.
func (c Config) logger() *slog.Logger {
	if c.Log != nil {
		return c.Log
	}
	return c.Logger(os.Stderr)
}

// buildServices makes the domain services.
func (a *App) buildServices(db *sqldb.DB, box *secret.Sealer) {
	a.sender = &mail.Sender{DB: db, Now: a.cfg.Now, Sealer: box, Transport: a.cfg.transport(), Log: a.log}
	r := &Services{DB: db, History: history.Reader{DB: db}, Mail: &mail.Outbox{Sealer: box, Wake: func() { a.node.Wake(mailJob) }, Off: a.cfg.mailsOff(), Look: mail.Look{Name: a.cfg.Name}}}
	r.Audit = &audit.Log{DB: db}
	r.Partners = &partner.Registry{DB: db, Sealer: box, Now: a.cfg.Now, Brand: a.cfg.Brand, Uses: partner.NewUses(db, a.log)}
	r.Accounts = &account.Book{DB: db, Now: a.cfg.Now, PublicURL: a.url, Marketplace: a.cfg.Name, Mail: r.Mail, Sealer: box, Require: a.cfg.RequireSecondFactor, TokenUses: account.NewTokenUses(db, a.log)}
	r.Inviter = &partner.Inviter{Partners: r.Partners, Mail: r.Mail, PublicURL: a.url, Marketplace: cmp.Or(a.cfg.Name, "Claviger"), Present: account.Present}
	a.runs = a.runLog(db)
	r.Partners.Supports = portalRole(r.Accounts)
	a.linkMailer = &account.LinkMailer{Book: r.Accounts, Log: a.log}
	r.Accounts.Asked = func() { a.node.Wake(linksJob) }
	r.Profiles = &profile.Book{DB: db, Partners: r.Partners, Now: a.cfg.Now, Check: profile.Checker{Client: a.caller, Often: a.cfg.TestMoney && a.cfg.RateLimit == 0}}
	r.TestMail = &outage.TestMailer{DB: db, Now: a.cfg.Now, Profiles: r.Profiles, Service: a.service(), Links: a.links, Mail: r.Mail}
	r.Checks = &profile.Runs{Book: r.Profiles, Log: a.log}
	a.node = &cluster.Node{DB: db, Log: a.log}
	a.dispatcher = a.buildDispatcher(r)
	r.Webhooks = &webhook.Outbox{DB: db, Now: a.cfg.Now, Tell: a.dispatcher.Tell(), Checks: r.Profiles}
	r.Replays = &replay.Jobs{DB: db, Outbox: r.Webhooks, Now: a.cfg.Now, Operator: mayRedeliver}
	r.Partners.Changed = r.Webhooks.Touch
	r.Profiles.Moved, r.Profiles.Resumed, r.Profiles.Removed = r.Webhooks.Unpark, r.Webhooks.Resume, r.Webhooks.Remove
	r.Events = &event.Log{DB: db, Outbox: r.Webhooks}
	r.Simulator = &simulator.Simulator{
		DB: db, Partners: r.Partners, Profiles: r.Profiles, Events: r.Events, History: r.History, Client: a.caller, Now: a.cfg.Now, Log: a.log,
	}
	r.Licenses = &license.Registry{
		DB: db, Now: a.cfg.Now, Events: r.Events, Gather: &license.Gatherer{}, Log: a.log, CountRefund: stats.CountRefund, EraseAddress: r.eraseAndTell,
		Tell: a.notices(r.Mail),
	}
	r.Payments = a.payments(r, box)
	r.OAuth = a.connect(r, box)
	r.Today = a.today(r)
	r.Stats = &stats.Book{DB: db, Now: a.cfg.Now}
	r.Requests = &requestlog.Log{DB: db, Now: a.cfg.Now, Keys: r.Licenses.Keys, Metrics: requestlog.NewMetrics(a.server.Metrics), Logger: a.log}
	r.Exports = &export.Exporter{
		DB: db, Now: a.cfg.Now, Licenses: r.Licenses, Events: r.Events, Audit: r.Audit, History: r.History, Requests: r.Requests, Accounts: r.Accounts,
	}
	r.Bulk = &bulk.Jobs{DB: db, Now: a.cfg.Now, Licenses: r.Licenses, Partners: r.Partners, Outbox: r.Webhooks, May: r.Accounts.MayStill, PaidHere: paidHere(r.Payments)}
	r.Outcomes = &idempotency.Pruner{DB: db, Now: a.cfg.Now}
	r.Support = r.desk()
	a.services = r
}

// guesses is how many wrong keys or tokens of an address are answered as such in a
// minute; it is told to wait beyond that.
const guesses = 60

// redeliveries is how many events a partner may have redelivered in a minute, each by
// a call of its own.
const redeliveries = 60

// Partners share these among them while they are answered. A quarter of the readers
// is left to authentication and to everybody else.
const unsent = 32 << 20 // bytes of answers that their clients have not taken yet

func readersForPartners(db *sqldb.DB) int64 { return int64(max(db.Readers()*3/4, 1)) }

// buildRoutes makes the HTTP packages and puts their routes into one table.
func (a *App) buildRoutes() (*wire.Mux, error) {
	r := a.services
	limit := func(perMinute int) *wire.Limiter { return &wire.Limiter{PerMinute: perMinute, Now: a.cfg.Now} }
	var guard *wire.Guard
	if a.cfg.RateLimit > 0 {
		guard = &wire.Guard{Failures: limit(guesses)}
		r.OAuth.Guard = &wire.Guard{Failures: limit(guesses)}
	}
	partners := &api.API{
		Partners: r.Partners, Licenses: r.Licenses, Events: r.Events, Webhooks: r.Webhooks, History: r.History, Profiles: r.Profiles,
		Portal:    api.Portal{Replays: r.Replays, Requests: r.Requests, Stats: r.Stats, Policy: a.policy(), Audit: r.Audit, Accounts: r.Accounts, TestMail: r.TestMail, Simulator: r.Simulator, Exports: r.Exports},
		PublicURL: a.url, Brand: a.cfg.Brand, Version: ThisBuild().String(), Limit: limit(a.cfg.RateLimit), Guard: guard, Redeliveries: limit(redeliveries),
		Readers: &wire.Share{Total: readersForPartners(r.DB)}, Bytes: &wire.Share{Total: unsent},
	}
	marketplace := &operator.Operator{
		Accounts: r.Accounts, Partners: r.Partners, Profiles: r.Profiles, Licenses: r.Licenses, Events: r.Events,
		Webhooks: r.Webhooks, Replays: r.Replays, Audit: r.Audit, Support: r.Support, TestMail: r.TestMail, Payments: r.Payments, PublicURL: a.url, Guard: guard, Batches: &wire.Share{Total: 8}, Exports: r.Exports, Bulk: r.Bulk,
		Service: operator.Service{DB: r.DB, Today: r.Today, Mail: r.Mail, Keys: r.OAuth.Keys, Stats: r.Stats, Settings: a.settings()},
		Explain: partners.ExplainLicense, LicenseEvents: partners.LicenseEvents, LicenseResponses: partners.LicenseResponses,
		Partner: operator.PartnerAnswers{
			Licenses: partners.PartnerLicenses, Deliveries: partners.PartnerDeliveries, Delivery: partners.PartnerDelivery, Attempt: partners.PartnerAttempt,
			Redeliveries: partners.PartnerRedeliveries, Redelivery: partners.PartnerRedelivery, Estimate: partners.PartnerEstimate,
			AllDeliveries: partners.AllDeliveries, Redeliver: partners.PartnerRedeliver, ActOnRedelivery: partners.ActOnRedelivery,
		},
		PartnerRequests: partners.PartnerRequests, PartnerStats: partners.PartnerStats,
	}
	pages, notFound, err := a.pages()
	if err != nil {
		return nil, err
	}
	mux := wire.NewMux(slices.Concat(partners.Routes(), marketplace.Routes(), r.OAuth.Routes(), pages, a.cfg.Extra)...)
	mux.Else, mux.Unmatched = notFound, func(req *http.Request) {
		partners.Identify(req)
		r.OAuth.Identify(req)
	}
	return mux, nil
}

// Services returns the domain services.
func (a *App) Services() *Services { return a.services }

// Addr is where the service listens, with the port that it got.
func (a *App) Addr() string { return a.server.Addr() }

// AdminAddr is where metrics and profiles are; "" if nowhere.
func (a *App) AdminAddr() string { return a.server.AdminAddr() }

// URL is the public URL of the service, without a slash at the end.
func (a *App) URL() string { return a.url }

// Run serves until ctx ends or a listener fails, and then stops in order: no
// new requests, running ones come to their end, jobs end, the database is
// closed. It is called once.
func (a *App) Run(ctx context.Context) error {
	working, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	a.stopJobs = stop
	for _, job := range a.work() {
		a.jobs.Go(func() { job(working) })
	}
	return a.Serve(ctx)
}

// Serve is Run without jobs: it leaves deliveries and all that works on its own to other
// nodes.
func (a *App) Serve(ctx context.Context) error {
	a.log.Info("serving", "addr", a.Addr(), "url", a.url, "admin", a.AdminAddr())
	a.greet(ctx)
	if err := a.server.Run(ctx); err != nil {
		return err
	}
	a.log.Info("stopped")
	return nil
}

// endJobs stops the background jobs and waits for their end, as long as ctx
// lets it.
func (a *App) endJobs(ctx context.Context) error {
	if a.stopJobs == nil {
		return nil
	}
	a.stopJobs()
	ended := make(chan struct{})
	go func() {
		a.jobs.Wait()
		close(ended)
	}()
	select {
	case <-ended:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("wait for the jobs to end: %w", context.Cause(ctx))
	}
}

// greet tells a new install what is left to do. Not knowing is no reason not to
// serve.
func (a *App) greet(ctx context.Context) {
	tokens, err := a.services.Accounts.Tokens(ctx)
	if err == nil && len(tokens) == 0 {
		a.log.Warn("there is no operator token yet; make one with: claviger token add --name admin --scopes admin")
	}
}

// Close releases what New opened, for an App that is not run. After Run it has
// nothing left to do.
func (a *App) Close() error { return a.server.Stop(context.Background()) }

// hostOf is the host of a URL, with its port.
func hostOf(address string) string {
	_, rest, _ := strings.Cut(address, "://")
	host, _, _ := strings.Cut(rest, "/")
	return host
}

// reachable is an address that can be dialled: a listener on every address is
// reached by this machine's name for itself.
func reachable(addr string) string {
	host, port, err := net.SplitHostPort(addr)
	if ip := net.ParseIP(host); err == nil && (host == "" || ip != nil && ip.IsUnspecified()) {
		return net.JoinHostPort("localhost", port)
	}
	return addr
}
