package sqldb

import (
	"context"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgconn/ctxwatch"
	"github.com/jackc/pgx/v5/pgxpool"
)

// cutOff interrupts a connection when its context ends, as pgx does by default, and marks the
// connection.
type cutOff struct {
	pgconn.DeadlineContextWatcherHandler
	marks map[string]any // of the connection
}

const cutOffMark = "claviger: its context ended"

// HandleUnwatchAfterCancel implements ctxwatch.Handler.
func (c *cutOff) HandleUnwatchAfterCancel() {
	c.DeadlineContextWatcherHandler.HandleUnwatchAfterCancel()
	c.marks[cutOffMark] = true
}

// dropCutOff makes the pool close a connection whose context ended during use, even if the query
// was already answered. After a slow write, pgx reads in the background, beyond the answer. That
// read hits the deadline, and the next user of the connection would get its error.
func dropCutOff(cfg *pgxpool.Config) {
	cfg.ConnConfig.BuildContextWatcherHandler = func(c *pgconn.PgConn) ctxwatch.Handler {
		return &cutOff{pgconn.DeadlineContextWatcherHandler{Conn: c.Conn()}, c.CustomData()}
	}
	cfg.PrepareConn = func(_ context.Context, c *pgx.Conn) (bool, error) {
		return c.PgConn().CustomData()[cutOffMark] == nil, nil
	}
}
