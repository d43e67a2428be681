package backup

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"claviger/internal/sqldb"
	"claviger/internal/sqldb/internal/litefile"
)

// Restoring describes the replacement of an SQLite database by a backup.
type Restoring struct {
	Path string // of the database; may be missing
	From string // the backup, which stays unchanged
	// Prepare is a hook: Restore calls it with the migrated copy before that replaces the database;
	// package app skips ids and erases people there. An error leaves everything unchanged.
	Prepare func(context.Context, *sqldb.DB) error
	Now     time.Time // names the kept file
	Log     *slog.Logger

	after func(step string) // lets tests look at the folder between steps
}

// Restore replaces the database by a backup. It returns the path of the kept old database, "" if
// there was none. It refuses while another process has the database open.
//
// A process that ends between any two steps leaves either the old or the new database, complete,
// under the name:
//
//  1. lock: the exclusive lock of a service is taken, or Restore fails.
//  2. copy: the backup is copied beside the database, checked, migrated, prepared and synced.
//     The old database is unchanged.
//  3. settle: the old database absorbs its log and leaves WAL mode, which requires that no one
//     else has it open. Now it is one file, and locked.
//  4. keep: the old file gets a second name. The first one still leads to it.
//  5. swap: the copy is renamed to the first name, in one step of the file system.
//     After step 3 there is no log beside it that could be replayed over it.
func Restore(ctx context.Context, r Restoring) (kept string, err error) {
	step := func(name string) {
		if r.after != nil {
			r.after(name)
		}
	}
	r.Path = litefile.RealPath(r.Path)
	lock, err := litefile.Lock(ctx, r.Path)
	if err != nil {
		return "", err
	}
	defer lock.Close() //nolint:errcheck // only held a lock
	step("lock")
	removeLeft(ctx, filepath.Dir(r.Path))
	fresh, err := newDraft(ctx, r.Path, restoreKind)
	if err != nil {
		return "", fmt.Errorf("copy the backup: %w", err)
	}
	defer fresh.remove()
	if err := r.copyTo(ctx, fresh.path); err != nil {
		return "", err
	}
	step("copy")
	// A damaged database may be the reason for the restore: its files are kept.
	old, err := litefile.Settle(ctx, r.Path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, litefile.ErrDamaged) {
		return "", err
	}
	if old != nil {
		defer old.Close() //nolint:errcheck // wrote nothing
	}
	step("settle")
	if kept, err = keep(r.Path, r.Path+r.Now.UTC().Format(".before-20060102T150405Z")); err != nil {
		return "", fmt.Errorf("keep the old database: %w", err)
	}
	step("keep")
	if err := os.Rename(fresh.path, r.Path); err != nil {
		return "", fmt.Errorf("put the backup in place: %w", err)
	}
	step("swap")
	if err := syncFolder(r.Path); err != nil {
		return kept, fmt.Errorf("put the names on disk: %w", err)
	}
	return kept, nil
}

// copyTo copies the backup into an empty file and prepares it.
func (r Restoring) copyTo(ctx context.Context, path string) error {
	if info, err := os.Stat(litefile.RealPath(r.From) + "-wal"); err == nil && info.Size() > 0 {
		return &NotWholeError{
			r.From,
			"has a log beside it, so it is no backup but a database that was in use; make a backup of it first: " +
				"claviger backup --db " + r.From + " FILE",
		}
	}
	if err := copyFile(r.From, path); err != nil {
		return fmt.Errorf("copy the backup: %w", err)
	}
	if err := checkFile(ctx, path); err != nil {
		if bad, ok := errors.AsType[*NotWholeError](err); ok {
			err = &NotWholeError{r.From, bad.Problem}
		}
		return err
	}
	db, err := sqldb.Open(ctx, path, sqldb.Options{MustExist: true, Log: r.Log})
	if err != nil {
		return err
	}
	err = r.prepare(ctx, db)
	if err = errors.Join(err, db.Close()); err != nil { // closing absorbs the log
		return err
	}
	return syncFile(path)
}

// prepare makes the copy ready for use.
func (r Restoring) prepare(ctx context.Context, db *sqldb.DB) error {
	if err := db.Known(ctx); err != nil {
		return &NotWholeError{r.From, "cannot be used: " + err.Error()}
	}
	if _, err := db.Migrate(ctx); err != nil {
		return err
	}
	if err := r.passOld(ctx, db); err != nil || r.Prepare == nil {
		return err
	}
	return r.Prepare(ctx, db)
}

// passOld raises the sequences of the copy to those of the old database. That one may have been
// restored from the same backup before, and have used the ids after its gap. An unreadable old
// database is no error: it may be the reason for the restore.
func (r Restoring) passOld(ctx context.Context, db *sqldb.DB) error {
	list, err := r.oldSequences(ctx)
	if err != nil {
		if r.Log != nil {
			r.Log.Warn(
				"the old database cannot be read, so ids continue from those of the backup; if the same backup was "+
					"restored before, give a larger gap",
				"err",
				err,
			)
		}
		return nil
	}
	return db.Raise(ctx, list)
}

// oldSequences reads the sequences of the old database. A missing or empty file has none.
func (r Restoring) oldSequences(ctx context.Context) (list []sqldb.Sequence, err error) {
	info, err := os.Stat(r.Path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil || info.Size() == 0 {
		return nil, err
	}
	old, err := sqldb.Open(ctx, r.Path, sqldb.Options{MustExist: true, Readers: 1, Log: r.Log})
	if err != nil {
		return nil, err
	}
	err = old.Read(ctx, func(tx *sqldb.Tx) (err error) {
		list, err = sqldb.Sequences(ctx, tx)
		return err
	})
	return list, errors.Join(err, old.Close())
}

// keep gives the old database a second name, or returns "" if there is none. Files beside it move, or
// SQLite would replay them over the new one.
func keep(path, name string) (string, error) {
	for _, end := range []string{"-wal", "-shm", "-journal"} {
		err := os.Rename(path+end, name+end)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return "", err
		}
	}
	if _, err := os.Lstat(path); errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	if err := os.Link(path, name); err != nil {
		if errors.Is(err, fs.ErrExist) {
			return "", err
		}
		litefile.MakePrivate(name) // a file system without links
		if err := errors.Join(copyFile(path, name), syncFile(name)); err != nil {
			return "", err
		}
	}
	return name, syncFolder(path)
}

// copyFile copies the bytes of a file into an existing one.
func copyFile(from, to string) error {
	src, err := os.Open(from) //nolint:gosec // the operator names the file
	if err != nil {
		return err
	}
	defer src.Close()                                      //nolint:errcheck // only read
	dst, err := os.OpenFile(to, os.O_WRONLY|os.O_TRUNC, 0) //nolint:gosec // a file of ours
	if err != nil {
		return err
	}
	_, err = io.Copy(dst, src)
	return errors.Join(err, dst.Close())
}

// removeAll removes a database's files.
func removeAll(path string) {
	for _, end := range []string{"", "-wal", "-shm", "-journal"} {
		_ = os.Remove(path + end)
	}
}
