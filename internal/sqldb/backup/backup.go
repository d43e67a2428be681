// Package backup writes a copy of an SQLite database while the service runs, and replaces a database by
// such a copy. PostgreSQL has its own tools for both.
package backup

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/ncruces/go-sqlite3"

	"claviger/internal/sqldb"
	"claviger/internal/sqldb/internal/litefile"
)

// ErrNotOurs means that the database is PostgreSQL, which has its own backup tools.
var ErrNotOurs = errors.New("PostgreSQL is backed up and restored by its own tools")

// Write writes a copy of a database, as of one moment, to a file that must not exist yet. Reads and
// writes continue meanwhile. The file appears complete or not at all; it is checked, synced and
// readable only by its owner. It contains no deleted data.
//
// Write first removes incomplete files that killed backups and restores left in the same folder.
func Write(ctx context.Context, db *sqldb.DB, to string) error {
	if db.File() == "" {
		return ErrNotOurs
	}
	if _, err := os.Lstat(to); err == nil {
		return fmt.Errorf(
			"there is a %s already, and a backup overwrites nothing; name another file: %w",
			to,
			fs.ErrExist,
		)
	}
	removeLeft(ctx, filepath.Dir(to))
	part, err := newDraft(ctx, to, partKind)
	if err != nil {
		return fmt.Errorf("write the backup: %w", err)
	}
	defer part.remove()                            // already renamed on success
	space, known := sqldb.DiskAt(filepath.Dir(to)) // before the draft takes it
	if err := copyInto(ctx, db.File(), part.path); err != nil {
		if known {
			err = withSpace(err, space, db.File(), to)
		}
		return fmt.Errorf("write the backup: %w", err)
	}
	if err := checkFile(ctx, part.path); err != nil {
		return fmt.Errorf("check the backup: %w", err)
	}
	if err := syncFile(part.path); err != nil {
		return fmt.Errorf("put the backup on disk: %w", err)
	}
	if err := appear(part.path, to); err != nil {
		return fmt.Errorf("name the backup: %w", err)
	}
	return nil
}

// withSpace explains the error of a copy on a disk that had less space than the database. SQLite
// only calls it an I/O error.
func withSpace(err error, space sqldb.Disk, from, to string) error {
	info, statErr := os.Stat(from)
	if statErr != nil || space.Free >= info.Size() {
		return err
	}
	return fmt.Errorf("%d MB were free in %s, and the database has %d MB: %w",
		space.Free>>20, filepath.Dir(to), info.Size()>>20, err)
}

// copyInto writes a copy into an empty file, on its own connection.
func copyInto(ctx context.Context, from, to string) error {
	c, err := litefile.Open(ctx, litefile.Private, from, "PRAGMA busy_timeout = 10000; PRAGMA secure_delete = ON;")
	if err != nil {
		return err
	}
	c.SetInterrupt(ctx)
	err = c.Exec("VACUUM INTO " + sqlite3.Quote(litefile.OnFS(litefile.Private, to)))
	c.SetInterrupt(context.Background())
	return errors.Join(err, c.Close())
}

// appear gives part its final name, unless that exists already.
func appear(part, to string) error {
	err := os.Link(part, to)
	if err != nil && !errors.Is(err, fs.ErrExist) { // a file system without links
		var f *os.File
		//nolint:gosec // the operator names the file
		if f, err = os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, litefile.OwnerOnly); err == nil {
			err = errors.Join(f.Close(), os.Rename(part, to))
		}
	}
	return errors.Join(err, syncFolder(to))
}

// syncFile flushes a file to disk.
func syncFile(path string) error {
	f, err := os.OpenFile(path, os.O_RDWR, 0) //nolint:gosec // a file of ours
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}

// syncFolder flushes a file's folder to disk. Some systems and file systems do not support this;
// they flush folders without being asked.
func syncFolder(path string) error {
	f, err := os.Open(filepath.Dir(path))
	if err != nil {
		return err
	}
	if err := f.Sync(); err != nil && !errors.Is(err, errors.ErrUnsupported) && !errors.Is(err, fs.ErrInvalid) &&
		!errors.Is(err, fs.ErrPermission) {
		return errors.Join(err, f.Close())
	}
	return f.Close()
}

// NotWholeError describes a problem with a file that should be a database of this program.
type NotWholeError struct {
	Path    string
	Problem string
}

// Error names the file and the problem.
func (e *NotWholeError) Error() string { return e.Path + " " + e.Problem }

// checkFile checks that a file is a complete database of this program.
func checkFile(ctx context.Context, path string) error {
	bad := func(format string, args ...any) error { return &NotWholeError{path, fmt.Sprintf(format, args...)} }
	c, err := litefile.Open(ctx, litefile.Private, path, "PRAGMA query_only = ON;")
	if err != nil {
		return bad("cannot be opened: %v", err)
	}
	defer c.Close() //nolint:errcheck // only reads
	c.SetInterrupt(ctx)
	for _, sql := range []string{`PRAGMA integrity_check(3)`, `PRAGMA foreign_key_check`} {
		found, err := texts(c, sql)
		if errors.Is(err, sqlite3.NOTADB) {
			return bad("is not an SQLite database")
		}
		if err != nil {
			return bad("cannot be read: %v", err)
		}
		if len(found) > 0 && found[0] != "ok" {
			return bad("is damaged: %s says %v", sql, found)
		}
	}
	if names, err := texts(c, `SELECT name FROM migrations`); err != nil || len(names) == 0 {
		return bad("is not a database of this program")
	}
	return nil
}

// texts runs a query and returns the first column of its rows.
func texts(c *sqlite3.Conn, sql string) (list []string, err error) {
	s, _, err := c.Prepare(sql)
	if err != nil {
		return nil, err
	}
	for s.Step() {
		list = append(list, s.ColumnText(0))
	}
	err = s.Err()
	_ = s.Close() // repeats the error
	return list, err
}
