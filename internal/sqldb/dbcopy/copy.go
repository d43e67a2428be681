// Package dbcopy moves all data from one database to another, of either kind, and keeps both from
// being used at the same time. It owns the tables copies and copied_tables.
package dbcopy

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"slices"
	"time"

	"claviger/internal/sqldb"
)

// Spec describes a move of all data from one database to another, of either kind.
type Spec struct {
	From, To         string // as for sqldb.Open
	FromName, ToName string // for messages: without passwords

	// Skip names tables that stay unchanged on both sides.
	Skip []string
	// Running is a hook: it counts the processes that work on a database, in addition to its locks.
	// Run and GiveUp call it; cluster.Running answers. Nil: none.
	Running func(context.Context, *sqldb.DB) (int, error)
	// Prove is a hook: it checks that the secrets of a database can be opened. Run calls it before
	// anything is copied, and for the copy before it may be used; package app answers. Nil: they can.
	Prove func(context.Context, *sqldb.DB) error
	// Tell is a hook: Run calls it with its progress, and claviger copy prints that. Nil: not called.
	Tell func(Progress)

	Now time.Time
	Log *slog.Logger // nil: slog.Default()

	rows int // rows per chunk, for tests; 0: chunkRows
}

// Progress is the progress of a copy.
type Progress struct {
	Table     string
	Number    int // of the table, from 1
	Tables    int
	Rows      int64 // of the table
	Verifying bool  // being compared; otherwise being copied
}

// Result is the result of a copy.
type Result struct {
	Resumed bool // continued from an earlier run
	Tables  []Table
}

// Table is a table that is identical in both databases.
type Table struct {
	Name string
	Rows int64
	Hash string // SHA-256 of its rows in the order of its key
}

// Run moves all data from one database to another and verifies it. No one else may use either.
// However the process ends, at most one of the two can be served at any time:
//
//  1. Both are locked. The source must be up to date. The target must be empty or left by an
//     earlier run.
//  2. The target is marked as a copy, then the source as being copied, each while no one else
//     has it open. From now on neither can be served.
//  3. The tables are copied in chunks. A chunk and its progress are one transaction, and the
//     next run continues from there.
//  4. All rows of both are read and compared, and the sequences of ids are set.
//  5. The source is marked as moved, and then the mark of the target is removed.
func Run(ctx context.Context, c Spec) (Result, error) {
	run, err := c.begin(ctx)
	if err != nil {
		return Result{}, err
	}
	done, err := run.run(ctx)
	return done, errors.Join(err, run.close())
}

// GiveUp makes the source of an unfinished copy usable again. The target stays marked as half a
// copy.
func GiveUp(ctx context.Context, c Spec) error {
	s, err := c.open(ctx, c.From, c.FromName, true)
	if err != nil {
		return err
	}
	found, err := Marked(ctx, s.db)
	switch {
	case err != nil:
	case found == nil || found.Role == roleTarget:
		err = fmt.Errorf("%s is not being copied to another database, so there is nothing to give up", s.name)
	case found.Role == roleMoved:
		err = found
	default:
		err = s.db.Write(ctx, func(tx *sqldb.Tx) error {
			_, err := tx.Exec(ctx, `DELETE FROM copies WHERE role = $1`, roleSource)
			return err
		})
	}
	return errors.Join(err, s.close())
}

// transfer is a running copy.
type transfer struct {
	Spec
	id       string
	from, to *side
	resumed  bool
	moved    bool // the source is already marked as moved; only the last step is missing
	tables   []table
}

func (r *transfer) close() error {
	var errs []error
	for _, s := range []*side{r.to, r.from} {
		if s != nil {
			errs = append(errs, s.close())
		}
	}
	return errors.Join(errs...)
}

// begin opens, locks and checks both databases, and marks them.
func (c Spec) begin(ctx context.Context) (run *transfer, err error) {
	if c.Log == nil {
		c.Log = slog.Default()
	}
	run = &transfer{Spec: c, id: rand.Text()}
	defer func() {
		if err != nil {
			err = errors.Join(err, run.close())
		}
	}()
	if run.from, err = c.open(ctx, c.From, c.FromName, true); err != nil {
		return run, err
	}
	if err := run.checkSource(ctx); err != nil {
		return run, err
	}
	if run.to, err = c.open(ctx, c.To, c.ToName, false); err != nil {
		return run, err
	}
	if err := run.checkTarget(ctx); err != nil || run.resumed {
		return run, err
	}
	if run.tables, err = run.readTables(ctx); err != nil {
		return run, err
	}
	if err := run.to.mark(ctx, &Mark{ID: run.id, Role: roleTarget, Other: run.FromName, BeganAt: run.Now}); err != nil {
		return run, err
	}
	return run, run.from.mark(ctx, &Mark{ID: run.id, Role: roleSource, Other: run.ToName, BeganAt: run.Now})
}

