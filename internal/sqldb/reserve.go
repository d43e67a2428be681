package sqldb

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
)

// ErrNotShared is what SQLite answers to what only many processes need.
var ErrNotShared = errors.New("one process has this database for itself")

// sessionNameMax is how long a name of sessions may be; PostgreSQL cuts off the rest.
const sessionNameMax = 63

// newSessionName is the application_name of all connections of this DB. It differs
// from every other's, so that these connections can be ended by it.
func newSessionName(prefix string) string {
	id := rand.Text()
	return prefix[:min(len(prefix), sessionNameMax-1-len(id))] + " " + id
}

// SessionName is the application_name of every connection of this DB on PostgreSQL,
// and no other's; "" on SQLite.
func (db *DB) SessionName() string { return db.engine.sessionName() }

func (p *postgres) sessionName() string {
	return p.pool.Config().ConnConfig.RuntimeParams["application_name"]
}

func (l *sqlite) sessionName() string { return "" }

// Reserved is a connection beside the pool, for what must go on when the pool is
// exhausted. It runs one statement at a time, each in a transaction of its own, and
// serves one goroutine.
type Reserved struct {
	engine *postgres
	conn   *pgx.Conn
}

// Reserve opens a connection beside the pool. SQLite answers ErrNotShared.
func (db *DB) Reserve(ctx context.Context) (*Reserved, error) {
	conn, err := db.engine.reserve(ctx)
	return conn, tellAway(err)
}

func (p *postgres) reserve(ctx context.Context) (*Reserved, error) {
	conn, err := pgx.ConnectConfig(ctx, p.pool.Config().ConnConfig)
	if err != nil {
		return nil, fmt.Errorf("open a connection of its own: %w", err)
	}
	return &Reserved{engine: p, conn: conn}, nil
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

// Exec runs a statement and returns how many rows it changed.
func (r *Reserved) Exec(ctx context.Context, sql string, args ...any) (int64, error) {
	s := &statement{sql: sql, args: args}
	err := r.query(ctx, s)
	return s.rows, err
}

// Listen makes Wait return for messages of a channel.
func (r *Reserved) Listen(ctx context.Context, channel string) error {
	_, err := r.Exec(ctx, "LISTEN "+pgx.Identifier{channel}.Sanitize())
	return err
}

// Notify sends messages to all who listen to a channel.
func (r *Reserved) Notify(ctx context.Context, channel string, messages ...string) error {
	return r.query(ctx, notification(channel, messages))
}

// Wait returns the next message of the channels that Listen named, or an error when
// ctx ends, which does not harm the connection, or when the connection is lost.
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

// serverClock is an expression for the database's own time, as Unix nanoseconds.
const serverClock = `CAST(extract(epoch FROM clock_timestamp()) * 1000000000 AS BIGINT)`

// Clock is an expression for the database's own time, as Unix nanoseconds.
func (r *Reserved) Clock() string { return serverClock }

// Clock returns the database's own time; false: it has none but this machine's.
func (db *DB) Clock(ctx context.Context) (time.Time, bool, error) {
	if _, ok := db.engine.(*postgres); !ok {
		return time.Time{}, false, nil
	}
	t, err := One(ctx, db, Value[time.Time], `SELECT `+serverClock)
	return t, true, err
}

// EndSessions is an expression that ends all connections whose SessionName is the value
// of a column, and yields how many there were. A client that is stopped in the middle
// of a COPY or a pipeline holds its locks, and no timeout of the server ends it.
func (r *Reserved) EndSessions(column string) string {
	return `(SELECT count(pg_terminate_backend(a.pid)) FROM pg_stat_activity AS a
		WHERE a.application_name = ` + column + ` AND a.pid <> pg_backend_pid())`
}

// ForNoKeyUpdateSkipLocked ends a sub-select of rows about to be changed, so that it
// passes over those that another transaction has locked.
func (r *Reserved) ForNoKeyUpdateSkipLocked() string { return r.engine.skipLockedNoKey() }
