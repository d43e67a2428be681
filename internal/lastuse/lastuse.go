// Package lastuse records when secrets were last used: API keys of partners, tokens of
// operators. A use is noted in memory and written in batches, so that a request never
// waits for it. The tables belong to the packages that own the secrets.
package lastuse

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"claviger/internal/sqldb"
)

// Often is how often the last use of a secret is written at most, over all nodes.
const Often = time.Minute

// maxUses bounds how many uses wait to be written. Those beyond are noted again when the
// credential is used next.
const maxUses = 10_000

// Uses records when the secrets of one table were used. What is not yet written when a
// node dies is lost. Each node has one of its own.
type Uses struct {
	DB *sqldb.DB

	// Write queues that a secret was used at a time, unless a use after that other time is
	// stored.
	Write func(tx *sqldb.Tx, id int64, at, unless time.Time)

	Log   *slog.Logger  // nil: slog.Default()
	Every time.Duration // between batches; 0: 5 s

	mu      sync.Mutex
	noted   map[int64]time.Time // by credential: when it was last noted, within Often
	waiting map[int64]time.Time // to be written
}

// Note records a use in memory; nil records nothing.
func (u *Uses) Note(credential int64, now time.Time) {
	if u == nil {
		return
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	// A time in the future means that the clock was set back.
	if last, ok := u.noted[credential]; ok && now.Sub(last) < Often && !last.After(now) || len(u.waiting) >= maxUses {
		return
	}
	if u.noted == nil {
		u.noted, u.waiting = make(map[int64]time.Time), make(map[int64]time.Time)
	}
	u.noted[credential], u.waiting[credential] = now, now
}

// Run writes what was noted until ctx ends, and then once more.
func (u *Uses) Run(ctx context.Context) {
	ticker := time.NewTicker(cmp.Or(u.Every, 5*time.Second))
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			last, cancel := context.WithTimeout(context.WithoutCancel(ctx), 2*time.Second)
			defer cancel()
			u.flushLogged(last)
			return
		case <-ticker.C:
			u.flushLogged(ctx)
		}
	}
}

func (u *Uses) flushLogged(ctx context.Context) {
	if err := u.Flush(ctx); err != nil {
		cmp.Or(u.Log, slog.Default()).Warn("when credentials were used could not be written; it is tried again", "err", err)
	}
}

// Flush writes what was noted. Rows are written in the order of their ids, as by every
// node. A use within Often of the one that is stored is not written.
func (u *Uses) Flush(ctx context.Context) error {
	waiting := u.take()
	if len(waiting) == 0 {
		return nil
	}
	err := u.DB.Write(ctx, func(tx *sqldb.Tx) error {
		for _, id := range slices.Sorted(maps.Keys(waiting)) {
			at := waiting[id]
			u.Write(tx, id, at, at.Add(-Often))
		}
		return nil
	})
	if err != nil {
		u.putBack(waiting)
		return fmt.Errorf("write when credentials were used: %w", err)
	}
	return nil
}

// take returns what waits, and forgets which credentials were noted longer ago than
// Often before the newest.
func (u *Uses) take() map[int64]time.Time {
	u.mu.Lock()
	defer u.mu.Unlock()
	waiting := u.waiting
	u.waiting = make(map[int64]time.Time)
	var newest time.Time
	for _, at := range waiting {
		if at.After(newest) {
			newest = at
		}
	}
	maps.DeleteFunc(u.noted, func(_ int64, at time.Time) bool { return newest.Sub(at) >= Often })
	return waiting
}

// putBack returns what could not be written.
func (u *Uses) putBack(waiting map[int64]time.Time) {
	u.mu.Lock()
	defer u.mu.Unlock()
	for id, at := range waiting {
		if len(u.waiting) < maxUses && u.waiting[id].Before(at) {
			u.waiting[id] = at
		}
	}
}
