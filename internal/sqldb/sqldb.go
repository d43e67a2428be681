// Package sqldb is the only package that knows the database: it opens it, migrates
// it and runs transactions. Packages write one SQL text for both databases, with
// $1…$n placeholders, RETURNING, ON CONFLICT and = ANY($n) for lists; SQLite runs inside the process
// behind one grouping writer, PostgreSQL behind a pool. It owns no domain table.
//
// Times are stored as Unix nanoseconds, the zero time as 0.
package sqldb

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"sync/atomic"
)

// ErrNone is what One returns when the statement yields no row.
var ErrNone = errors.New("no such row")

// ErrClosed is what a closed database answers.
var ErrClosed = errors.New("the database is closed")

// Options are the settings of a database; the zero value is usable.
type Options struct {
	Readers int          // connections that read; 0: twice the cores for SQLite, ten times for PostgreSQL
	Log     *slog.Logger // nil: slog.Default()

	// MustExist refuses an SQLite file that is not there (fs.ErrNotExist) instead of
	// making it.
	MustExist bool

	// NoRetry makes a write on PostgreSQL that got in another's way, such as by a
	// deadlock, fail instead of being run again. It is for tests of the order of locks.
	NoRetry bool

	// Cut is called before each statement of a write; an error cuts the connection to the
	// database off there. It is for tests of what is left behind. Nil: nothing is cut.
	Cut func(sql string) error
}

// DB is an open database.
type DB struct {
	engine  engine
	written atomic.Int64 // transactions
}

// engine is what the two databases do differently.
type engine interface {
	// read runs fn in one snapshot, write in one transaction.
	read(ctx context.Context, fn func(*Tx) error) error
	write(ctx context.Context, fn func(*Tx) error) error
	// query runs one statement outside a transaction.
	query(ctx context.Context, s *statement) error
	// migrate applies what of all is missing, in order, and returns their names;
	// applied names those that were there before.
	migrate(ctx context.Context, all []migration) ([]string, error)
	applied(ctx context.Context) (map[string]bool, error)
	folder() string // of its migrations
	disk() (Disk, bool)
	inUse() int // connections; of SQLite those that read
	// mark makes stableUpTo stay below what the transaction draws from now on; nil
	// where it need not.
	mark(ordered) *statement
	stableUpTo(ctx context.Context, of ordered) (int64, error)
	acquireExclusive(ctx context.Context, waiting func()) (bool, error)
	releaseExclusive() error
	planOnce() string
	// insert is the statements that insert rows.
	insert(b *batch) []*statement
	tryLocks(names []string) *statement
	forUpdate() string
	forKeyShare() string
	forShare() string
	forNoKeyUpdate() string
	skipLockedNoKey() string
	// What processes that share a database need.
	sessionName() string
	reserve(ctx context.Context) (*Reserved, error)
	listen(ctx context.Context, channel string, hear func(string)) error
	notify(ctx context.Context, channel string, messages []string) error
	elements(column string) string
	numbers(argument string) string
	update(b *batch, set, returning string) []*statement
	skipLocked() string
	// purge takes what was deleted out of the files.
	purge()
	backup(ctx context.Context, to string) error
	// advance is the statements that move every sequence on by $1.
	advance() []string
	// What a copy to another database needs, see Copy.
	copyText() copyText
	holdForCopy(ctx context.Context) (release func() error, err error)
	markAlone(ctx context.Context, m *Mark) error
	setSequences(ctx context.Context, list []sequence) error
	commits() int64
	readersMax() int
	close() error
}

// Open opens the database at url: a postgres:// URL, or else the path of an
// SQLite file, made if it is not there and o does not forbid that. It does not migrate.
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
		return nil, err
	}
	return &DB{engine: e}, nil
}

// Close waits for writes under way and closes the database.
func (db *DB) Close() error { return db.engine.close() }

// InUse returns how many connections work at this moment; of SQLite, those that read.
func (db *DB) InUse() int { return db.engine.inUse() }

// Readers is how many connections there are to read with.
func (db *DB) Readers() int { return db.engine.readersMax() }

// Ping reports whether the database answers.
func (db *DB) Ping(ctx context.Context) error {
	_, err := One(ctx, db, Value[int64], `SELECT 1`)
	return err
}

// Read runs fn in one snapshot: what it reads fits together. fn must not write.
func (db *DB) Read(ctx context.Context, fn func(*Tx) error) error {
	return tellAway(db.engine.read(ctx, fn))
}

// Write runs fn in one transaction and returns when it is on disk; an error of
// fn, or of any statement in it, undoes all of it. fn does no I/O but through
// its Tx, opens no other transaction, and may be run again, when PostgreSQL asks
// for that or when another that shared its commit failed, so it must set what it
// returns anew each time.
func (db *DB) Write(ctx context.Context, fn func(*Tx) error) error {
	var after []func()
	err := db.engine.write(ctx, func(tx *Tx) error {
		err := fn(tx)
		after = tx.after
		return err
	})
	if err != nil {
		return tellAway(err)
	}
	db.written.Add(1)
	for _, f := range after {
		f()
	}
	return nil
}

// Counts is how many transactions were written since the database was opened,
// and in how many commits: on SQLite those that wait together share one.
func (db *DB) Counts() (transactions, commits int64) {
	return db.written.Load(), db.engine.commits()
}

func (db *DB) query(ctx context.Context, s *statement) error {
	return tellAway(db.engine.query(ctx, s))
}

