package sqldb

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"runtime"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
)

// Times of connecting.
const (
	connectTime = 5 * time.Second
	// With several hosts, the first may be down, and each new connection tries it.
	connectTimeEach = 2 * time.Second
	userTimeout     = 5 * time.Second // how long data may stay unconfirmed
)

// sessionSettings are server settings for our sessions. The database URL may override them.
var sessionSettings = map[string]string{
	// A node that stops inside a transaction, or loses the database, must not keep its locks: all
	// others would wait for them. Our code never pauses inside a transaction, so 5 s is long.
	"idle_in_transaction_session_timeout": "5s",
	// With a large outbox the planner overestimates the query for a few deliveries and JIT-compiles
	// it: 120 ms instead of 2.
	"jit": "off",
}

func openPostgres(ctx context.Context, url string, o Options) (engine, error) {
	cfg, err := pgxpool.ParseConfig(url)
	if err != nil {
		// The error of pgx quotes the URL with a masked password; the cause is enough.
		return nil, fmt.Errorf("read the database URL: %w", errors.Unwrap(err))
	}
	cfg.MaxConns = int32(o.Readers) //nolint:gosec // a setting, checked when it is read
	if o.Readers <= 0 {
		cfg.MaxConns = int32(10 * runtime.NumCPU()) //nolint:gosec // cores are few
	}
	name := newSessionName(cmp.Or(cfg.ConnConfig.RuntimeParams["application_name"], "claviger"))
	prepare(cfg.ConnConfig, url, name)
	p := &postgres{
		log: o.Log, ping: pingEvery, tries: maxTries, cut: o.Cut,
		limits: limits{request: o.Timeout, job: o.JobTimeout}, health: &health{began: time.Now()},
	}
	if o.NoRetry {
		p.tries = 1
	}
	if err := p.passPooler(ctx, cfg.ConnConfig); err != nil {
		return nil, fmt.Errorf("reach the database: %w", err)
	}
	if p.own, err = p.ownConfig(cfg.ConnConfig, o.DirectURL, name); err != nil {
		return nil, err
	}
	if params := cfg.ConnConfig.RuntimeParams; !p.pooled && o.Timeout > 0 && params["statement_timeout"] == "" {
		params["statement_timeout"] = strconv.FormatInt(p.limits.statement().Milliseconds(), 10)
	}
	dropCutOff(cfg)
	cfg.ShouldPing = p.health.check
	if p.pool, err = pgxpool.NewWithConfig(ctx, cfg); err != nil {
		return nil, fmt.Errorf("open the database: %w", err)
	}
	p.health.pool = p.pool
	if err := errors.Join(p.pool.Ping(ctx), p.checkDirect(ctx)); err != nil {
		p.pool.Close()
		return nil, fmt.Errorf("reach the database: %w", err)
	}
	return p, nil
}

// errElsewhere means that a migration would change another database than the one in use.
var errElsewhere = errors.New("the direct URL leads to another database than the URL")

// checkDirect checks that both URLs lead to one database: to the same one of the same server.
func (p *postgres) checkDirect(ctx context.Context) error {
	if !p.direct {
		return nil
	}
	own, err := p.reserve(ctx)
	if err != nil {
		return fmt.Errorf("by the direct URL: %w", err)
	}
	defer closeNow(ctx, own.conn)
	const identity = `SELECT oid::text || ' ' || extract(epoch FROM pg_postmaster_start_time())::text FROM pg_database
		WHERE datname = current_database()`
	there, err := One(ctx, own, Value[string], identity)
	if err != nil {
		return err
	}
	here, err := One(ctx, &DB{engine: p}, Value[string], identity)
	if err == nil && here != there {
		err = errElsewhere
	}
	return err
}

// ownConfig returns the configuration of connections outside the pool.
func (p *postgres) ownConfig(pool *pgx.ConnConfig, direct, name string) (*pgx.ConnConfig, error) {
	if direct == "" {
		return pool.Copy(), nil
	}
	own, err := pgx.ParseConfig(direct)
	if err != nil {
		return nil, fmt.Errorf("read the direct URL of the database: %w", errors.Unwrap(err))
	}
	prepare(own, direct, name)
	p.direct = true
	return own, nil
}

// prepare completes the settings of connections to a URL.
func prepare(cfg *pgx.ConnConfig, url, name string) {
	several := severalHosts(&cfg.Config)
	if cfg.ConnectTimeout == 0 {
		cfg.ConnectTimeout = connectTime
		if several {
			cfg.ConnectTimeout = connectTimeEach
		}
	}
	if several && cfg.ValidateConnect == nil && !namesTarget(url) {
		cfg.ValidateConnect = pgconn.ValidateConnectTargetSessionAttrsReadWrite
	}
	cfg.DialFunc = (&net.Dialer{
		KeepAliveConfig: net.KeepAliveConfig{Enable: true, Idle: userTimeout, Interval: 2 * time.Second, Count: 3},
		Control:         limitUnconfirmed,
	}).DialContext
	for name, value := range sessionSettings {
		if cfg.RuntimeParams[name] == "" {
			cfg.RuntimeParams[name] = value
		}
	}
	cfg.RuntimeParams["application_name"] = name
}

// severalHosts reports whether connections may lead to different servers. For one server, pgx has
// fallbacks with another encryption.
func severalHosts(cfg *pgconn.Config) bool {
	for _, f := range cfg.Fallbacks {
		if f.Host != cfg.Host || f.Port != cfg.Port {
			return true
		}
	}
	return false
}

// namesTarget reports whether the operator chose the kind of server, which may be any.
func namesTarget(address string) bool {
	u, err := url.Parse(address)
	return err == nil && u.Query().Has("target_session_attrs") || os.Getenv("PGTARGETSESSIONATTRS") != ""
}
