package sqldb

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"strings"
	"sync/atomic"
	"time"

	"github.com/ncruces/go-sqlite3"
)

// sqlite is SQLite: one connection that writes, behind a goroutine that groups
// transactions, and a few that read.
type sqlite struct {
	path    string
	writer  *writer
	readers chan *sqliteConn // idle ones; nil stands for one not opened yet
	size    int
	closing chan struct{}
	lock    atomic.Pointer[sqlite3.Conn] // see acquireExclusive

	unpurged chan struct{} // see purge
	purged   chan struct{} // closed when purger has ended
}

func (l *sqlite) inUse() int { return l.size - len(l.readers) }

func (l *sqlite) commits() int64 { return l.writer.commits.Load() }

// sqliteBusy is how long a connection waits for another one's lock; sqlitePragmas says the same.
const sqliteBusy = 10 * time.Second

// sqlitePragmas hold for every connection. What is deleted is overwritten
// (secure_delete): people can ask to be erased, and a file can be stolen. An acknowledged write is on disk, hence
// synchronous=FULL. The cache is bounded because each connection has its own.
const sqlitePragmas = `
	PRAGMA busy_timeout = 10000;
	PRAGMA journal_mode = WAL;
	PRAGMA synchronous = FULL;
	PRAGMA foreign_keys = ON;
	PRAGMA secure_delete = ON;
	PRAGMA wal_autocheckpoint = 16000;
	PRAGMA journal_size_limit = 134217728;
	PRAGMA cache_size = -8192;
	PRAGMA temp_store = MEMORY;`

func openSQLite(ctx context.Context, path string, o Options) (engine, error) {
	flags := os.O_RDWR | os.O_CREATE
	if o.MustExist {
		flags = os.O_RDWR
	}
	f, err := os.OpenFile(path, flags, ownerOnly) //nolint:gosec // the operator names the file
	if err != nil {
		return nil, fmt.Errorf("open the database file: %w", err)
	}
	if err := f.Close(); err != nil {
		return nil, fmt.Errorf("make the database file: %w", err)
	}
	path = realPath(path)
	c, err := openSQLiteConn(ctx, walFSName, path, sqlitePragmas)
	if err != nil {
		return nil, err
	}
	size := o.Readers
	if size <= 0 {
		size = 2 * runtime.NumCPU()
	}
	l := &sqlite{
		path: path, readers: make(chan *sqliteConn, size), size: size, closing: make(chan struct{}),
		unpurged: make(chan struct{}, 1), purged: make(chan struct{}),
	}
	for range size {
		l.readers <- nil
	}
	c.cut = o.Cut
	l.writer = newWriter(c, l, l.closing)
	if info, err := os.Stat(path + "-wal"); err == nil && info.Size() > 0 {
		l.unpurged <- struct{}{} // what was left of it may be what a purge did not come to
	}
	go l.purger(context.WithoutCancel(ctx), o.Log)
	return l, nil
}

func (l *sqlite) readersMax() int { return l.size }

func (l *sqlite) folder() string { return "sqlite" }

func (l *sqlite) read(ctx context.Context, fn func(*Tx) error) error {
	return l.withReader(ctx, func(c *sqliteConn) error {
		if err := c.exec("BEGIN"); err != nil {
			return fmt.Errorf("begin a snapshot: %w", err)
		}
		// Also when fn panics or ctx is over: the connection goes back to the others.
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
		if c, err = openSQLiteConn(ctx, privateFSName, l.path, sqlitePragmas+"PRAGMA query_only = ON;"); err != nil {
			return err
		}
	}
	c.SetInterrupt(ctx)
	defer c.SetInterrupt(context.Background()) //nolint:contextcheck // the connection outlives what asked for it
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
		return One(ctx, &DB{engine: l}, Value[int64], `SELECT coalesce(max(seq), 0) FROM sqlite_sequence WHERE name = $1`, of.rows)
	}
	return One(ctx, &DB{engine: l}, Value[int64], `SELECT last FROM sequences WHERE name = $1`, of.name)
}

