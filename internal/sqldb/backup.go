package sqldb

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/ncruces/go-sqlite3"
)

// ErrNotOurs says that a database has a backup of its own: it is PostgreSQL's.
var ErrNotOurs = errors.New("PostgreSQL is backed up and restored by its own tools")

// Backup writes a copy of the database, as it is at one moment, to a file that must
// not be there yet; others go on reading and writing meanwhile. The file appears whole
// or not at all, checked, on disk, and readable by its owner alone. Nothing that was
// deleted is in it.
func (db *DB) Backup(ctx context.Context, to string) error { return db.engine.backup(ctx, to) }

func (p *postgres) backup(context.Context, string) error { return ErrNotOurs }

func (l *sqlite) backup(ctx context.Context, to string) error {
	if _, err := os.Lstat(to); err == nil {
		return fmt.Errorf("there is a %s already, and a backup overwrites nothing; name another file: %w", to, fs.ErrExist)
	}
	part, err := emptyFile(to, ".part-*")
	if err != nil {
		return fmt.Errorf("write the backup: %w", err)
	}
	defer os.Remove(part) //nolint:errcheck // it is gone where all went well
	if err := l.copyInto(ctx, part); err != nil {
		return fmt.Errorf("write the backup: %w", err)
	}
	if err := checkFile(ctx, part); err != nil {
		return fmt.Errorf("check the backup: %w", err)
	}
	if err := syncFile(part); err != nil {
		return fmt.Errorf("put the backup on disk: %w", err)
	}
	if err := appear(part, to); err != nil {
		return fmt.Errorf("name the backup: %w", err)
	}
	return nil
}

// copyInto writes a copy into an empty file, on a connection of its own.
func (l *sqlite) copyInto(ctx context.Context, path string) error {
	c, err := openSQLiteConn(ctx, privateFSName, l.path, sqlitePragmas)
	if err != nil {
		return err
	}
	c.SetInterrupt(ctx)
	err = c.run(&statement{sql: `VACUUM INTO $1`, args: []any{onFS(privateFSName, path)}})
	c.SetInterrupt(context.Background())
	return errors.Join(err, c.Close())
}

// emptyFile makes an empty file beside path, for its owner alone.
func emptyFile(path, pattern string) (string, error) {
	f, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+pattern)
	if err != nil {
		return "", err
	}
	return f.Name(), f.Close()
}

// appear gives a file its name, unless there is one of that name already.
func appear(part, to string) error {
	err := os.Link(part, to)
	if err != nil && !errors.Is(err, fs.ErrExist) { // a file system without links
		var f *os.File
		if f, err = os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, ownerOnly); err == nil { //nolint:gosec // the operator names the file
			err = errors.Join(f.Close(), os.Rename(part, to))
		}
	}
	return errors.Join(err, syncFolder(to))
}

// syncFile puts a file on disk.
func syncFile(path string) error {
	f, err := os.OpenFile(path, os.O_RDWR, 0) //nolint:gosec // a file of ours
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}

// syncFolder puts the names in a file's folder on disk. Some systems cannot, and some
// file systems refuse it; those do it by themselves.
func syncFolder(path string) error {
	f, err := os.Open(filepath.Dir(path))
	if err != nil {
		return err
	}
	if err := f.Sync(); err != nil && !errors.Is(err, errors.ErrUnsupported) && !errors.Is(err, fs.ErrInvalid) && !errors.Is(err, fs.ErrPermission) {
		return errors.Join(err, f.Close())
	}
	return f.Close()
}

// NotWholeError says what is wrong with a file that should be a database of ours.
type NotWholeError struct {
	Path    string
	Problem string
}

// Error names the file and the problem.
func (e *NotWholeError) Error() string { return e.Path + " " + e.Problem }

// checkFile looks at a file: whether it is a whole database, with a schema that this
// program knows.
func checkFile(ctx context.Context, path string) error {
	bad := func(format string, args ...any) error { return &NotWholeError{path, fmt.Sprintf(format, args...)} }
	c, err := openSQLiteConn(ctx, privateFSName, path, "PRAGMA query_only = ON;")
	if err != nil {
		return bad("cannot be opened: %v", err)
	}
	defer c.Close() //nolint:errcheck // it only read
	c.SetInterrupt(ctx)
	for _, sql := range []string{`PRAGMA integrity_check(3)`, `PRAGMA foreign_key_check`} {
		var found []string
		err := c.run(&statement{sql: sql, each: func(r *Row) error { found = append(found, r.lite.ColumnText(0)); return nil }})
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
	return checkSchema(c, bad)
}

func checkSchema(c *sqliteConn, bad func(string, ...any) error) error {
	all, err := load("sqlite")
	if err != nil {
		return err
	}
	known := map[string]bool{}
	for _, m := range all {
		known[m.name] = true
	}
	var names []string
	err = c.run(&statement{sql: `SELECT name FROM migrations ORDER BY name`, each: func(r *Row) error { names = append(names, r.lite.ColumnText(0)); return nil }})
	if err != nil || len(names) == 0 {
		return bad("is not a database of this program")
	}
	for _, name := range names {
		if !known[name] {
			return bad("was made by a newer version of this program, which knows %s; use that one", name)
		}
	}
	return nil
}
