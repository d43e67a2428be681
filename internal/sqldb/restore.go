package sqldb

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"time"

	"github.com/ncruces/go-sqlite3"
)

// ErrInUse says that another process has the database open.
var ErrInUse = errors.New("another process has the database open")

// Restoring is a backup that is about to take the place of an SQLite database.
type Restoring struct {
	Path string // of the database; it need not be there
	From string // the backup, which stays as it is
	// Prepare works on the copy, migrated, before it takes the place: an error leaves
	// everything as it was.
	Prepare func(context.Context, *DB) error
	Now     time.Time // names the file that is kept
	Log     *slog.Logger

	after func(step string) // tests look at the folder between steps
}

// Restore puts a backup in the place of the database and returns where the old one is
// kept, "" if there was none. It refuses while another process has the database open.
//
// A process that ends between any two steps leaves the old database or the new one,
// whole, under the name:
//
//  1. lock: the file by which a service is alone is locked, or we refuse.
//  2. copy: the backup is copied beside the database, checked, brought up to date and
//     prepared, and put on disk. Nothing of the old one has changed.
//  3. settle: the old database takes its log in and leaves its log mode, which needs
//     that nobody else has it open; now it is one file, and locked.
//  4. keep: the old file gets a second name. The first one still leads to it.
//  5. swap: the copy is renamed to the first name, in one step of the file system.
//     There is no log beside it that could be replayed over it, since 3.
func Restore(ctx context.Context, r Restoring) (kept string, err error) {
	step := func(name string) {
		if r.after != nil {
			r.after(name)
		}
	}
	r.Path = realPath(r.Path)
	lock, err := lockExclusive(ctx, r.Path)
	if err != nil {
		return "", err
	}
	defer lock.Close() //nolint:errcheck // it only held a lock
	step("lock")
	fresh, err := r.copied(ctx)
	if err != nil {
		return "", err
	}
	defer removeAll(fresh)
	step("copy")
	old, err := settle(ctx, r.Path)
	if err != nil {
		return "", err
	}
	defer old.close()
	step("settle")
	if kept, err = old.keep(r.Path, r.Path+r.Now.UTC().Format(".before-20060102T150405Z")); err != nil {
		return "", fmt.Errorf("keep the old database: %w", err)
	}
	step("keep")
	if err := os.Rename(fresh, r.Path); err != nil {
		return "", fmt.Errorf("put the backup in place: %w", err)
	}
	step("swap")
	if err := syncFolder(r.Path); err != nil {
		return kept, fmt.Errorf("put the names on disk: %w", err)
	}
	return kept, nil
}

// lockExclusive takes the lock of AcquireExclusive, or says that another process has it.
func lockExclusive(ctx context.Context, path string) (*sqlite3.Conn, error) {
	conn, err := sqlite3.OpenContext(ctx, onFS(privateFSName, path+"-sole"))
	if err != nil {
		return nil, fmt.Errorf("open the lock of the database: %w", err)
	}
	conn.SetInterrupt(context.Background())
	if err := conn.Exec("BEGIN EXCLUSIVE"); err != nil {
		if errors.Is(err, sqlite3.BUSY) {
			err = ErrInUse
		}
		return nil, errors.Join(fmt.Errorf("lock the database: %w", err), conn.Close())
	}
	return conn, nil
}

