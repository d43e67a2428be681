// Package litefile opens and locks the files of SQLite databases, for sqldb and its subfolders. Only
// their owner can read the files that it creates.
package litefile

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/ncruces/go-sqlite3"
)

var (
	// ErrInUse means that another process has the database open.
	ErrInUse = errors.New("another process has the database open")
	// ErrDamaged means that a file is not a readable database.
	ErrDamaged = errors.New("the database is empty or damaged")
)

// Open opens a database file with one of our file systems and sets the pragmas.
func Open(ctx context.Context, fsName, path, pragmas string) (*sqlite3.Conn, error) {
	conn, err := sqlite3.OpenContext(ctx, OnFS(fsName, path))
	if err != nil {
		return nil, fmt.Errorf("open the database file %s: %w", path, err)
	}
	conn.SetInterrupt(context.Background())
	if err := setUp(ctx, conn, pragmas); err != nil {
		return nil, errors.Join(fmt.Errorf("set up the database file %s: %w", path, err), conn.Close())
	}
	return conn, nil
}

// setUp sets the pragmas, and makes plans independent of parameter values: SQLite would plan again
// for each value of a LIMIT. If several programs open a new file simultaneously, the switch to WAL
// fails regardless of busy_timeout, so it is retried.
func setUp(ctx context.Context, conn *sqlite3.Conn, pragmas string) error {
	const tries, pause = 500, 10 * time.Millisecond
	if _, err := conn.Config(sqlite3.DBCONFIG_ENABLE_QPSG, true); err != nil {
		return err
	}
	var err error
	for range tries {
		if err = conn.Exec(pragmas); !errors.Is(err, sqlite3.BUSY) {
			return err
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(pause):
		}
	}
	return err
}

// Lock takes the lock of the one service, restore or copy on the database at path, or returns
// ErrInUse. Closing the connection releases it, and so does the end of the process. It locks an empty
// file beside the database with SQLite's own locks, which work on every system.
func Lock(ctx context.Context, path string) (*sqlite3.Conn, error) {
	return exclusive(ctx, path+"-sole", "BEGIN EXCLUSIVE")
}

// Settle turns a database into one file that no one else can open: it absorbs the log and leaves WAL
// mode. The connection has begun an exclusive transaction. Settle returns fs.ErrNotExist for a missing
// database, ErrDamaged for an unreadable one, and ErrInUse if another connection is open.
func Settle(ctx context.Context, path string) (*sqlite3.Conn, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if info.Size() == 0 { // a log beside it would still be replayed
		return nil, ErrDamaged
	}
	conn, err := exclusive(ctx, path, "PRAGMA synchronous = FULL; PRAGMA journal_mode = DELETE; BEGIN EXCLUSIVE")
	if errors.Is(err, sqlite3.CORRUPT) || errors.Is(err, sqlite3.NOTADB) {
		err = ErrDamaged
	}
	return conn, err
}

// exclusive opens a file and begins an exclusive transaction.
func exclusive(ctx context.Context, path, begin string) (*sqlite3.Conn, error) {
	conn, err := sqlite3.OpenContext(ctx, OnFS(Private, path))
	if err == nil {
		conn.SetInterrupt(context.Background())
		if err = conn.Exec(begin); err == nil {
			return conn, nil
		}
		err = errors.Join(err, conn.Close())
	}
	if errors.Is(err, sqlite3.BUSY) {
		err = ErrInUse
	}
	return nil, fmt.Errorf("lock the database: %w", err)
}
