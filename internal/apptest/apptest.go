// Package apptest runs the real application in a test: on its own database, with a clock that the
// test controls, a searchable log, and fixtures such as partners, plans, users, licenses and
// operator tokens. The harness_test.go of a package adds its own needs.
package apptest

import (
	"context"
	"testing"
	"time"

	"claviger/internal/app"
	"claviger/internal/audit"
	"claviger/internal/sqldb"
	"claviger/internal/sqldb/sqldbtest"
	"claviger/internal/webhook"
)

// Tester is the actor of fixtures.
var Tester = audit.System("test")

// SecretKey is the secret key of every application that New builds.
const SecretKey = "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f"

// Harness is an application under test.
type Harness struct {
	testing.TB
	*app.Services
	App      *app.App
	Database string // location of the data for sqldb.Open
	Logged   *Log

	config app.Config
	tell   func(webhook.News) // of Run
}

// New builds the application on an empty database. It listens on a free loopback port, but neither
// serves nor runs jobs until Run. change may alter its configuration.
func New(t testing.TB, change ...func(*app.Config)) *Harness {
	t.Helper()
	return build(t, Config(t, change...), &Log{})
}

// Config returns the configuration of New: no rate limit, partners may be on this machine, and
// nothing on standard error. Waits for the database have no bound, because a test may run on a slow
// machine.
func Config(t testing.TB, change ...func(*app.Config)) app.Config {
	t.Helper()
	cfg := app.Defaults(app.Serve)
	cfg.DrainDelay = new(time.Duration)
	cfg.Addr = "127.0.0.1:0"
	cfg.AdminAddr = ""
	cfg.SecretKey = SecretKey
	cfg.RateLimit = 0
	cfg.DBTimeout = 0
	cfg.DBJobTimeout = 0
	cfg.AllowPrivateTargets = true
	for _, fn := range change {
		fn(&cfg)
	}
	if cfg.DB == "" || cfg.DB == app.Defaults(app.Serve).DB {
		cfg.DB = sqldbtest.URL(t)
	}
	return cfg
}

func build(t testing.TB, cfg app.Config, log *Log) *Harness {
	t.Helper()
	if cfg.Log == nil {
		cfg.Log = cfg.Logger(log)
		log.ShowErrors(t)
	}
	db, err := sqldb.Open(t.Context(), cfg.DB, sqldb.Options{
		Log: cfg.Log, DirectURL: cfg.DirectURL, Timeout: cfg.DBTimeout, JobTimeout: cfg.DBJobTimeout,
	})
	if err != nil {
		t.Fatalf("open the database: %v", err)
	}
	a, err := app.NewOn(t.Context(), db, cfg)
	if err != nil {
		_ = db.Close()
		t.Fatalf("build the application: %v", err)
	}
	t.Cleanup(func() {
		if err := a.Close(); err != nil {
			t.Errorf("stop the application: %v", err)
		}
	})
	h := &Harness{TB: t, Services: a.Services(), App: a, Database: cfg.DB, Logged: log, config: cfg}
	Cheapen(h.Services, cfg.DB, 1024)
	// Without Run, events stay in the outbox, as on a node that leaves the sending to others.
	h.tell = h.Webhooks.Tell
	h.Webhooks.Tell = nil
	return h
}

// Start is New and Run.
func Start(t testing.TB, change ...func(*app.Config)) *Harness {
	t.Helper()
	h := New(t, change...)
	h.Run()
	return h
}

// Run serves requests and runs the jobs until the test ends.
func (h *Harness) Run() {
	h.Helper()
	h.Webhooks.Tell = h.tell
	h.run(h.App.Run)
}

// Serve serves requests until the test ends and runs no jobs: they are left to other nodes.
func (h *Harness) Serve() {
	h.Helper()
	h.run(h.App.Serve)
}

func (h *Harness) run(run func(context.Context) error) {
	h.Helper()
	ctx, stop := context.WithCancel(context.WithoutCancel(h.Context()))
	ended := make(chan error, 1)
	go func() { ended <- run(ctx) }()
	h.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			h.Errorf("the application ended with %v", err)
		}
	})
}

// Node builds another node of the application on the same database.
func (h *Harness) Node(change ...func(*app.Config)) *Harness {
	h.Helper()
	cfg := h.config
	for _, fn := range change {
		fn(&cfg)
	}
	return build(h.TB, cfg, h.Logged)
}

// In returns the same application for the subtest t.
func (h *Harness) In(t testing.TB) *Harness {
	in := *h
	in.TB = t
	return &in
}

// Must ends the test if err is not nil.
func (h *Harness) Must(err error) {
	h.Helper()
	if err != nil {
		h.Fatal(err)
	}
}