// copied copies the backup beside the database and makes it ready.
func (r Restoring) copied(ctx context.Context) (path string, err error) {
	if info, err := os.Stat(realPath(r.From) + "-wal"); err == nil && info.Size() > 0 {
		return "", &NotWholeError{r.From, "has a log beside it, so it is no backup but a database that was in use; make a backup of it first: claviger backup --db " + r.From + " FILE"}
	}
	if path, err = emptyFile(r.Path, ".restore-*"); err != nil {
		return "", fmt.Errorf("copy the backup: %w", err)
	}
	defer func() {
		if err != nil {
			removeAll(path)
		}
	}()
	if err := copyFile(r.From, path); err != nil {
		return path, fmt.Errorf("copy the backup: %w", err)
	}
	if err := checkFile(ctx, path); err != nil {
		if bad, ok := errors.AsType[*NotWholeError](err); ok {
			err = &NotWholeError{r.From, bad.Problem}
		}
		return path, err
	}
	db, err := Open(ctx, path, Options{MustExist: true, Log: r.Log})
	if err != nil {
		return path, err
	}
	if _, err = db.Migrate(ctx); err == nil {
		err = r.passOld(ctx, db)
	}
	if err == nil && r.Prepare != nil {
		err = r.Prepare(ctx, db)
	}
	if err = errors.Join(err, db.Close()); err != nil { // closing takes the log in
		return path, err
	}
	return path, syncFile(path)
}

// passOld moves the sequences of the copy on to where those of the old database are:
// it may have been restored from the same backup before, and have given the ids that
// follow the backup's gap. One that cannot be read may be the reason for all this.
func (r Restoring) passOld(ctx context.Context, db *DB) error {
	list, err := sequences(ctx, r.Path)
	if err != nil {
		if r.Log != nil {
			r.Log.Warn("the old database cannot be read, so ids go on from those of the backup; if the same backup was restored before, give a larger gap", "err", err)
		}
		return nil
	}
	return db.pass(ctx, list)
}

// oldDatabase is the database that is replaced: locked, as one file, or as the files
// that are there if it cannot be read any more.
type oldDatabase struct {
	conn    *sqliteConn // nil: there is none, or it is damaged
	damaged bool
}

// settle makes the old database one file that nobody else can open. One that is
// damaged may be the reason for all this: what there is of it is kept.
func settle(ctx context.Context, path string) (*oldDatabase, error) {
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return &oldDatabase{}, nil
	}
	if err != nil {
		return nil, err
	}
	if info.Size() == 0 {
		return &oldDatabase{damaged: true}, nil // a log beside it would be replayed all the same
	}
	conn, err := sqlite3.OpenContext(ctx, onFS(privateFSName, path))
	if err != nil {
		return nil, fmt.Errorf("open the old database: %w", err)
	}
	conn.SetInterrupt(context.Background())
	c := &sqliteConn{Conn: conn, prepared: map[string]*sqlite3.Stmt{}}
	err = conn.Exec("PRAGMA synchronous = FULL; PRAGMA journal_mode = DELETE; BEGIN EXCLUSIVE")
	switch {
	case errors.Is(err, sqlite3.BUSY):
		return nil, errors.Join(ErrInUse, c.Close())
	case errors.Is(err, sqlite3.CORRUPT), errors.Is(err, sqlite3.NOTADB):
		return &oldDatabase{damaged: true}, c.Close()
	case err != nil:
		return nil, errors.Join(fmt.Errorf("settle the old database: %w", err), c.Close())
	}
	return &oldDatabase{conn: c}, nil
}

// keep gives the old files another name; what is beside the database may not stay
// there, or it would be replayed over the new one.
func (o *oldDatabase) keep(path, name string) (string, error) {
	for _, end := range []string{"-wal", "-shm", "-journal"} {
		err := os.Rename(path+end, name+end)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return "", err
		}
	}
	if o.conn == nil && !o.damaged {
		return "", nil
	}
	if err := os.Link(path, name); err != nil {
		if errors.Is(err, fs.ErrExist) {
			return "", err
		}
		makePrivate(name) // a file system without links
		if err := errors.Join(copyFile(path, name), syncFile(name)); err != nil {
			return "", err
		}
	}
	return name, syncFolder(path)
}

func (o *oldDatabase) close() {
	if o.conn != nil {
		_ = o.conn.Close() // it wrote nothing
	}
}

// copyFile copies the bytes of a file into one that is there.
func copyFile(from, to string) error {
	src, err := os.Open(from) //nolint:gosec // the operator names the file
	if err != nil {
		return err
	}
	defer src.Close()                                      //nolint:errcheck // it was only read
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
