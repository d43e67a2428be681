// Package devserver is `claviger dev`: the whole service on a developer's own
// machine, seeded with a partner and people to play with, and open to targets
// that the real one refuses. It owns what is seeded, the table dev_seeds, the
// line that tells the credentials, and what stands in for the world around the
// service: the mail catcher and a sample application of the partner. Everything
// it makes, it makes through the rooms, and the sample speaks HTTP, so that what a
// developer sees is what production does.
package devserver

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"time"

	"claviger/internal/app"
	"claviger/internal/sqldb"
	"claviger/internal/ui"
	"claviger/internal/validate"
)

// Config is what `dev` is asked for.
type Config struct {
	App      app.Config // of mode app.Dev; without a DB the data is temporary
	Webhook  string     // the partner's webhook URL; "" leaves what is stored, or the sample's
	Redirect string     // the partner's redirect URL; likewise

	// SingleKey says whether the partner's API key is its webhook secret too; nil
	// leaves what is stored.
	SingleKey *bool
}

// Emulator is the seeded house. It listens, and serves once it runs.
type Emulator struct {
	house   *app.App
	catcher *catcher
	sample  *sample
	card    Card
	notes   []string
	temp    string // the folder to remove at the end; "" if the data stays
}

// New opens or makes the data, seeds what is missing and listens.
func New(ctx context.Context, cfg Config) (*Emulator, error) {
	if err := cfg.Valid(); err != nil {
		return nil, err
	}
	e := &Emulator{}
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

// Valid refuses URLs that no profile would take; New does so too, before
// anything is made.
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

// open builds the house on its data. The secret key comes from the seed too, so
// that a copied file is all there is to a copy.
func (e *Emulator) open(ctx context.Context, cfg Config) error {
	db, err := app.OpenMigrated(ctx, cfg.App)
	if err != nil {
		return err
	}
	s, err := plant(ctx, db)
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
	if err := e.surround(&cfg.App, db); err != nil {
		return errors.Join(err, db.Close())
	}
	if e.house, err = app.NewOn(ctx, db, cfg.App); err != nil {
		return errors.Join(err, db.Close())
	}
	e.catcher.mails = e.house.Services().Mail
	if err := e.seed(ctx, s, cfg); err != nil {
		return errors.Join(err, e.house.Close()) //nolint:contextcheck // what runs is stopped whatever ended ctx
	}
	return nil
}

// surround makes what stands in for the world and lets the house serve it. Where
// the house is, and who its partner, they learn when that is known.
func (e *Emulator) surround(cfg *app.Config, db *sqldb.DB) error {
	pages, err := ui.New(files, nil, "templates/*.html")
	if err != nil {
		return err
	}
	mails := *pages
	mails.Brand = "claviger dev"
	pages.Home = samplePath + "/"
	e.catcher = &catcher{pages: &mails, db: db}
	e.sample = &sample{pages: pages, client: &http.Client{Timeout: 10 * time.Second, Transport: &http.Transport{DisableKeepAlives: true}}}
	cfg.TestMoney, cfg.Catcher, cfg.Mailbox = true, e.catcher, mailPath+"/"
	// It listens on the developer's own machine, whose browser visits other pages too.
	cfg.OwnHosts = true
	cfg.Extra = slices.Concat(e.catcher.routes(), e.sample.routes(), galleryRoutes(&mails))
	return nil
}

// seed puts what is missing into the house, writes the card and hands the sample
// its part of it.
func (e *Emulator) seed(ctx context.Context, s seed, cfg Config) error {
	rooms, url := e.house.Services(), e.house.URL()
	p, err := s.grow(ctx, rooms, cfg, url)
	if err != nil {
		return fmt.Errorf("seed the data: %w", err)
	}
	e.sample.url, e.sample.name, e.sample.pages.Brand, e.sample.credentials = url, p.Name, p.Name, s.credentials(p.SingleKey)
	e.sample.secrets = func(ctx context.Context) ([]string, error) { return rooms.Partners.WebhookSecrets(ctx, p.ID) }
	e.card = s.card(url, p)
	e.notes, err = s.stale(ctx, rooms, p)
	return err
}

// Card is what a developer needs to know, with the credentials.
func (e *Emulator) Card() Card { return e.card }

// Addr is where it listens, with the port that it got.
func (e *Emulator) Addr() string { return e.house.Addr() }

// Notes says what on the card no longer holds, such as a key that was rotated.
func (e *Emulator) Notes() []string { return e.notes }

// Temporary reports whether the data ends with the emulator.
func (e *Emulator) Temporary() bool { return e.temp != "" }

// Run serves until ctx ends, stops in order and removes temporary data.
func (e *Emulator) Run(ctx context.Context) error {
	return errors.Join(e.house.Run(ctx), e.remove())
}

// Close gives back what New took, for an emulator that is not run.
func (e *Emulator) Close() error {
	return errors.Join(e.house.Close(), e.remove())
}

// remove takes temporary data away.
func (e *Emulator) remove() error {
	if e.temp == "" {
		return nil
	}
	return os.RemoveAll(e.temp)
}
