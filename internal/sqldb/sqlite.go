package sqldb

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/ncruces/go-sqlite3"

	"claviger/internal/sqldb/internal/litefile"
)

// sqlite has one writing connection, behind a goroutine that groups transactions, and a few reading
// ones.
type sqlite struct {
	path    string
	writer  *writer
	readers chan *sqliteConn // idle ones; nil: not opened yet
	size    int
	closing chan struct{}
	lock    atomic.Pointer[sqlite3.Conn] // see acquireExclusive

	unpurged chan struct{} // see purge
	erased   atomic.Bool   // the log has data that this process erased
	purged   chan struct{} // closed after purger has ended

	peeker peeker
	place  *place

	closeOnce sync.Once
	closeErr  error
}

func (l *sqlite) inUse() int { return l.size - len(l.readers) }

func (l *sqlite) commits() int64 { return l.writer.commits.Load() }

// sqliteBusy is the lock timeout of a connection; sqlitePragmas has the same value.
const sqliteBusy = 10 * time.Second

// sqlitePragmas apply to every connection. secure_delete overwrites deleted data: people can ask to
// be erased, and a file can be stolen. synchronous=FULL: an acknowledged write is on disk. The
// cache is bounded because each connection has its own. logBound bounds the log.
const sqlitePragmas = `
	PRAGMA busy_timeout = 10000;
	PRAGMA journal_mode = WAL;
	PRAGMA synchronous = FULL;
	PRAGMA foreign_keys = ON;
	PRAGMA secure_delete = ON;
	PRAGMA cache_size = -8192;
	PRAGMA temp_store = MEMORY;`

func openSQLite(ctx context.Context, path string, o Options) (engine, error) {
	if err := CheckLeftLog(path); err != nil {
		if !o.NewDatabase {
			return nil, err
		}
		if err := setAside(litefile.RealPath(path)); err != nil {
			return nil, err
		}
	}
	flags := os.O_RDWR | os.O_CREATE
	if o.MustExist {
		flags = os.O_RDWR
	}
	f, err := os.OpenFile(path, flags, litefile.OwnerOnly) //nolint:gosec // the operator names the file
	if err != nil {
		return nil, fmt.Errorf("open the database file: %w", err)
	}
	if err := f.Close(); err != nil {
		return nil, fmt.Errorf("make the database file: %w", err)
	}
	path = litefile.RealPath(path)
	c, err := openSQLiteConn(ctx, litefile.Gathering, path, sqlitePragmas)
	if err != nil {
		return nil, err
	}
	at, err := newPlace(path)
	if err != nil {
		return nil, errors.Join(err, c.Close())
	}
	size := o.Readers
	if size <= 0 {
		size = 2 * runtime.NumCPU()
	}
	l := &sqlite{
		path: path, readers: make(chan *sqliteConn, size), size: size, closing: make(chan struct{}),
		unpurged: make(chan struct{}, 1), purged: make(chan struct{}), place: at,
	}
	for range size {
		l.readers <- nil
	}
	c.cut = o.Cut
	l.writer = newWriter(c, l, l.closing)
	l.writer.bound = logBound{disk: l.disk, log: o.Log, path: path}
	if err := l.writer.bound.begin(c); err != nil {
		return nil, errors.Join(err, c.Close())
	}
	go l.writer.run()
	if info, err := os.Stat(path + "-wal"); err == nil && info.Size() > 0 {
		l.unpurged <- struct{}{} // the log may be left from an unfinished purge
	}
	go l.purger(context.WithoutCancel(ctx), o.Log)
	return l, nil
}

func (l *sqlite) readersMax() int { return l.size }

func (l *sqlite) folder() string { return "sqlite" }

func (l *sqlite) file() string { return l.path }

