package sqldb

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/ncruces/go-sqlite3"
)

// AcquireExclusive waits until no other process has asked for it on the same database, and
// keeps others waiting until the database is closed or the process ends, however it
// does; waiting is called when it has to. False means that there may always be
// others: PostgreSQL is made for that.
func (db *DB) AcquireExclusive(ctx context.Context, waiting func()) (bool, error) {
	return db.engine.acquireExclusive(ctx, waiting)
}

func (p *postgres) acquireExclusive(context.Context, func()) (bool, error) { return false, nil }

// ReleaseExclusive lets the next process have what AcquireExclusive acquired.
func (db *DB) ReleaseExclusive() error { return db.engine.releaseExclusive() }

func (p *postgres) releaseExclusive() error { return nil }

func (l *sqlite) releaseExclusive() error {
	if conn := l.lock.Swap(nil); conn != nil {
		return conn.Close()
	}
	return nil
}

// acquireExclusive locks a file beside the database as SQLite locks its own, on every system.
// There is nothing in it.
func (l *sqlite) acquireExclusive(ctx context.Context, waiting func()) (bool, error) {
	const pause = 100 * time.Millisecond
	conn, err := sqlite3.OpenContext(ctx, onFS(privateFSName, l.path+"-sole"))
	if err != nil {
		return false, fmt.Errorf("open the lock of the database: %w", err)
	}
	conn.SetInterrupt(context.Background())
	for told := false; ; told = true {
		if err = conn.Exec("BEGIN EXCLUSIVE"); err == nil {
			l.lock.Store(conn)
			return true, nil
		}
		if !errors.Is(err, sqlite3.BUSY) {
			return false, errors.Join(fmt.Errorf("lock the database: %w", err), conn.Close())
		}
		if !told {
			waiting()
		}
		select {
		case <-ctx.Done():
			return false, errors.Join(context.Cause(ctx), conn.Close())
		case <-time.After(pause):
		}
	}
}
