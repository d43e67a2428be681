package sqldb

import (
	"context"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgconn/ctxwatch"
	"github.com/jackc/pgx/v5/pgxpool"
)

// cutOff ends what a connection does when its context ends, as pgx does by itself, and
// marks the connection.
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

// dropCutOff has the pool close a connection that was used while its context ended, even
// if the query had its answer by then. Where a write was slow, pgx reads in the
// background, also beyond the answer; that read meets the deadline, and its error would
// be told to whoever uses the connection next.
func dropCutOff(cfg *pgxpool.Config) {
	cfg.ConnConfig.BuildContextWatcherHandler = func(c *pgconn.PgConn) ctxwatch.Handler {
		return &cutOff{pgconn.DeadlineContextWatcherHandler{Conn: c.Conn()}, c.CustomData()}
	}
	cfg.PrepareConn = func(_ context.Context, c *pgx.Conn) (bool, error) {
		return c.PgConn().CustomData()[cutOffMark] == nil, nil
	}
}