// open opens and locks one of the databases.
func (c Spec) open(ctx context.Context, url, name string, mustExist bool) (*side, error) {
	s := &side{url: url, name: cmp.Or(name, url), options: sqldb.Options{Log: c.Log, MustExist: mustExist}}
	if err := s.open(ctx); err != nil {
		switch missing := errors.Is(err, fs.ErrNotExist); {
		case missing && mustExist:
			return nil, fmt.Errorf("there is no database at %s: %w", s.name, err)
		case missing: // the file itself would be created
			return nil, fmt.Errorf("there is no folder for %s; make it first: %w", s.name, err)
		}
		return nil, fmt.Errorf("open %s: %w", s.name, err)
	}
	err := s.hold(ctx)
	if err == nil && c.Running != nil {
		err = s.checkStopped(ctx, c.Running)
	}
	if err != nil {
		return nil, errors.Join(err, s.close())
	}
	return s, nil
}

// checkSource rejects a source that this program cannot read as it is.
func (r *transfer) checkSource(ctx context.Context) error {
	ours, err := r.from.db.Migrated(ctx)
	if err != nil {
		return err
	}
	if !ours {
		return fmt.Errorf("%s has no data of this program; name the database to copy with --from", r.from.name)
	}
	if err := r.from.db.Known(ctx); err != nil {
		return fmt.Errorf("%s: %w", r.from.name, err)
	}
	pending, err := r.from.db.Pending(ctx)
	if err != nil {
		return err
	}
	if len(pending) > 0 {
		return fmt.Errorf("the schema of %s is not up to date; run claviger migrate on it first", r.from.name)
	}
	if r.Prove == nil {
		return nil
	}
	return r.Prove(ctx, r.from.db)
}

// checkTarget prepares the target, which must be empty or half a copy of the same source.
func (r *transfer) checkTarget(ctx context.Context) error {
	source, err := Marked(ctx, r.from.db)
	if err != nil {
		return err
	}
	ours, err := r.to.db.Migrated(ctx)
	if err != nil {
		return err
	}
	if !ours && source != nil {
		return r.from.refused(source)
	}
	if !ours {
		if err := r.checkBare(ctx); err != nil {
			return err
		}
	}
	if err := r.to.db.Known(ctx); err != nil {
		return fmt.Errorf("%s: %w", r.to.name, err)
	}
	if _, err := r.to.db.MigrateLike(ctx, r.from.db); err != nil {
		return err
	}
	target, err := Marked(ctx, r.to.db)
	if err != nil {
		return err
	}
	if target == nil && source == nil {
		return r.checkEmpty(ctx)
	}
	return r.resume(ctx, source, target)
}

// resume continues a copy if the marks of both databases belong to it.
func (r *transfer) resume(ctx context.Context, source, target *Mark) error {
	switch {
	case target == nil:
		return r.from.refused(source)
	case target.Role != roleTarget:
		return r.to.refused(target)
	case source == nil:
		// The run ended between the two marks, or the copy was given up.
		n, err := sqldb.One(ctx, r.to.db, sqldb.Value[int64], `SELECT count(*) FROM copied_tables`)
		if err != nil || n > 0 {
			return errors.Join(err, r.to.refused(target))
		}
		return r.checkEmpty(ctx)
	case source.ID != target.ID:
		return r.to.refused(target)
	}
	r.id = source.ID
	r.resumed = true
	r.moved = source.Role == roleMoved
	var err error
	r.tables, err = r.readTables(ctx)
	return err
}

// checkBare rejects a target that already has tables: they belong to another program.
func (r *transfer) checkBare(ctx context.Context) error {
	columns, err := r.to.columns(ctx)
	if err != nil || len(columns) == 0 {
		return err
	}
	return fmt.Errorf("%s is not empty: it has a table %s; copy into a new database", r.to.name, columns[0].table)
}

// checkEmpty rejects a target with rows that its migrations did not create.
func (r *transfer) checkEmpty(ctx context.Context) error {
	fresh, err := r.freshRows(ctx)
	if err != nil {
		return err
	}
	tables, err := r.to.tables(ctx)
	if err != nil {
		return err
	}
	for _, t := range tables {
		n, err := sqldb.One(ctx, r.to.db, sqldb.Value[int64], `SELECT count(*) FROM `+t.name)
		if err != nil {
			return err
		}
		if n > fresh[t.name] && !slices.Contains(r.Skip, t.name) {
			return fmt.Errorf(
				"%s is not empty: its table %s has rows, %d; copy into a new database",
				r.to.name,
				t.name,
				n,
			)
		}
	}
	return nil
}
