// Package devserver is `claviger dev`: the whole service on a developer's machine, seeded with a
// partner and users. It may call targets that the real service refuses. It owns the seed data, the
// table dev_seeds, the card with the credentials, the short log lines, the control page with its
// clock and faults, the mail catcher, a fake Stripe, a sample application of the partner, and the
// gallery of page parts. It creates everything through the domain packages, and the sample uses
// HTTP, so it behaves like production.
package devserver

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"claviger/internal/app"
	"claviger/internal/sqldb"
	"claviger/internal/ui"
	"claviger/internal/validate"
)

// Config is the configuration of `dev`.
type Config struct {
	App      app.Config // of mode app.Dev; without a DB the data is temporary
	Webhook  string     // the partner's webhook URL; "": the stored one, or the sample's
	Redirect string     // the partner's redirect URL; likewise

	// Prepare, if not nil, may change the services before seeding, for example for cheap passwords
	// in tests.
	Prepare func(*app.Services)

	// Lines receives short log lines if App.LogFormat is app.Short and App.Log is not set. Color
	// highlights failures.
	Lines io.Writer
	Color bool

	// SingleKey makes the partner's API key its webhook secret, too; nil leaves the stored value.
	SingleKey *bool
}

// Server is the seeded service. It listens, and serves after Run.
type Server struct {
	app     *app.App
	events  *activity
	control *control
	clock   *clock
	faults  *faults
	catcher *catcher
	sample  *sample
	stripe  *standIn // nil: a Stripe account takes the payments
	card    Card
	notes   []string
	temp    string // the folder to remove at the end; "" if the data stays
}

// New opens or creates the data, seeds missing parts and listens.
func New(ctx context.Context, cfg Config) (*Server, error) {
	if err := cfg.Valid(); err != nil {
		return nil, err
	}
	e := &Server{events: &activity{color: cfg.Color, level: cfg.App.LogLevel}}
	cfg.App.Log = e.logger(cfg)
	if cfg.App.DB == "" {
		temp, err := os.MkdirTemp("", "claviger-dev-")
		if err != nil {
			return nil, fmt.Errorf("make a folder for the data: %w", err)
		}
		e.temp, cfg.App.DB = temp, filepath.Join(temp, "dev.db")
	}
	if err := e.open(ctx, cfg); err != nil {
		return nil, errors.Join(err, e.remove())
	}
	return e, nil
}

// logger returns the log of the service; e stores its newest events.
func (e *Server) logger(cfg Config) *slog.Logger {
	h := &handler{activity: e.events}
	switch {
	case cfg.App.Log != nil:
		h.next = cfg.App.Log.Handler()
	case cfg.App.LogFormat == app.Short:
		e.events.out = cfg.Lines
	default:
		h.next = cfg.App.Logger(os.Stderr).Handler()
	}
	return slog.New(h)
}

// Valid refuses URLs that no profile would accept. New calls it, too, before it creates anything.
func (c Config) Valid() error {
	for _, u := range []struct{ flag, value string }{{"--webhook", c.Webhook}, {"--redirect", c.Redirect}} {
		if u.value == "" {
			continue
		}
		if _, err := validate.URL(u.flag, u.value, c.App.AllowPrivateTargets); err != nil {
			return err
		}
	}
	return nil
}

// open builds the service on its data. The secret key is also derived from the seed, so that a copy
// of the file is complete.
func (e *Server) open(ctx context.Context, cfg Config) error {
	db, err := app.OpenMigrated(ctx, cfg.App)
	if err != nil {
		return err
	}
	s, err := loadSeed(ctx, db)
	if err != nil {
		return errors.Join(err, db.Close())
	}
	if cfg.App.SecretKey == "" {
		cfg.App.SecretKey = s.derive("secret key")
	}
	if cfg.App.Brand == "" {
		if cfg.App.Brand, err = s.brand(ctx, db); err != nil {
			return errors.Join(err, db.Close())
		}
	}
	if err := e.addDevPages(ctx, &cfg.App, db, s); err != nil {
		return errors.Join(err, db.Close())
	}
	if e.app, err = app.NewOn(ctx, db, cfg.App); err != nil {
		return errors.Join(err, db.Close())
	}
	e.catcher.mails = e.app.Services().Mail
	if e.stripe != nil {
		e.stripe.url = "http://" + e.app.Addr() + "/stripe/webhook"
	}
	if cfg.Prepare != nil {
		cfg.Prepare(e.app.Services())
	}
	if err := e.seed(ctx, s, cfg); err != nil {
		return errors.Join(err, e.app.Close()) //nolint:contextcheck // must stop, however ctx ended
	}
	return nil
}

