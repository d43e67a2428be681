package sqldb

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"runtime"
	"slices"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgtype"
	"github.com/jackc/pgx/v5/pgxpool"
)

// postgres is a pool of connections to PostgreSQL.
type postgres struct {
	pool      *pgxpool.Pool
	log       *slog.Logger
	tries     int                    // of a write
	cut       func(sql string) error // see Options
	ping      time.Duration          // between two pings of a listener to itself
	committed atomic.Int64
}

func (p *postgres) commits() int64 { return p.committed.Load() }

// maxTries bounds how often a transaction is run again when PostgreSQL says that
// it got in another's way.
const maxTries = 5

// sessionSettings are settings of the server for our sessions. The database URL may set
// them, too.
var sessionSettings = map[string]string{
	// A node that stops in the middle of a transaction, or is cut off from the
	// database, must not hold its locks: all others would wait for them. Nothing
	// of ours pauses inside a transaction, so this is long.
	"idle_in_transaction_session_timeout": "5s",
	// Where much waits to be delivered, the server takes the search for a few of it for a
	// dear one, and compiles it first: 120 ms for one that takes 2.
	"jit": "off",
}

func openPostgres(ctx context.Context, url string, o Options) (engine, error) {
	cfg, err := pgxpool.ParseConfig(url)
	if err != nil {
		// The error of pgx quotes the URL, password masked; the cause is enough.
		return nil, fmt.Errorf("read the database URL: %w", errors.Unwrap(err))
	}
	cfg.MaxConns = int32(o.Readers) //nolint:gosec // a setting, checked where it is read
	if o.Readers <= 0 {
		cfg.MaxConns = int32(10 * runtime.NumCPU()) //nolint:gosec // cores are few
	}
	if cfg.ConnConfig.ConnectTimeout == 0 {
		cfg.ConnConfig.ConnectTimeout = 5 * time.Second
	}
	for name, value := range sessionSettings {
		if params := cfg.ConnConfig.RuntimeParams; params[name] == "" {
			params[name] = value
		}
	}
	params := cfg.ConnConfig.RuntimeParams
	params["application_name"] = newSessionName(cmp.Or(params["application_name"], "claviger"))
	dropCutOff(cfg)
	pool, err := pgxpool.NewWithConfig(ctx, cfg)
	if err != nil {
		return nil, fmt.Errorf("open the database: %w", err)
	}
	if err := pool.Ping(ctx); err != nil {
		pool.Close()
		return nil, fmt.Errorf("reach the database: %w", err)
	}
	tries := maxTries
	if o.NoRetry {
		tries = 1
	}
	return &postgres{pool: pool, log: o.Log, ping: pingEvery, tries: tries, cut: o.Cut}, nil
}

func (p *postgres) inUse() int { return int(p.pool.Stat().AcquiredConns()) }

func (p *postgres) readersMax() int { return int(p.pool.Config().MaxConns) }

func (p *postgres) folder() string { return "postgres" }

func (p *postgres) close() error {
	p.pool.Close()
	return nil
}

func (p *postgres) read(ctx context.Context, fn func(*Tx) error) error {
	return p.transact(ctx, "begin isolation level repeatable read read only", fn)
}

// write runs fn until it is not in another's way. Writers of one partner take
// their turns (see partner.Lock), so running again is rare.
func (p *postgres) write(ctx context.Context, fn func(*Tx) error) error {
	var err error
	for range p.tries {
		if err = p.transact(ctx, "begin", fn); err == nil {
			p.committed.Add(1)
		}
		if e, ok := errors.AsType[*pgconn.PgError](err); !ok || e.Code != "40001" && e.Code != "40P01" {
			return err
		}
	}
	return err
}

func (p *postgres) transact(ctx context.Context, begin string, fn func(*Tx) error) error {
	conn, err := p.pool.Acquire(ctx)
	if err != nil {
		return fmt.Errorf("get a connection: %w", err)
	}
	// A connection that is not idle, as after a panic of fn, is not used again.
	defer conn.Release()
	s := &pgSession{conn: conn.Conn(), begin: begin, cut: p.cut}
	err = fn(&Tx{session: s, engine: p})
	if err == nil {
		err = s.commit(ctx)
	}
	if err != nil && s.begun() && !conn.Conn().IsClosed() {
		// The request may be over; the connection is worth saving all the same.
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
		defer cancel()
		if _, rerr := conn.Exec(ctx, "rollback"); rerr != nil {
			err = errors.Join(err, conn.Conn().Close(ctx))
		}
	}
	return err
}