func (l *sqlite) read(ctx context.Context, fn func(*Tx) error) error {
	return l.withReader(ctx, func(c *sqliteConn) error {
		if err := c.exec("BEGIN"); err != nil {
			return fmt.Errorf("begin a snapshot: %w", err)
		}
		// Even if fn panics or ctx is over, the connection must be reusable.
		defer func() {
			c.SetInterrupt(context.Background())
			_ = c.exec("ROLLBACK") // nothing was written
		}()
		s := &sqliteSession{conn: c}
		if err := fn(&Tx{session: s, engine: l}); err != nil {
			return err
		}
		return s.err
	})
}

func (l *sqlite) query(ctx context.Context, s *statement) error {
	return l.withReader(ctx, func(c *sqliteConn) error { return c.run(s) })
}

func (l *sqlite) withReader(ctx context.Context, fn func(*sqliteConn) error) (err error) {
	var c *sqliteConn
	select {
	case c = <-l.readers:
	case <-l.closing:
		return ErrClosed
	case <-ctx.Done():
		return fmt.Errorf("wait for a connection that reads: %w", context.Cause(ctx))
	}
	defer func() { l.readers <- c }()
	if c == nil {
		if c, err = openSQLiteConn(ctx, litefile.Private, l.path, sqlitePragmas+"PRAGMA query_only = ON;"); err != nil {
			return err
		}
	}
	c.SetInterrupt(ctx)
	defer c.SetInterrupt(context.Background()) //nolint:contextcheck // the connection outlives the request
	err = fn(c)
	if errors.Is(err, sqlite3.INTERRUPT) && ctx.Err() != nil {
		return fmt.Errorf("read: %w", context.Cause(ctx))
	}
	return err
}

func (l *sqlite) write(ctx context.Context, fn func(*Tx) error) error {
	return l.writer.do(ctx, fn)
}

// There is one writer, and ids are drawn and committed in the same order.

func (l *sqlite) mark(ordered) *statement { return nil }

func (l *sqlite) stableUpTo(ctx context.Context, of ordered) (int64, error) {
	if of.rows != "" {
		return One(
			ctx,
			&DB{engine: l},
			Value[int64],
			`SELECT coalesce(max(seq), 0) FROM sqlite_sequence WHERE name = $1`,
			of.rows,
		)
	}
	return One(ctx, &DB{engine: l}, Value[int64], `SELECT last FROM sequences WHERE name = $1`, of.name)
}

func (l *sqlite) tryLocks(names []string) *statement {
	return &statement{sql: `SELECT value FROM json_each($1) WHERE FALSE`, args: []any{names}}
}

// close closes the database once. Every caller waits for that and gets its error.
func (l *sqlite) close() error {
	l.closeOnce.Do(func() { l.closeErr = l.closeAll() })
	return l.closeErr
}

func (l *sqlite) closeAll() error {
	close(l.closing)
	<-l.writer.done
	<-l.purged
	var errs []error
	for range l.size {
		if c := <-l.readers; c != nil {
			errs = append(errs, c.Close())
		}
	}
	errs = append(errs, l.emptyForOthers(l.writer.conn), l.writer.conn.Close(), l.releaseExclusive())
	return errors.Join(errs...)
}

// sqliteConn is a connection with its prepared statements.
type sqliteConn struct {
	*sqlite3.Conn
	prepared map[string]*sqlite3.Stmt
	cut      func(sql string) error // see Options
}

func openSQLiteConn(ctx context.Context, fsName, path, pragmas string) (*sqliteConn, error) {
	conn, err := litefile.Open(ctx, fsName, path, pragmas)
	if err != nil {
		return nil, err
	}
	return &sqliteConn{Conn: conn, prepared: map[string]*sqlite3.Stmt{}}, nil
}

// stmt prepares each statement once per connection.
func (c *sqliteConn) stmt(sql string) (*sqlite3.Stmt, error) {
	if s, ok := c.prepared[sql]; ok {
		return s, nil
	}
	s, tail, err := c.PrepareFlags(sqliteText(sql), sqlite3.PREPARE_PERSISTENT)
	if err != nil {
		return nil, fmt.Errorf("prepare %q: %w", sql, err)
	}
	if strings.TrimSpace(tail) != "" {
		return nil, errors.Join(fmt.Errorf("prepare %q: more than one statement", sql), s.Close())
	}
	c.prepared[sql] = s
	return s, nil
}

