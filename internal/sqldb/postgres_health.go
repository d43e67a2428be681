package sqldb

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
)

// Times of the checks of connections.
const (
	idleTime   = time.Second // a connection that was idle for longer is checked before its use
	checkTime  = time.Second // for a check
	resetEvery = time.Second // at most this often, all connections are replaced
)

// health finds connections that cannot be used.
type health struct {
	pool      *pgxpool.Pool
	began     time.Time
	suspected atomic.Int64 // when a connection was last found silent, since began
	reset     atomic.Int64 // when all connections were last replaced, since began
}

// check checks a connection that was idle, or that has not answered since another one was silent. A
// check that fails closes the connection. The others lead to the same place, so they are replaced as
// well.
func (h *health) check(ctx context.Context, p pgxpool.ShouldPingParams) bool {
	used := time.Since(h.began) - p.IdleDuration
	if p.IdleDuration < idleTime && used > time.Duration(h.suspected.Load()) {
		return false
	}
	limited, cancel := context.WithTimeout(ctx, checkTime)
	defer cancel()
	if p.Conn.Ping(limited) == nil {
		return false
	}
	_ = p.Conn.Close(limited)
	if ctx.Err() == nil {
		h.replace()
	}
	return true // pgx sees that it is closed
}

// suspect has all connections checked before their next use.
func (h *health) suspect() { h.suspected.Store(int64(time.Since(h.began))) }

// replace closes all connections: idle ones now, others after their use.
func (h *health) replace() {
	now := time.Since(h.began)
	last := h.reset.Load()
	if (last == 0 || now-time.Duration(last) > resetEvery) && h.reset.CompareAndSwap(last, int64(now)) {
		h.pool.Reset()
	}
}

// acquire gets a connection from the pool.
func (p *postgres) acquire(ctx context.Context) (*pgxpool.Conn, error) {
	if limit := p.limits.perStatement(ctx); limit > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, limit)
		defer cancel()
	}
	conn, err := p.pool.Acquire(ctx)
	if err != nil {
		return nil, fmt.Errorf("get a connection: %w", err)
	}
	return conn, nil
}

// judge draws the conclusions from the error of a use of a connection.
func (p *postgres) judge(ctx context.Context, conn *pgxpool.Conn, err error) {
	switch {
	case err == nil:
	case readOnly(err):
		// The server is a replica now, or takes no writes in this session. New connections may lead
		// elsewhere.
		closeNow(ctx, conn.Conn())
		p.health.replace()
	case errors.Is(err, context.DeadlineExceeded) && conn.Conn().IsClosed():
		p.health.suspect()
	}
}

// closeNow closes a connection without waiting for the server.
func closeNow(ctx context.Context, conn *pgx.Conn) {
	ended, cancel := context.WithCancel(ctx)
	cancel()
	_ = conn.Close(ended)
}

// readOnly reports whether PostgreSQL refused a write because the session takes none.
func readOnly(err error) bool {
	e, ok := errors.AsType[*pgconn.PgError](err)
	return ok && e.Code == "25006"
}