func (p *postgres) query(ctx context.Context, s *statement) error {
	rows, err := p.pool.Query(ctx, s.sql, pgArgs(s.args)...)
	if err == nil {
		err = s.take(rows)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", firstWords(s.sql), err)
	}
	return nil
}

// Advisory locks are numbers. Those with the sign bit are names (tryLocks), those
// with the bit below it are marks, and the one of migrations has neither. The third bit
// tells marks of rows from those of drawn ids.

func (p *postgres) tryLocks(names []string) *statement {
	return &statement{
		sql: `SELECT name FROM unnest(CAST($1 AS text[])) AS names(name)
			WHERE NOT pg_try_advisory_xact_lock(hashtextextended(name, 0) | (-9223372036854775808))`,
		args: []any{names},
	}
}

// lastDrawn is the newest id of a sequence; a new one says 1 and means none.
const lastDrawn = `SELECT CASE WHEN is_called THEN last_value ELSE 0 END FROM `

// mark locks, until the transaction ends, the number of the newest id before its
// own: what it draws next is higher. It also gives the transaction its number, by which
// stableUpTo knows that there is one in flight.
func (p *postgres) mark(of ordered) *statement {
	return &statement{sql: fmt.Sprintf(`SELECT pg_advisory_xact_lock_shared((%d::bigint << 61) | (%s%s)), pg_current_xact_id()`, of.marks(), lastDrawn, of.name)}
}

// marks are the first three bits of the marks of a sequence. There is one sequence of
// each kind.
func (o ordered) marks() int {
	if o.rows != "" {
		return 3
	}
	return 2
}

// stableUpTo reads the newest id first, then the marks. A transaction whose mark is
// not there yet draws its ids later still, so they are higher; one whose mark is
// gone is decided, and whoever reads now sees what it did. The two go in one round trip,
// but are not read as of one snapshot. Where no transaction that has a number is in flight,
// the oldest being the one that comes next, there is no mark, and they are not read: the
// server goes through all its connections for them, which takes five times as long as the
// rest.
func (p *postgres) stableUpTo(ctx context.Context, of ordered) (int64, error) {
	conn, err := p.pool.Acquire(ctx)
	if err != nil {
		return 0, fmt.Errorf("get a connection: %w", err)
	}
	defer conn.Release()
	tx := &Tx{session: &pgSession{conn: conn.Conn()}, engine: p} // without a begin
	newest := QueueQuery(tx, Value[int64], lastDrawn+of.name)
	oldest, err := QueueQuery(tx, Value[int64], `SELECT CASE WHEN age(pg_snapshot_xmin(now)::xid) = 0 THEN $2 ELSE (
			SELECT coalesce(min(((classid::bigint & 536870911) << 32) | objid::bigint), $2)
			FROM pg_locks WHERE locktype = 'advisory' AND objsubid = 1 AND classid::bigint >> 29 = $1
				AND database = (SELECT oid FROM pg_database WHERE datname = current_database())) END
		FROM pg_current_snapshot() AS now`, of.marks(), int64(math.MaxInt64)).One(ctx)
	if err != nil {
		return 0, err
	}
	last, err := newest.One(ctx)
	return min(last, oldest), err
}

func (p *postgres) forUpdate() string { return " FOR UPDATE" }

func (p *postgres) forKeyShare() string { return " FOR KEY SHARE" }

func (p *postgres) forShare() string { return " FOR SHARE" }

func (p *postgres) forNoKeyUpdate() string { return " FOR NO KEY UPDATE" }

func (p *postgres) skipLockedNoKey() string { return " FOR NO KEY UPDATE SKIP LOCKED" }

func (p *postgres) skipLocked() string { return " FOR UPDATE SKIP LOCKED" }

// pgSession gathers statements and sends them in one pipeline: the begin goes
// with the first, the commit with the last.
type pgSession struct {
	conn    *pgx.Conn
	begin   string // "" once it is sent
	pending []*statement
	cut     func(sql string) error // see Options
	err     error
}

func (s *pgSession) begun() bool { return s.begin == "" }

