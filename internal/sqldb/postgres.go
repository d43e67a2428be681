package sqldb

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
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
	own       *pgx.ConnConfig // of connections outside the pool
	pooled    bool            // behind a pooler
	direct    bool            // own leads past it
	limits    limits
	health    *health
	log       *slog.Logger
	tries     int                    // per write
	cut       func(sql string) error // see Options
	ping      time.Duration          // interval of a listener's pings to itself
	committed atomic.Int64
}

func (p *postgres) commits() int64 { return p.committed.Load() }

// maxTries limits the runs of a transaction that PostgreSQL aborts because of a conflict.
const maxTries = 5

func (p *postgres) inUse() int { return int(p.pool.Stat().AcquiredConns()) }

func (p *postgres) readersMax() int { return int(p.pool.Config().MaxConns) }

func (p *postgres) folder() string { return "postgres" }

func (p *postgres) file() string { return "" }

func (p *postgres) close() error {
	p.pool.Close()
	return nil
}

func (p *postgres) read(ctx context.Context, fn func(*Tx) error) error {
	ctx, cancel := p.limits.bound(ctx)
	defer cancel()
	return p.transact(ctx, "begin isolation level repeatable read read only", fn)
}

// write runs fn again after a conflict. Writers of one partner are serialized (see partner.Lock),
// so this is rare.
func (p *postgres) write(ctx context.Context, fn func(*Tx) error) error {
	ctx, cancel := p.limits.bound(ctx)
	defer cancel()
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
	conn, err := p.acquire(ctx)
	if err != nil {
		return err
	}
	// A connection that is not idle, as after a panic of fn, is not reused.
	defer conn.Release()
	s := p.session(ctx, conn)
	s.begin = begin
	s.cut = p.cut
	err = fn(&Tx{Locks: postgresLocks, session: s, engine: p})
	if err == nil {
		err = s.commit(ctx)
	}
	p.judge(ctx, conn, cmp.Or(s.err, err))
	if err != nil && s.begun() && !conn.Conn().IsClosed() {
		// The request may be over, but the connection can still be saved.
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
		defer cancel()
		if _, rerr := conn.Exec(ctx, "rollback"); rerr != nil {
			err = errors.Join(err, conn.Conn().Close(ctx))
		}
	}
	return err
}

func (p *postgres) query(ctx context.Context, st *statement) error {
	ctx, cancel := p.limits.bound(ctx)
	defer cancel()
	conn, err := p.acquire(ctx)
	if err != nil {
		return err
	}
	defer conn.Release()
	s := p.session(ctx, conn)
	s.send(st)
	err = s.flush(ctx)
	p.judge(ctx, conn, err)
	return err
}

// session returns a session without a transaction. Without begin, statements of one round trip are a
// transaction.
func (p *postgres) session(ctx context.Context, conn *pgxpool.Conn) *pgSession {
	return &pgSession{
		conn: conn.Conn(), settings: p.limits.settings(ctx), until: p.limits.until(ctx),
		limit: p.limits.perStatement(ctx),
	}
}

// Advisory locks are numbers. The sign bit means a name (tryLocks), the bit below it a mark. The
// lock of migrations has neither. The third bit separates marks of rows from marks of drawn ids.

func (p *postgres) tryLocks(names []string) *statement {
	return &statement{
		sql: `SELECT name FROM unnest(CAST($1 AS text[])) AS names(name)
			WHERE NOT pg_try_advisory_xact_lock(hashtextextended(name, 0) | (-9223372036854775808))`,
		args: []any{names},
	}
}

// lastDrawn selects the newest id of a sequence; a new sequence says 1 and means none.
const lastDrawn = `SELECT CASE WHEN is_called THEN last_value ELSE 0 END FROM `

// mark locks the number of the newest id until the transaction ends; the transaction draws higher
// ids. It also gives the transaction its number, which tells stableUpTo that one is in flight.
func (p *postgres) mark(of ordered) *statement {
	return &statement{
		sql: fmt.Sprintf(
			`SELECT pg_advisory_xact_lock_shared((%d::bigint << 61) | (%s%s)), pg_current_xact_id()`,
			of.marks(),
			lastDrawn,
			of.name,
		),
	}
}

