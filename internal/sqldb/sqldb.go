// Package sqldb is the only package that knows the database: it opens it, migrates it and runs
// transactions. Packages write one SQL text for both databases, with $1…$n placeholders, RETURNING,
// ON CONFLICT and = ANY($n) for lists. SQLite runs inside the process behind one grouping writer,
// PostgreSQL behind a pool. It owns no domain table.
//
// Its subfolders do rare work on a whole database: backup writes and restores files of SQLite, dbcopy
// moves all data from one database to another.
//
// Times are stored as Unix nanoseconds, the zero time as 0.
package sqldb

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"claviger/internal/release"
)

// ErrNone means that the statement yields no row.
var ErrNone = errors.New("no such row")

// ErrClosed means that the database is closed.
var ErrClosed = errors.New("the database is closed")

// Options configures a database; the zero value is usable.
type Options struct {
	Readers int          // reading connections; 0: twice the cores for SQLite, ten times for PostgreSQL
	Log     *slog.Logger // nil: slog.Default()

	// Timeout bounds each call of PostgreSQL with the context of a request (see InRequest), and
	// JobTimeout each other statement; 0: no limit. Connections of Reserve have none.
	Timeout    time.Duration
	JobTimeout time.Duration

	// DirectURL leads to PostgreSQL past a pooler, for connections of Reserve, messages and
	// migrations. "": the URL does.
	DirectURL string

	// MustExist rejects a missing SQLite file (fs.ErrNotExist) instead of creating it.
	MustExist bool

	// NewDatabase renames the log of a missing SQLite file instead of refusing to open it.
	NewDatabase bool

	// NoRetry makes a PostgreSQL write fail after a conflict, such as a deadlock, instead of
	// running again. It is for tests of lock order.
	NoRetry bool

	// Cut, if set, is called before each statement of a write; an error cuts the connection to the
	// database there. It is for tests of the state left behind.
	Cut func(sql string) error

	// Version and Migrations replace those of this program. They are for tests.
	Version    string
	Migrations fs.FS
}

// DB is an open database.
type DB struct {
	engine  engine
	version string       // of this program
	files   fs.FS        // migrations
	written atomic.Int64 // transactions
	writes  writes
}

// engine has the operations that differ between the two databases.
type engine interface {
	// read runs fn in one snapshot, write in one transaction.
	read(ctx context.Context, fn func(*Tx) error) error
	write(ctx context.Context, fn func(*Tx) error) error
	// query runs one statement outside a transaction.
	query(ctx context.Context, s *statement) error
	// migrate applies those of the migrations that are missing, in order, and returns their names.
	// applied returns the names of those already applied.
	migrate(ctx context.Context, all []migration) ([]string, error)
	applied(ctx context.Context) (map[string]bool, error)
	folder() string // of its migrations
	disk() (Disk, bool)
	inUse() int // connections; on SQLite only reading ones
	// mark keeps stableUpTo below the ids that the transaction draws after it. Nil: not needed.
	mark(ordered) *statement
	stableUpTo(ctx context.Context, of ordered) (int64, error)
	acquireExclusive(ctx context.Context, waiting func()) (bool, error)
	releaseExclusive() error
	holder(ctx context.Context) (Holder, error)
	planOnce() string
	// insert returns the statements that insert rows.
	insert(b *batch) []*statement
	tryLocks(names []string) *statement
	// For processes that share a database.
	sessionName() string
	reserve(ctx context.Context) (*Reserved, error)
	listen(ctx context.Context, channel string, hear func(string)) error
	notify(ctx context.Context, channel string, messages []string) error
	numbers(argument string) string
	seek(column, argument, id, op, at string) string
	update(b *batch, set, returning string) []*statement
	// purge removes deleted data from the files.
	purge()
	file() string // see File
	moved() error // see Moved
	well(ctx context.Context) error
	// sequences returns the query for Sequences.
	sequences() string
	raise(ctx context.Context, list []Sequence) error
	commits() int64
	readersMax() int
	close() error
}

