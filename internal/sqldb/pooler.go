package sqldb

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// ErrRefusedParameter means that a pooler does not know a parameter of the URL.
var ErrRefusedParameter = errors.New("a pooler refused a parameter of the URL")

// tracked are the settings that a pooler sets for each transaction by itself.
var tracked = []string{"application_name", "client_encoding", "datestyle", "timezone", "standard_conforming_strings"}

// passPooler finds out whether a pooler is between us and PostgreSQL, and prepares for it if so. A
// pooler may give each transaction another session: a prepared statement is missing in it, and a
// setting of the session is lost. Without a pooler it changes nothing.
func (p *postgres) passPooler(ctx context.Context, cfg *pgx.ConnConfig) error {
	plain := cfg.Copy()
	conn, err := pgx.ConnectConfig(ctx, plain)
	refused := refusedSetting(err)
	if refused {
		for name := range settingsOf(plain) {
			delete(plain.RuntimeParams, name)
		}
		conn, err = pgx.ConnectConfig(ctx, plain)
	}
	if refusedSetting(err) {
		err = fmt.Errorf("%w: %w", ErrRefusedParameter, err)
	}
	if err != nil {
		return err
	}
	defer closeNow(ctx, conn)
	if !refused {
		var session uint32
		// Without a prepared statement, which another session may have.
		err := conn.QueryRow(ctx, `SELECT pg_backend_pid()`, pgx.QueryExecModeExec).Scan(&session)
		if err != nil || session == conn.PgConn().PID() {
			return err
		}
	}
	p.pooled = true
	p.limits.always = setters(settingsOf(cfg))
	cfg.RuntimeParams = plain.RuntimeParams
	for name := range settingsOf(cfg) {
		delete(cfg.RuntimeParams, name)
	}
	if cfg.DefaultQueryExecMode == pgx.QueryExecModeCacheStatement {
		cfg.DefaultQueryExecMode = pgx.QueryExecModeCacheDescribe
	}
	return nil
}

// refusedSetting reports whether a pooler refused a connection because it knows a setting of it not.
func refusedSetting(err error) bool {
	e, ok := errors.AsType[*pgconn.PgError](err)
	return ok && e.Code == "08P01" && strings.Contains(e.Message, "startup parameter")
}

// settingsOf returns the settings that a pooler may refuse or lose.
func settingsOf(cfg *pgx.ConnConfig) map[string]string {
	list := maps.Clone(cfg.RuntimeParams)
	maps.DeleteFunc(list, func(name, _ string) bool {
		// Options are arguments of the server, which no statement can set.
		return slices.Contains(tracked, strings.ToLower(name)) || name == "options"
	})
	return list
}

// setters returns the columns of a SELECT that sets settings until the transaction ends.
func setters(list map[string]string) string {
	delete(list, "statement_timeout") // see limits.settings
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(list)) {
		_, _ = fmt.Fprintf(&b, ", set_config(%s, %s, true)", quoted(name), quoted(list[name]))
	}
	return b.String()
}

func quoted(text string) string { return "'" + strings.ReplaceAll(text, "'", "''") + "'" }

// Pooled reports whether a pooler is between this program and PostgreSQL, and whether connections
// of Reserve go past it.
func (db *DB) Pooled(ctx context.Context) (pooled, past bool, err error) {
	p, ok := db.engine.(*postgres)
	if !ok || !p.pooled || !p.direct {
		return ok && p.pooled, false, nil
	}
	conn, err := p.reserve(ctx)
	if err != nil {
		return true, false, err
	}
	defer closeNow(ctx, conn.conn)
	session, err := One(ctx, conn, Value[uint32], `SELECT pg_backend_pid()`)
	return true, err == nil && session == conn.conn.PgConn().PID(), err
}
