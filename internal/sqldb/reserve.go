package sqldb

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
)

// ErrNotShared is the error of SQLite for operations that only many processes need.
var ErrNotShared = errors.New("one process has this database for itself")

// sessionNameMax is the maximum length of a session name; PostgreSQL cuts off the rest.
const sessionNameMax = 63

// newSessionName returns a unique application_name for all connections of this DB, so that they can
// be ended by it.
func newSessionName(prefix string) string {
	id := rand.Text()
	return prefix[:min(len(prefix), sessionNameMax-1-len(id))] + " " + id
}

// SessionName returns the unique application_name of every connection of this DB on PostgreSQL; ""
// on SQLite.
func (db *DB) SessionName() string { return db.engine.sessionName() }

func (p *postgres) sessionName() string {
	return p.pool.Config().ConnConfig.RuntimeParams["application_name"]
}

func (l *sqlite) sessionName() string { return "" }

// Reserved is a connection outside the pool, for work that must continue when the pool is
// exhausted. It runs one statement at a time, each in its own transaction, and serves one
// goroutine.
type Reserved struct {
	Locks
	conn *pgx.Conn
	deaf bool // messages do not arrive
}

// Reserve opens a connection outside the pool. On SQLite it returns ErrNotShared.
func (db *DB) Reserve(ctx context.Context) (*Reserved, error) {
	conn, err := db.engine.reserve(ctx)
	return conn, tellAway(err)
}

func (p *postgres) reserve(ctx context.Context) (*Reserved, error) {
	conn, err := pgx.ConnectConfig(ctx, p.own)
	if err != nil {
		return nil, fmt.Errorf("open a connection of its own: %w", err)
	}
	return &Reserved{Locks: postgresLocks, conn: conn, deaf: p.pooled && !p.direct}, nil
}

func (l *sqlite) reserve(context.Context) (*Reserved, error) { return nil, ErrNotShared }

func (r *Reserved) query(ctx context.Context, s *statement) error {
	rows, err := r.conn.Query(ctx, s.sql, pgArgs(s.args)...)
	if err == nil {
		err = s.take(rows)
	}
	if err != nil {
		return tellAway(fmt.Errorf("%s: %w", firstWords(s.sql), err))
	}
	return nil
}

// Exec runs a statement and returns the number of changed rows.
func (r *Reserved) Exec(ctx context.Context, sql string, args ...any) (int64, error) {
	s := &statement{sql: sql, args: args}
	err := r.query(ctx, s)
	return s.rows, err
}

// Listen subscribes Wait to a channel. Behind a pooler it does nothing: another program would get the
// session that listens.
func (r *Reserved) Listen(ctx context.Context, channel string) error {
	if r.deaf {
		return nil
	}
	_, err := r.Exec(ctx, "LISTEN "+pgx.Identifier{channel}.Sanitize())
	return err
}

// Notify sends messages to all listeners of a channel.
func (r *Reserved) Notify(ctx context.Context, channel string, messages ...string) error {
	return r.query(ctx, notification(channel, messages))
}

// Wait returns the next message of the channels passed to Listen. It fails when ctx ends, which
// does not harm the connection, or when the connection is lost.
func (r *Reserved) Wait(ctx context.Context) (channel, message string, err error) {
	n, err := r.conn.WaitForNotification(ctx)
	if err != nil {
		return "", "", tellAway(fmt.Errorf("wait for a message: %w", err))
	}
	return n.Channel, n.Payload, nil
}

// Closed reports whether the connection is lost.
func (r *Reserved) Closed() bool { return r.conn.IsClosed() }

// Close ends the connection.
func (r *Reserved) Close(ctx context.Context) error { return r.conn.Close(ctx) }

// serverClock is an expression for the database's time in Unix nanoseconds.
const serverClock = `CAST(extract(epoch FROM clock_timestamp()) * 1000000000 AS BIGINT)`

// Clock returns an expression for the database's time in Unix nanoseconds.
func (r *Reserved) Clock() string { return serverClock }

// Clock returns the database's time; false means that it uses this machine's clock.
func (db *DB) Clock(ctx context.Context) (time.Time, bool, error) {
	if _, ok := db.engine.(*postgres); !ok {
		return time.Time{}, false, nil
	}
	t, err := One(ctx, db, Value[time.Time], `SELECT `+serverClock)
	return t, true, err
}

// EndSessions returns an expression that ends all connections with the SessionName in a column, and
// yields their number. A client stopped in the middle of a COPY or a pipeline keeps its locks, and
// no server timeout ends it.
func (r *Reserved) EndSessions(column string) string {
	return `(SELECT count(pg_terminate_backend(a.pid)) FROM pg_stat_activity AS a
		WHERE a.application_name = ` + column + ` AND a.pid <> pg_backend_pid())`
}