// Open opens the database at url: a postgres:// URL or the path of an SQLite file. A missing file
// is created unless o forbids it. Open does not migrate.
func Open(ctx context.Context, url string, o Options) (*DB, error) {
	if o.Log == nil {
		o.Log = slog.Default()
	}
	open := openSQLite
	if strings.HasPrefix(url, "postgres://") || strings.HasPrefix(url, "postgresql://") {
		open = openPostgres
	}
	e, err := open(ctx, url, o)
	if err != nil {
		return nil, tellAway(err)
	}
	db := &DB{engine: e, version: cmp.Or(o.Version, release.Version), files: migrations}
	if o.Migrations != nil {
		db.files = o.Migrations
	}
	return db, nil
}

// File returns the path of the SQLite file, "" for PostgreSQL. It is for the subfolders, which have
// work to do on the file itself or differ by database.
func (db *DB) File() string { return db.engine.file() }

// Close waits for running writes and closes the database.
func (db *DB) Close() error { return db.engine.close() }

// InUse returns the number of busy connections; on SQLite only reading ones count.
func (db *DB) InUse() int { return db.engine.inUse() }

// Readers returns the number of reading connections.
func (db *DB) Readers() int { return db.engine.readersMax() }

// Ping reports whether the database answers. On SQLite it also reports a file that was moved and a disk
// that refuses writes.
func (db *DB) Ping(ctx context.Context) error {
	if err := db.engine.well(ctx); err != nil {
		return tellAway(err)
	}
	_, err := One(ctx, db, Value[int64], `SELECT 1`)
	return err
}

// Read runs fn in one snapshot. fn must not write.
func (db *DB) Read(ctx context.Context, fn func(*Tx) error) error {
	return tellAway(db.engine.read(ctx, fn))
}

// Write runs fn in one transaction and returns after it is on disk. An error of fn, or of any
// statement in it, rolls everything back. fn does no I/O except through its Tx and opens no other
// transaction. It may run again: after a conflict on PostgreSQL, or if another transaction in the
// same commit failed. So it must set its results again in each run.
func (db *DB) Write(ctx context.Context, fn func(*Tx) error) error {
	var after []func()
	err := db.engine.write(ctx, func(tx *Tx) error {
		err := fn(tx)
		after = tx.after
		return err
	})
	if err != nil {
		db.noteWrite(err)
		return tellAway(err)
	}
	db.written.Add(1)
	for _, f := range after {
		f()
	}
	return nil
}

// Counts returns the transactions written since the database was opened, and their commits: on
// SQLite, waiting transactions share one.
func (db *DB) Counts() (transactions, commits int64) {
	return db.written.Load(), db.engine.commits()
}

func (db *DB) query(ctx context.Context, s *statement) error {
	return tellAway(db.engine.query(ctx, s))
}

// statement is one SQL text with its arguments and the handling of its result.
type statement struct {
	sql  string
	args []any
	each func(*Row) error // nil: ignore rows
	rows int64            // set: number of changed rows
	done bool             // set after it has run
	err  error            // set after it failed

	copied *batch // nil: not a COPY
}

// Reader runs the statements of One and All: a DB runs one on its own, a Tx one among others.
type Reader interface {
	query(ctx context.Context, s *statement) error
}

// One runs a statement and scans its first row, or returns ErrNone.
func One[T any](ctx context.Context, r Reader, scan func(*Row, *T) error, sql string, args ...any) (T, error) {
	var a Result[T]
	a.expect(scan, sql, args)
	err := r.query(ctx, &a.statement)
	return a.first(err)
}

// All runs a statement and scans every row. Without rows the slice is empty.
func All[T any](ctx context.Context, r Reader, scan func(*Row, *T) error, sql string, args ...any) ([]T, error) {
	var a Result[T]
	a.expect(scan, sql, args)
	err := r.query(ctx, &a.statement)
	return a.found, err
}

// Each runs a statement and calls fn with each row as it arrives, for results that are too large for
// All.
func Each(ctx context.Context, r Reader, fn func(*Row) error, sql string, args ...any) error {
	return r.query(ctx, &statement{sql: sql, args: args, each: fn})
}

// Value scans a row of one column.
func Value[T any](r *Row, v *T) error { return r.Scan(v) }

// Tx is a running transaction. It serves one goroutine.
type Tx struct {
	Locks
	session session
	engine  engine
	after   []func()
}

// Locks has the clauses that end a SELECT and lock its rows until the transaction ends. They are empty
// on SQLite, which has one writer.
type Locks struct {
	ForUpdate  string // no one else may change or delete the rows
	ForShare   string // no one else may change them
	SkipLocked string // rows that another transaction has locked are left out; others may still refer to the rest
}

