package app

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"claviger/internal/fault"
	"claviger/internal/release"
	"claviger/internal/sqldb"
	"claviger/internal/wire"
)

// Intervals of the guard.
const (
	guardEvery = time.Second
	guardStale = 5 * time.Second // a request checks first if the last check is older
	guardLimit = 2 * time.Second // of one check
)

// codeTooOld is the code of requests to a node that is too old for the schema.
const codeTooOld = "node_too_old"

// guard keeps this node from working on a schema that needs a newer program, or on a file of SQLite that
// was moved. It checks every second. After a pause of the process or the machine, the first request
// waits for a check.
type guard struct {
	db      *sqldb.DB
	log     *slog.Logger
	version string
	now     func() time.Time

	mu     sync.Mutex                // held during a check
	asked  time.Time                 // end of the last check; guarded by mu
	last   atomic.Pointer[time.Time] // beginning of the last check that found no reason to stop
	reason atomic.Pointer[error]     // to stop; set once
}

func newGuard(db *sqldb.DB, log *slog.Logger) *guard {
	return &guard{db: db, log: log, version: release.Version, now: time.Now}
}

// stale reports whether the last check is too old by either clock. The steady clock may stop while
// the machine sleeps; the wall clock may be set.
func (g *guard) stale() bool {
	last := g.last.Load()
	if last == nil {
		return true
	}
	return paused(*last, g.now())
}

// paused reports whether more time has passed than between two checks.
func paused(from, to time.Time) bool {
	return to.Sub(from) > guardStale || to.Round(0).Sub(from.Round(0)) > guardStale
}

// check asks the database, and returns the reason to stop. If the database does not answer, there is
// none: requests to it fail by themselves.
func (g *guard) check(ctx context.Context) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.ask(ctx)
	return g.failure()
}

// recheck checks once for all requests that wait for it, and at most once a second.
func (g *guard) recheck(ctx context.Context) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.stale() && g.now().Sub(g.asked) >= guardEvery {
		g.ask(context.WithoutCancel(ctx))
	}
}

// ask asks a second time if the process was paused meanwhile, or if other nodes ended its connection
// because of that.
func (g *guard) ask(ctx context.Context) {
	var began time.Time
	var err error
	for range 2 {
		began = g.now()
		err = g.look(ctx)
		g.asked = g.now()
		if !sqldb.IsUnavailable(err) && !paused(began, g.asked) {
			break
		}
	}
	switch {
	case err == nil:
		g.last.Store(&began)
	case (errors.Is(err, sqldb.ErrTooNew) || errors.Is(err, sqldb.ErrMoved)) && g.reason.Swap(&err) == nil:
		g.log.Error("this node stops taking work; it answers requests under way", "err", err)
	}
}

func (g *guard) look(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, guardLimit)
	defer cancel()
	if err := g.db.Moved(); err != nil {
		return err
	}
	return sqldb.CheckVersion(ctx, g.db, g.version)
}

func (g *guard) failure() error {
	if err := g.reason.Load(); err != nil {
		return *err
	}
	return nil
}

// ready is the check of the schema for /readyz.
func (g *guard) ready(ctx context.Context) error {
	if err := g.failure(); err != nil {
		return err
	}
	return current(ctx, g.db)
}

// watch checks until ctx ends, or until this node must stop: then it calls retire.
func (g *guard) watch(ctx context.Context, retire func()) {
	ticker := time.NewTicker(guardEvery)
	defer ticker.Stop()
	for g.check(ctx) == nil {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
	retire()
}

// protect refuses requests when this node must stop. If it is too old, another node answers them.
func (g *guard) protect(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if g.stale() && g.failure() == nil {
			g.recheck(r.Context())
		}
		if err := g.failure(); err != nil {
			w.Header().Set("Connection", "close")
			w.Header().Set("Retry-After", "1")
			if errors.Is(err, sqldb.ErrTooNew) {
				err = fault.New(fault.Busy, codeTooOld,
					"This node runs an older version than the database needs. Try again: another node answers.")
			}
			wire.Fail(w, r, err)
			return
		}
		next.ServeHTTP(w, r)
	})
}
