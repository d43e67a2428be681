package sqldb

import (
	"context"
	"errors"
	"sync"
	"time"
)

// peekEvery is the interval for checking the SQLite file for commits of other processes, which must
// be noticed within a second. A check costs about 150 µs. Commits of this process are signalled in
// memory and do not wait for it.
const peekEvery = 750 * time.Millisecond

// peeker checks for commits of other processes while there are listeners; one check serves all.
type peeker struct {
	mu    sync.Mutex
	hears map[*func(string)]bool
	stop  context.CancelFunc // of the peeking goroutine; nil: not running
}

func (l *sqlite) listen(ctx context.Context, _ string, hear func(string)) error {
	l.addListener(&hear) //nolint:contextcheck // one goroutine serves all listeners
	defer l.removeListener(&hear)
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-l.closing:
		return ErrClosed
	}
}

// addListener calls hear now and after each commit of another process.
func (l *sqlite) addListener(hear *func(string)) {
	p := &l.peeker
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.hears == nil {
		p.hears = map[*func(string)]bool{}
	}
	p.hears[hear] = true
	(*hear)("")
	if p.stop == nil {
		ctx, stop := context.WithCancel(context.Background())
		p.stop = stop
		go l.peek(ctx)
	}
}

// removeListener removes hear, which is not called after the return.
func (l *sqlite) removeListener(hear *func(string)) {
	p := &l.peeker
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.hears, hear)
	if len(p.hears) == 0 && p.stop != nil {
		p.stop()
		p.stop = nil
	}
}

// peek checks until ctx ends or the database is closed.
func (l *sqlite) peek(ctx context.Context) {
	ticker := time.NewTicker(peekEvery)
	defer ticker.Stop()
	known := int64(-1) // the first answer counts: a commit may have come before it
	for {
		version, err := l.dataVersion(ctx)
		if errors.Is(err, ErrClosed) {
			return
		}
		if err == nil && version != known {
			known = version
			l.peeker.tell()
		}
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
}

// tell calls all listeners.
func (p *peeker) tell() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for hear := range p.hears {
		(*hear)("")
	}
}

// dataVersion changes when another process commits. It asks the writing connection, for which
// commits of this process do not count.
func (l *sqlite) dataVersion(ctx context.Context) (version int64, err error) {
	err = l.writer.ask(ctx, &request{ctx: ctx, log: func(c *sqliteConn) error {
		return c.run(&statement{
			sql:  `PRAGMA data_version`,
			each: func(r *Row) error { return r.Scan(&version) },
		})
	}})
	return version, err
}