// session sends a transaction's statements to its database.
type session interface {
	// send accepts a statement, which may run immediately or wait for flush.
	send(s *statement)
	// draw sets n new ids of a sequence as the result.
	draw(sequence string, n int, a *Result[int64])
	// flush runs the waiting statements and returns the first error of the transaction.
	flush(ctx context.Context) error
}

func (tx *Tx) query(ctx context.Context, s *statement) error {
	tx.session.send(s)
	return tx.session.flush(ctx)
}

// Exec runs a statement now and returns the number of changed rows.
func (tx *Tx) Exec(ctx context.Context, sql string, args ...any) (int64, error) {
	s := &statement{sql: sql, args: args}
	err := tx.query(ctx, s)
	return s.rows, err
}

// Queue runs a statement without waiting for its result. It shares the round trip of the next
// statement that is waited for, or of the commit. If it fails, the transaction fails.
func (tx *Tx) Queue(sql string, args ...any) {
	tx.session.send(&statement{sql: sql, args: args})
}

// QueueQuery queues a query. All queued statements share one round trip, when the first result is
// read.
func QueueQuery[T any](tx *Tx, scan func(*Row, *T) error, sql string, args ...any) *Result[T] {
	a := &Result[T]{tx: tx}
	a.expect(scan, sql, args)
	tx.session.send(&a.statement)
	return a
}

// Result is the future result of QueueQuery.
type Result[T any] struct {
	statement
	tx    *Tx
	found []T
}

func (a *Result[T]) expect(scan func(*Row, *T) error, sql string, args []any) {
	a.sql = sql
	a.args = args
	a.found = []T{}
	a.each = func(r *Row) error {
		if len(a.found) == cap(a.found) { // append grows large slices by only a quarter
			a.found = slices.Grow(a.found, max(len(a.found), 8))
		}
		var zero T
		a.found = append(a.found, zero)
		return scan(r, &a.found[len(a.found)-1])
	}
}

// One returns the first row of the answer, or ErrNone.
func (a *Result[T]) One(ctx context.Context) (T, error) {
	return a.first(a.wait(ctx))
}

// All returns every row of the answer.
func (a *Result[T]) All(ctx context.Context) ([]T, error) {
	err := a.wait(ctx)
	return a.found, err
}

// Committed returns the first row of the result, for functions that run after the commit, when
// every result has arrived. It is false if there is no row.
func (a *Result[T]) Committed() (T, bool) {
	row, err := a.first(a.err)
	return row, err == nil
}

func (a *Result[T]) wait(ctx context.Context) error {
	if a.done {
		return a.err
	}
	return a.tx.session.flush(ctx)
}

func (a *Result[T]) first(err error) (T, error) {
	if err == nil && len(a.found) > 0 {
		return a.found[0], nil
	}
	var zero T
	if err == nil {
		err = ErrNone
	}
	return zero, err
}

// StableUpTo returns the highest id of a sequence such that no transaction in flight holds one at
// or below it: no more rows will appear up to that id. Transactions commit in another order than
// they draw ids, so the newest row may be higher.
func (db *DB) StableUpTo(ctx context.Context, sequence string) (int64, error) {
	id, err := db.engine.stableUpTo(ctx, drawn(sequence))
	return id, tellAway(err)
}

// StableRows is StableUpTo for a table that numbers its rows by its column id. Every transaction
// that inserts rows must call MarkRows.
func (db *DB) StableRows(ctx context.Context, table string) (int64, error) {
	id, err := db.engine.stableUpTo(ctx, rowsOf(table))
	return id, tellAway(err)
}

// AfterCommit calls f once the transaction is on disk, and never if it fails.
func (tx *Tx) AfterCommit(f func()) { tx.after = append(tx.after, f) }

// TryLocks takes the named locks until the transaction ends. The result has the names that another
// transaction holds. On SQLite the single writer already serializes; no lock is taken.
func (tx *Tx) TryLocks(names ...string) *Result[string] {
	s := tx.engine.tryLocks(names)
	return QueueQuery(tx, Value[string], s.sql, s.args...)
}

// TryLock is TryLocks for one name. False means that another transaction holds it.
func (tx *Tx) TryLock(ctx context.Context, name string) (bool, error) {
	held, err := tx.TryLocks(name).All(ctx)
	return err == nil && len(held) == 0, err
}