func (s *pgSession) send(st *statement) { s.pending = append(s.pending, st) }

func (s *pgSession) flush(ctx context.Context) error {
	if s.err != nil || len(s.pending) == 0 {
		return s.err
	}
	if s.begin != "" {
		s.pending = append([]*statement{{sql: s.begin}}, s.pending...)
		s.begin = ""
	}
	for rest := s.pending; len(rest) > 0 && s.err == nil; {
		var trip []*statement
		if trip, rest = nextTrip(rest); trip[0].copied != nil {
			s.err = s.copy(ctx, trip[0])
		} else {
			s.err = s.pipeline(ctx, trip)
		}
	}
	s.pending = s.pending[:0]
	return s.err
}

// nextTrip parts the statements that go to the server in one round trip from the rest.
// A COPY goes alone.
func nextTrip(sts []*statement) (trip, rest []*statement) {
	n := slices.IndexFunc(sts, func(st *statement) bool { return st.copied != nil })
	switch {
	case n == 0:
		n = 1
	case n < 0:
		n = len(sts)
	}
	return sts[:n], sts[n:]
}

// copy sends rows by COPY.
func (s *pgSession) copy(ctx context.Context, st *statement) error {
	b := st.copied
	for _, row := range b.rows {
		pgArgs(row)
	}
	var err error
	st.rows, err = s.conn.CopyFrom(ctx, pgx.Identifier{b.table}, b.columns, pgx.CopyFromRows(b.rows))
	if err != nil && ctx.Err() != nil { // it may only say that the connection is closed
		err = errors.Join(ctx.Err(), err)
	}
	if err != nil {
		err = fmt.Errorf("%s: %w", st.sql, err)
	}
	st.done, st.err = true, err
	return err
}

// pipeline sends statements in one round trip and takes their answers in order.
func (s *pgSession) pipeline(ctx context.Context, sts []*statement) error {
	var b pgx.Batch
	for i, st := range sts {
		if s.cut != nil {
			if err := s.cut(st.sql); err != nil {
				return errors.Join(s.answers(s.conn.SendBatch(ctx, &b), sts[:i]), err, s.conn.Close(ctx))
			}
		}
		b.Queue(st.sql, pgArgs(st.args)...)
	}
	return s.answers(s.conn.SendBatch(ctx, &b), sts)
}

// answers takes the answers to statements, in their order.
func (s *pgSession) answers(answers pgx.BatchResults, sts []*statement) error {
	var failed error
	for _, st := range sts {
		st.done = true
		if failed == nil {
			rows, err := answers.Query()
			if err == nil {
				err = st.take(rows)
			}
			if err != nil {
				failed = fmt.Errorf("%s: %w", firstWords(st.sql), err)
			}
		}
		st.err = failed
	}
	if err := answers.Close(); failed == nil && err != nil {
		failed = fmt.Errorf("finish a batch: %w", err)
	}
	return failed
}

func (s *pgSession) commit(ctx context.Context) error {
	if s.err != nil || s.begin != "" && len(s.pending) == 0 {
		return s.err
	}
	s.send(&statement{sql: "commit"})
	return s.flush(ctx)
}

// take reads an answer to its end.
func (s *statement) take(rows pgx.Rows) error {
	defer rows.Close()
	row := Row{pg: rows}
	for rows.Next() {
		if s.each == nil {
			continue
		}
		if err := s.each(&row); err != nil {
			return err
		}
	}
	s.done = true
	s.rows = rows.CommandTag().RowsAffected()
	return rows.Err()
}

// pgArgs turns times into what is stored; pgx knows the rest.
func pgArgs(args []any) []any {
	for i, a := range args {
		if t, ok := a.(time.Time); ok {
			args[i] = toNanos(t)
		}
	}
	return args
}

// nanos scans a stored time.
type nanos time.Time

// ScanInt64 implements pgtype.Int64Scanner.
func (n *nanos) ScanInt64(v pgtype.Int8) error {
	*n = nanos(fromNanos(v.Int64))
	return nil
}

// IsDuplicate reports whether err is a breach of a unique index. On PostgreSQL
// the transaction is lost with it; prefer ON CONFLICT.
func IsDuplicate(err error) bool {
	if e, ok := errors.AsType[*pgconn.PgError](err); ok {
		return e.Code == "23505"
	}
	return isSQLiteDuplicate(err)
}
