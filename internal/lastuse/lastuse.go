// Package lastuse records the last use of secrets: API keys of partners, tokens of operators. A use
// is noted in memory and written in batches, so a request never waits for it. The tables belong to
// the packages that own the secrets.
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

// Often is the minimum interval for writing the last use of a secret, over all nodes.
const Often = time.Minute

// maxUses limits the unwritten uses. Uses beyond it are noted when the credential is used next.
const maxUses = 10_000

// Uses records the uses of the secrets of one table. Unwritten uses are lost when a node dies. Each
// node has its own.
type Uses struct {
	DB *sqldb.DB

	// Write queues the use of a secret at a time, unless a use after the time unless is stored.
	Write func(tx *sqldb.Tx, id int64, at, unless time.Time)

	Log   *slog.Logger  // nil: slog.Default()
	Every time.Duration // interval of batches; 0: 5 s

	mu      sync.Mutex
	noted   map[int64]time.Time // time of the last note by credential, within Often
	waiting map[int64]time.Time // to be written
}

// Note records a use in memory; a nil Uses records nothing.
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
		u.noted = make(map[int64]time.Time)
		u.waiting = make(map[int64]time.Time)
	}
	u.noted[credential] = now
	u.waiting[credential] = now
}

// Run writes noted uses until ctx ends, and then once more.
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
		cmp.Or(u.Log, slog.Default()).
			Warn("when credentials were used could not be written; it is tried again", "err", err)
	}
}

// Flush writes the noted uses. Every node writes rows in the order of their ids. A use within Often
// of the stored one is not written.
func (u *Uses) Flush(ctx context.Context) error {
	waiting := u.drain()
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

// drain returns the waiting uses, and forgets credentials noted longer than Often before the newest.
func (u *Uses) drain() map[int64]time.Time {
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

// putBack returns unwritten uses to the queue.
func (u *Uses) putBack(waiting map[int64]time.Time) {
	u.mu.Lock()
	defer u.mu.Unlock()
	for id, at := range waiting {
		if len(u.waiting) < maxUses && u.waiting[id].Before(at) {
			u.waiting[id] = at
		}
	}
}