// addDevPages adds the pages of dev. They get the URL of the service and its partner later.
func (e *Server) addDevPages(ctx context.Context, cfg *app.Config, db *sqldb.DB, s seed) error {
	pages, err := ui.New(files, nil, "templates/*.html")
	if err != nil {
		return err
	}
	mails := *pages
	mails.Brand = "claviger dev"
	pages.Home = samplePath + "/"
	e.catcher = &catcher{pages: &mails, db: db}
	e.events.knowMails(e.catcher.about)
	e.sample = &sample{
		pages:  pages,
		client: &http.Client{Timeout: 10 * time.Second, Transport: &http.Transport{DisableKeepAlives: true}},
	}
	if e.clock, err = newClock(ctx, db, cfg.Log); err != nil {
		return err
	}
	cfg.Now = e.clock.Now
	cfg.SignNow = app.Now
	e.sample.now = e.clock.Now
	e.faults = newFaults(cfg.Log, e.clock.Now)
	cfg.Wrap = e.faults.wrap
	e.sample.faults = e.faults
	e.catcher.faults = e.faults
	if cfg.AllowPrivateTargets && cfg.EgressProxy == nil { // guard and proxy stay in place
		cfg.Dial = e.faults.dial
	}
	e.control = &control{pages: &mails, events: e.events, clock: e.clock, faults: e.faults}
	cfg.TestMoney = true
	cfg.Catcher = e.catcher
	cfg.Mailbox = mailPath + "/"
	// It listens on the developer's machine, and the browser there visits other pages, too.
	cfg.OwnHosts = true
	cfg.Extra = slices.Concat(
		e.control.routes(),
		e.clock.routes(&mails),
		e.faults.routes(&mails),
		e.catcher.routes(),
		e.sample.routes(),
		galleryRoutes(&mails),
	)
	return e.addStripe(ctx, cfg, db, s, *pages)
}

// seed creates missing data, fills in the card and configures the sample.
func (e *Server) seed(ctx context.Context, s seed, cfg Config) error {
	services := e.app.Services()
	url := e.app.URL()
	p, err := s.seedData(ctx, services, cfg, url)
	if err != nil {
		return fmt.Errorf("seed the data: %w", err)
	}
	e.sample.url, e.sample.name, e.sample.pages.Brand, e.sample.credentials = url, p.Name, p.Name, s.credentials(
		p.SingleKey,
	)
	e.sample.secrets = func(ctx context.Context) ([]string, error) {
		return services.Partners.WebhookSecrets(ctx, p.ID)
	}
	e.card = s.card(url, p)
	if e.stripe != nil {
		e.card.PaymentsURL = url + stripePath + "/"
	}
	e.faults.plain = func(ctx context.Context) bool {
		urls, err := services.Profiles.Read(ctx, services.DB, p.ID)
		return err == nil && strings.HasPrefix(urls.WebhookURL, "http://")
	}
	e.control.services, e.control.partnerID, e.control.links = services, p.ID, e.card.places()
	e.notes, err = s.stale(ctx, services, p)
	return err
}

// Card returns the facts for a developer, with the credentials.
func (e *Server) Card() Card { return e.card }

// Addr returns the listening address with its actual port.
func (e *Server) Addr() string { return e.app.Addr() }

// Notes lists outdated entries of the card, such as a rotated key.
func (e *Server) Notes() []string { return e.notes }

// Temporary reports whether the data is removed at the end.
func (e *Server) Temporary() bool { return e.temp != "" }

// Run serves until ctx ends, stops in order and removes temporary data.
func (e *Server) Run(ctx context.Context) error {
	defer e.faults.close()
	if e.stripe != nil {
		defer e.stripe.start(ctx)()
	}
	return errors.Join(e.app.Run(ctx), e.remove())
}

// Close releases the resources of New, for a server that is not run.
func (e *Server) Close() error {
	return errors.Join(e.app.Close(), e.remove())
}

// remove deletes temporary data.
func (e *Server) remove() error {
	if e.temp == "" {
		return nil
	}
	return os.RemoveAll(e.temp)
}
