package sqldb

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
)

// Copying moves all data of one database to another, of whichever kind each is.
type Copying struct {
	From, To         string // as Open takes them
	FromName, ToName string // how people are told of them: without passwords

	// Skip are tables that stay as they are on both sides.
	Skip []string
	// Running counts the processes that work on a database, besides what its locks tell.
	// Nil: none.
	Running func(context.Context, *DB) (int, error)
	// Prove is asked before anything is copied, and for the copy before it may be used:
	// whether the secrets in it can be opened. Nil: they can.
	Prove func(context.Context, *DB) error
	// Tell is called with how far the copy has come. Nil: nobody wants to know.
	Tell func(CopyProgress)

	Now time.Time
	Log *slog.Logger // nil: slog.Default()

	rows int // of a chunk; 0: chunkRows; tests want less
}

// CopyProgress is how far a copy has come.
type CopyProgress struct {
	Table     string
	Number    int // of the table, from 1 on
	Tables    int
	Rows      int64 // of the table
	Verifying bool  // it is being compared; before, it is copied
}

// Copied is what a copy has moved.
type Copied struct {
	Resumed bool // an earlier run had begun it
	Tables  []CopiedTable
}

// CopiedTable is a table that is the same in both databases.
type CopiedTable struct {
	Name string
	Rows int64
	Hash string // SHA-256 of its rows in the order of its key
}

// Copy moves all data from one database to another and verifies it. Nobody else may use
// either. At most one of the two can be served at any time, however the process ends:
//
//  1. Both are locked. The source must be up to date, and the target empty, or what an
//     earlier run has left.
//  2. The target is marked as a copy, then the source as being copied, each while nobody
//     else has it open. Neither can be served now.
//  3. The tables are copied in chunks. A chunk and how far it goes are one transaction,
//     where the next run goes on.
//  4. All rows of both are read and compared, and the sequences of ids are set.
//  5. The source is marked as moved, and then the mark of the target is removed.
func Copy(ctx context.Context, c Copying) (Copied, error) {
	run, err := c.begin(ctx)
	if err != nil {
		return Copied{}, err
	}
	done, err := run.run(ctx)
	return done, errors.Join(err, run.close())
}

// GiveUp makes the source of a copy that has not ended usable again; what is in the
// target stays marked as half a copy.
func GiveUp(ctx context.Context, c Copying) error {
	s, err := c.open(ctx, c.From, c.FromName, true)
	if err != nil {
		return err
	}
	found, err := s.db.Marked(ctx)
	switch {
	case err != nil:
	case found == nil || found.Role == roleTarget:
		err = fmt.Errorf("%s is not being copied to another database, so there is nothing to give up", s.name)
	case found.Role == roleMoved:
		err = found
	default:
		err = s.db.Write(ctx, func(tx *Tx) error {
			_, err := tx.Exec(ctx, `DELETE FROM copies WHERE role = $1`, roleSource)
			return err
		})
	}
	return errors.Join(err, s.close())
}

// copyRun is a copy under way.
type copyRun struct {
	Copying
	id       string
	from, to *copySide
	resumed  bool
	moved    bool // the source is marked as moved already: only the end is missing
	tables   []copyTable
}

func (r *copyRun) close() error {
	var errs []error
	for _, s := range []*copySide{r.to, r.from} {
		if s != nil {
			errs = append(errs, s.close())
		}
	}
	return errors.Join(errs...)
}

// begin opens, locks and checks both databases, and marks them.
func (c Copying) begin(ctx context.Context) (run *copyRun, err error) {
	if c.Log == nil {
		c.Log = slog.Default()
	}
	run = &copyRun{Copying: c, id: rand.Text()}
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

// open opens one of the databases and locks it.
func (c Copying) open(ctx context.Context, url, name string, mustExist bool) (*copySide, error) {
	s := &copySide{url: url, name: cmp.Or(name, url), options: Options{Log: c.Log, MustExist: mustExist}}
	if err := s.open(ctx); err != nil {
		switch missing := errors.Is(err, fs.ErrNotExist); {
		case missing && mustExist:
			return nil, fmt.Errorf("there is no database at %s: %w", s.name, err)
		case missing: // the file would have been made
			return nil, fmt.Errorf("there is no folder for %s; make it first: %w", s.name, err)
		}
		return nil, tellAway(fmt.Errorf("open %s: %w", s.name, err))
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

// checkSource refuses a source that this program cannot read as it is.
func (r *copyRun) checkSource(ctx context.Context) error {
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

// checkTarget makes the target ready: empty, or half a copy of the same source.
func (r *copyRun) checkTarget(ctx context.Context) error {
	source, err := r.from.db.Marked(ctx)
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
	if _, err := r.to.db.Migrate(ctx); err != nil {
		return err
	}
	target, err := r.to.db.Marked(ctx)
	if err != nil {
		return err
	}
	if target == nil && source == nil {
		return r.checkEmpty(ctx)
	}
	return r.resume(ctx, source, target)
}

// resume goes on with a copy if the marks of both databases are those of the same one.
func (r *copyRun) resume(ctx context.Context, source, target *Mark) error {
	switch {
	case target == nil:
		return r.from.refused(source)
	case target.Role != roleTarget:
		return r.to.refused(target)
	case source == nil:
		// The run ended between the two marks, or the copy was given up.
		n, err := One(ctx, r.to.db, Value[int64], `SELECT count(*) FROM copied_tables`)
		if err != nil || n > 0 {
			return errors.Join(err, r.to.refused(target))
		}
		return r.checkEmpty(ctx)
	case source.ID != target.ID:
		return r.to.refused(target)
	}
	r.id, r.resumed, r.moved = source.ID, true, source.Role == roleMoved
	var err error
	r.tables, err = r.readTables(ctx)
	return err
}

// checkBare refuses a target that has tables before any was made in it: they are of
// another program.
func (r *copyRun) checkBare(ctx context.Context) error {
	columns, err := r.to.columns(ctx)
	if err != nil || len(columns) == 0 {
		return err
	}
	return fmt.Errorf("%s is not empty: it has a table %s; copy into a new database", r.to.name, columns[0].table)
}

// checkEmpty refuses a target that has rows which its migrations have not made.
func (r *copyRun) checkEmpty(ctx context.Context) error {
	fresh, err := r.freshRows(ctx)
	if err != nil {
		return err
	}
	tables, err := r.to.tables(ctx)
	if err != nil {
		return err
	}
	for _, t := range tables {
		n, err := One(ctx, r.to.db, Value[int64], `SELECT count(*) FROM `+t.name)
		if err != nil {
			return err
		}
		if n > fresh[t.name] && !slices.Contains(r.Skip, t.name) {
			return fmt.Errorf("%s is not empty: its table %s has rows, %d; copy into a new database", r.to.name, t.name, n)
		}
	}
	return nil
}