// Close finalizes the prepared statements and closes the connection.
func (c *sqliteConn) Close() error {
	for _, s := range c.prepared {
		_ = s.Close() // repeats the statement's last error, which was already reported
	}
	return c.Conn.Close()
}

func (c *sqliteConn) exec(sql string) error { return c.run(&statement{sql: sql}) }

// run runs a statement to its end.
func (c *sqliteConn) run(st *statement) error {
	st.done = true
	var err error
	if c.cut != nil {
		err = c.cut(st.sql)
	}
	if err == nil {
		err = c.bindAndRun(st)
	}
	if err != nil {
		st.err = fmt.Errorf("%s: %w", firstWords(st.sql), err)
	}
	return st.err
}

func (c *sqliteConn) bindAndRun(st *statement) error {
	s, err := c.stmt(st.sql)
	if err != nil {
		return err
	}
	return c.bindAndStep(s, st)
}

// bindAndStep leaves the statement reusable, even if a scan function panics.
func (c *sqliteConn) bindAndStep(s *sqlite3.Stmt, st *statement) (err error) {
	defer func() {
		again := s.Reset()
		if err == nil {
			err = again // otherwise it repeats the error of the previous step
		}
	}()
	if err := bind(s, st.args); err != nil {
		return err
	}
	return c.step(s, st)
}

func (c *sqliteConn) step(s *sqlite3.Stmt, st *statement) error {
	row := Row{lite: s}
	for s.Step() {
		if st.each == nil {
			continue
		}
		if err := st.each(&row); err != nil {
			return err
		}
	}
	st.rows = c.Changes()
	return s.Err()
}

func bind(s *sqlite3.Stmt, args []any) error {
	for i, arg := range args {
		var err error
		switch v := arg.(type) {
		case int64:
			err = s.BindInt64(i+1, v)
		case int:
			err = s.BindInt64(i+1, int64(v))
		case string:
			err = s.BindText(i+1, v)
		case bool:
			err = s.BindBool(i+1, v)
		case time.Time:
			err = s.BindInt64(i+1, toNanos(v))
		case []int64:
			err = s.BindText(i+1, sqliteList(v))
		case []string:
			var list string
			if list, err = sqliteTexts(v); err == nil {
				err = s.BindText(i+1, list)
			}
		default:
			var p any
			if p, err = plain(arg); err == nil {
				err = bind1(s, i+1, p)
			}
		}
		if err != nil {
			return fmt.Errorf("bind $%d: %w", i+1, err)
		}
	}
	return nil
}

func bind1(s *sqlite3.Stmt, n int, arg any) error {
	switch v := arg.(type) {
	case int64:
		return s.BindInt64(n, v)
	case bool:
		return s.BindBool(n, v)
	default:
		return s.BindText(n, v.(string))
	}
}

// sqliteSession runs statements immediately; there is no round trip to save. After an error it runs
// nothing more, like PostgreSQL.
type sqliteSession struct {
	conn    *sqliteConn
	numbers *numbers // nil if read-only
	err     error
}

func (s *sqliteSession) send(st *statement) {
	if s.err != nil {
		st.done = true
		st.err = s.err
		return
	}
	s.err = s.conn.run(st)
}

func (s *sqliteSession) flush(context.Context) error { return s.err }

// firstWords shortens a statement for an error message.
func firstWords(sql string) string {
	words := strings.Fields(sql)
	return strings.Join(words[:min(len(words), 6)], " ")
}

func isSQLiteDuplicate(err error) bool {
	return errors.Is(err, sqlite3.CONSTRAINT_UNIQUE) || errors.Is(err, sqlite3.CONSTRAINT_PRIMARYKEY)
}
