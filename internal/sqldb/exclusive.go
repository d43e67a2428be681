package sqldb

import (
	"context"
	"errors"
	"time"

	"claviger/internal/sqldb/internal/litefile"
)

// ErrInUse means that another process has the database open.
var ErrInUse = litefile.ErrInUse

// AcquireExclusive waits until no other process holds the exclusive lock of this database. It calls
// waiting if it has to wait. The lock ends when the database is closed or the process ends, for any
// reason. False means that there is no such lock: PostgreSQL serves many processes.
func (db *DB) AcquireExclusive(ctx context.Context, waiting func()) (bool, error) {
	return db.engine.acquireExclusive(ctx, waiting)
}

func (p *postgres) acquireExclusive(context.Context, func()) (bool, error) { return false, nil }

// ReleaseExclusive releases the lock of AcquireExclusive.
func (db *DB) ReleaseExclusive() error { return db.engine.releaseExclusive() }

func (p *postgres) releaseExclusive() error { return nil }

// Holder says who holds the exclusive lock.
type Holder int

// The holders.
const (
	Nobody Holder = iota
	Ours          // this DB
	Others        // another process
)

// Holder returns the holder of the exclusive lock; Nobody on PostgreSQL, which has none.
func (db *DB) Holder(ctx context.Context) (Holder, error) { return db.engine.holder(ctx) }

func (p *postgres) holder(context.Context) (Holder, error) { return Nobody, nil }

func (l *sqlite) holder(ctx context.Context) (Holder, error) {
	if l.lock.Load() != nil {
		return Ours, nil
	}
	conn, err := litefile.Lock(ctx, l.path)
	switch {
	case errors.Is(err, ErrInUse):
		return Others, nil
	case err != nil:
		return Nobody, err
	}
	return Nobody, conn.Close()
}

func (l *sqlite) releaseExclusive() error {
	if conn := l.lock.Swap(nil); conn != nil {
		return conn.Close()
	}
	return nil
}

func (l *sqlite) acquireExclusive(ctx context.Context, waiting func()) (bool, error) {
	const pause = 100 * time.Millisecond
	for told := false; ; told = true {
		conn, err := litefile.Lock(ctx, l.path)
		if err == nil {
			l.lock.Store(conn)
			return true, nil
		}
		if !errors.Is(err, ErrInUse) {
			return false, err
		}
		if !told {
			waiting()
		}
		select {
		case <-ctx.Done():
			return false, context.Cause(ctx)
		case <-time.After(pause):
		}
	}
}