func (l *sqlite) tryLocks(names []string) *statement {
	return &statement{sql: `SELECT value FROM json_each($1) WHERE FALSE`, args: []any{names}}
}

func (l *sqlite) forUpdate() string { return "" }

func (l *sqlite) forKeyShare() string { return "" }

func (l *sqlite) forShare() string { return "" }

func (l *sqlite) forNoKeyUpdate() string { return "" }

func (l *sqlite) skipLockedNoKey() string { return "" }

func (l *sqlite) skipLocked() string { return "" }

func (l *sqlite) close() error {
	select {
	case <-l.closing:
		return nil
	default:
	}
	close(l.closing)
	<-l.writer.done
	<-l.purged
	var errs []error
	for range l.size {
		if c := <-l.readers; c != nil {
			errs = append(errs, c.Close())
		}
	}
	errs = append(errs, l.writer.conn.Close(), l.releaseExclusive())
	return errors.Join(errs...)
}

// sqliteConn is a connection with its prepared statements.
type sqliteConn struct {
	*sqlite3.Conn
	prepared map[string]*sqlite3.Stmt
	cut      func(sql string) error // see Options
}

func openSQLiteConn(ctx context.Context, fsName, path, pragmas string) (*sqliteConn, error) {
	conn, err := sqlite3.OpenContext(ctx, onFS(fsName, path))
	if err != nil {
		return nil, fmt.Errorf("open the database file %s: %w", path, err)
	}
	conn.SetInterrupt(context.Background())
	c := &sqliteConn{Conn: conn, prepared: map[string]*sqlite3.Stmt{}}
	if err := setUp(ctx, conn, pragmas); err != nil {
		return nil, errors.Join(fmt.Errorf("set up the database file %s: %w", path, err), conn.Close())
	}
	return c, nil
}

// setUp sets the pragmas, and that a plan does not depend on the values of parameters:
// SQLite would make it anew for each value of a LIMIT. Where several programs open a new
// file at once, the change to WAL is refused without regard to busy_timeout; it is tried
// again.
func setUp(ctx context.Context, conn *sqlite3.Conn, pragmas string) error {
	const tries, pause = 500, 10 * time.Millisecond
	if _, err := conn.Config(sqlite3.DBCONFIG_ENABLE_QPSG, true); err != nil {
		return err
	}
	var err error
	for range tries {
		if err = conn.Exec(pragmas); !errors.Is(err, sqlite3.BUSY) {
			return err
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(pause):
		}
	}
	return err
}

// stmt prepares a text once per connection.
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
		_ = s.Close() // it repeats the statement's last error, which was reported then
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

// bindAndStep leaves the statement ready for the next, also when a scan function
// panics.
func (c *sqliteConn) bindAndStep(s *sqlite3.Stmt, st *statement) (err error) {
	defer func() {
		if again := s.Reset(); err == nil {
			err = again // otherwise it repeats the error of the step before it
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

// sqliteSession runs statements at once; there is no round trip to save. After an
// error it runs nothing more, as PostgreSQL would not either.
type sqliteSession struct {
	conn    *sqliteConn
	numbers *numbers // nil where it only reads
	err     error
}

func (s *sqliteSession) send(st *statement) {
	if s.err != nil {
		st.done, st.err = true, s.err
		return
	}
	s.err = s.conn.run(st)
}

func (s *sqliteSession) flush(context.Context) error { return s.err }

// firstWords names a statement in an error.
func firstWords(sql string) string {
	words := strings.Fields(sql)
	return strings.Join(words[:min(len(words), 6)], " ")
}

func isSQLiteDuplicate(err error) bool {
	return errors.Is(err, sqlite3.CONSTRAINT_UNIQUE) || errors.Is(err, sqlite3.CONSTRAINT_PRIMARYKEY)
}