// marks returns the first three bits of the marks of a sequence. There is one sequence of each
// kind.
func (o ordered) marks() int {
	if o.rows != "" {
		return 3
	}
	return 2
}

// stableUpTo reads the newest id first, then the marks. A transaction without a mark so far draws
// its ids later, so they are higher. One without its mark has ended, and a reader sees its rows.
// Both queries share a round trip, but not a snapshot.
//
// If no numbered transaction is in flight (the oldest is the next one), there are no marks, and
// they are not read: the server would search all its connections, which takes five times as long as
// the rest.
func (p *postgres) stableUpTo(ctx context.Context, of ordered) (int64, error) {
	ctx, cancel := p.limits.bound(ctx)
	defer cancel()
	conn, err := p.acquire(ctx)
	if err != nil {
		return 0, err
	}
	defer conn.Release()
	session := p.session(ctx, conn)
	defer func() { p.judge(ctx, conn, session.err) }()
	tx := &Tx{session: session, engine: p} // no begin
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

var postgresLocks = Locks{
	ForUpdate: " FOR UPDATE", ForShare: " FOR SHARE", SkipLocked: " FOR NO KEY UPDATE SKIP LOCKED",
}

// pgSession collects statements and sends them in one pipeline: begin with the first, commit with
// the last.
type pgSession struct {
	conn    *pgx.Conn
	begin   string // "" once it is sent
	pending []*statement
	cut     func(sql string) error // see Options
	err     error

	settings string        // a statement that sets the session up, sent first; "": none
	until    time.Time     // all answers must come before; zero: no limit
	limit    time.Duration // of each statement; 0: none
}

func (s *pgSession) begun() bool { return s.begin == "" }

func (s *pgSession) send(st *statement) { s.pending = append(s.pending, st) }

func (s *pgSession) flush(ctx context.Context) error {
	if s.err != nil || len(s.pending) == 0 {
		return s.err
	}
	s.pending = slices.Concat(s.beginning(), s.pending)
	for rest := s.pending; len(rest) > 0 && s.err == nil; {
		var trip []*statement
		trip, rest = nextTrip(rest)
		s.err = s.travel(ctx, trip)
	}
	s.pending = s.pending[:0]
	return s.err
}

// beginning returns the statements before the first one.
func (s *pgSession) beginning() (list []*statement) {
	for _, sql := range []*string{&s.begin, &s.settings} {
		if *sql != "" {
			list = append(list, &statement{sql: *sql})
			*sql = ""
		}
	}
	return list
}

// travel runs the statements of one round trip.
func (s *pgSession) travel(ctx context.Context, trip []*statement) error {
	until := s.until
	if s.limit > 0 {
		until = time.Now().Add(time.Duration(len(trip)) * s.limit)
	}
	if !until.IsZero() {
		var cancel context.CancelFunc
		ctx, cancel = context.WithDeadline(ctx, until)
		defer cancel()
	}
	if trip[0].copied != nil {
		return s.copy(ctx, trip[0])
	}
	return s.pipeline(ctx, trip)
}

// nextTrip splits off the statements of the next round trip. A COPY goes alone.
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
	if err != nil && ctx.Err() != nil { // err may only say that the connection is closed
		err = errors.Join(ctx.Err(), err)
	}
	if err != nil {
		err = fmt.Errorf("%s: %w", st.sql, err)
	}
	st.done = true
	st.err = err
	return err
}

// pipeline sends statements in one round trip and reads their answers in order.
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

// answers reads the answers to statements, in order.
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

// pgArgs converts times to their stored form; pgx handles the rest.
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

// IsDuplicate reports whether err is a violation of a unique index. On PostgreSQL it aborts the
// transaction; prefer ON CONFLICT.
func IsDuplicate(err error) bool {
	if e, ok := errors.AsType[*pgconn.PgError](err); ok {
		return e.Code == "23505"
	}
	return isSQLiteDuplicate(err)
}