// statement is one SQL text on its way, and what becomes of its answer.
type statement struct {
	sql  string
	args []any
	each func(*Row) error // nil: no rows are wanted
	rows int64            // set: how many rows it changed
	done bool             // set when it has run
	err  error            // set when it failed

	copied *batch // nil: it is no COPY
}

// Reader is what One and All ask: a DB for one statement on its own, a Tx for
// one among others.
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

// All runs a statement and scans every row. No row is an empty slice.
func All[T any](ctx context.Context, r Reader, scan func(*Row, *T) error, sql string, args ...any) ([]T, error) {
	var a Result[T]
	a.expect(scan, sql, args)
	err := r.query(ctx, &a.statement)
	return a.found, err
}

// Value scans a row of one column.
func Value[T any](r *Row, v *T) error { return r.Scan(v) }

// Tx is a transaction under way. It serves one goroutine.
type Tx struct {
	session session
	engine  engine
	after   []func()
}

// session is how a transaction's statements reach its database.
type session interface {
	// send takes a statement on: it may run at once or wait for flush.
	send(s *statement)
	// draw makes n new ids of a sequence the answer.
	draw(sequence string, n int, a *Result[int64])
	// flush runs what waits and returns the first error of the transaction.
	flush(ctx context.Context) error
}

func (tx *Tx) query(ctx context.Context, s *statement) error {
	tx.session.send(s)
	return tx.session.flush(ctx)
}

// Exec runs a statement now and returns how many rows it changed.
func (tx *Tx) Exec(ctx context.Context, sql string, args ...any) (int64, error) {
	s := &statement{sql: sql, args: args}
	err := tx.query(ctx, s)
	return s.rows, err
}

// Queue runs a statement whose result nobody waits for: it goes to the database
// with the next one that is waited for, or with the commit, in one round trip.
// If it fails, the transaction fails.
func (tx *Tx) Queue(sql string, args ...any) {
	tx.session.send(&statement{sql: sql, args: args})
}

// QueueQuery puts a question whose answer is not needed yet: all that is asked and
// queued goes to the database in one round trip, when the first answer is read.
func QueueQuery[T any](tx *Tx, scan func(*Row, *T) error, sql string, args ...any) *Result[T] {
	a := &Result[T]{tx: tx}
	a.expect(scan, sql, args)
	tx.session.send(&a.statement)
	return a
}

// Result is what a query that was queued with QueueQuery will yield.
type Result[T any] struct {
	statement
	tx    *Tx
	found []T
}

func (a *Result[T]) expect(scan func(*Row, *T) error, sql string, args []any) {
	a.sql, a.args, a.found = sql, args, []T{}
	a.each = func(r *Row) error {
		if len(a.found) == cap(a.found) { // append grows by a quarter only where there are many
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

// Committed returns the first row of the answer to a function that runs after the
// commit, with which every answer has come. It is false if there is no row.
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

// StableUpTo returns the highest id of a sequence such that no transaction in
// flight holds one at or below it: rows read from now on, up to that id, are all
// there will ever be. Transactions draw their ids in another order than they
// commit in, so the newest row may be higher.
func (db *DB) StableUpTo(ctx context.Context, sequence string) (int64, error) {
	id, err := db.engine.stableUpTo(ctx, drawn(sequence))
	return id, tellAway(err)
}

// StableRows is StableUpTo for the rows of a table that numbers them by its column id,
// if every transaction that inserts some calls MarkRows.
func (db *DB) StableRows(ctx context.Context, table string) (int64, error) {
	id, err := db.engine.stableUpTo(ctx, rowsOf(table))
	return id, tellAway(err)
}

// ForUpdate ends a select of rows that stay as they are read, for anybody else,
// until the transaction ends. SQLite has one writer.
func (tx *Tx) ForUpdate() string { return tx.engine.forUpdate() }

// ForKeyShare ends a select of rows that nobody removes until the transaction ends.
func (tx *Tx) ForKeyShare() string { return tx.engine.forKeyShare() }

// ForShare ends a select of rows that nobody changes until the transaction ends.
func (tx *Tx) ForShare() string { return tx.engine.forShare() }

// ForNoKeyUpdate is ForUpdate where rows of other tables may go on referring to them.
func (tx *Tx) ForNoKeyUpdate() string { return tx.engine.forNoKeyUpdate() }

// SkipLockedNoKey is SkipLocked where rows of other tables may go on referring to them.
func (tx *Tx) SkipLockedNoKey() string { return tx.engine.skipLockedNoKey() }

// SkipLocked ends a sub-select of rows about to be changed, so that it passes
// over those that another transaction is changing. SQLite has one writer.
func (tx *Tx) SkipLocked() string { return tx.engine.skipLocked() }

// AfterCommit calls f once the transaction is on disk, and never if it fails.
func (tx *Tx) AfterCommit(f func()) { tx.after = append(tx.after, f) }

// TryLocks takes the locks of those names until the transaction ends. The answer is the
// names of those that another transaction holds. SQLite has one writer, which so to say
// holds every lock.
func (tx *Tx) TryLocks(names ...string) *Result[string] {
	s := tx.engine.tryLocks(names)
	return QueueQuery(tx, Value[string], s.sql, s.args...)
}

// TryLock is TryLocks for one. False means that another transaction holds it.
func (tx *Tx) TryLock(ctx context.Context, name string) (bool, error) {
	held, err := tx.TryLocks(name).All(ctx)
	return err == nil && len(held) == 0, err
}
