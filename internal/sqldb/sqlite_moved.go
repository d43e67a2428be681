package sqldb

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"sync/atomic"

	"github.com/ncruces/go-sqlite3"

	"claviger/internal/sqldb/internal/litefile"
)

var (
	// ErrMoved means that the SQLite file was moved, deleted or replaced while this process used it.
	// Whatever it wrote would be missing after a restart.
	ErrMoved = errors.New("the database file is no longer in its place")
	// ErrLeftLog means that the log of an SQLite database is there without its database.
	ErrLeftLog = errors.New("a log without its database")
)

// Moved returns an error if the SQLite file is no longer the one that was opened. It remains until the
// database is closed. On PostgreSQL it is nil.
func (db *DB) Moved() error { return tellAway(db.engine.moved()) }

func (p *postgres) moved() error { return nil }

// place has the files of an open database, to compare with those that its paths lead to now. The
// writer checks it with each commit, so no write into a deleted file is acknowledged.
type place struct {
	path      string
	file, log fs.FileInfo // log is nil if the system has no such file
	gone      atomic.Bool // set once: work that began on another file is not to be trusted
}

func newPlace(path string) (*place, error) {
	file, err := os.Stat(path)
	if err != nil {
		return nil, fmt.Errorf("open the database file: %w", err)
	}
	log, err := os.Stat(path + "-wal")
	if err != nil {
		log = nil
	}
	return &place{path: path, file: file, log: log}, nil
}

func (l *sqlite) moved() error { return l.place.moved() }

// moved compares device and inode.
func (p *place) moved() error {
	if !p.gone.Load() && same(p.path, p.file) && (p.log == nil || same(p.path+"-wal", p.log)) {
		return nil
	}
	p.gone.Store(true)
	return fmt.Errorf("%w: %s or its -wal was moved, deleted or replaced; put both back before you stop this process, "+
		"then restart it", ErrMoved, p.path)
}

// same reports whether path still leads to the file. An error of the disk is no answer.
func same(path string, file fs.FileInfo) bool {
	now, err := os.Stat(path)
	if err != nil {
		return !errors.Is(err, fs.ErrNotExist)
	}
	return os.SameFile(now, file)
}

// emptyForOthers moves the log into the file before the last connection ends, if another file took its
// place: SQLite would replay the log there. With no file in its place, SQLite leaves the log, and it is
// complete again when the file is put back.
func (l *sqlite) emptyForOthers(last *sqliteConn) error {
	if _, err := os.Stat(l.path); err != nil || l.moved() == nil {
		return nil
	}
	_, _, err := last.WALCheckpoint("main", sqlite3.CHECKPOINT_TRUNCATE)
	return err
}

// CheckLeftLog returns ErrLeftLog if a filled log lies beside a missing or empty SQLite file. SQLite
// would delete it.
func CheckLeftLog(path string) error {
	path = litefile.RealPath(path)
	log, err := os.Stat(path + "-wal") // first: a new database is not empty once it has a log
	if err != nil || log.Size() == 0 {
		return nil
	}
	if file, err := os.Stat(path); err == nil && file.Size() > 0 || err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return fmt.Errorf("%w: %s-wal has data, but %s is missing or empty; put the database back beside its log, or "+
		"restore a backup; for a new, empty database start claviger serve with --new-database, which renames the log",
		ErrLeftLog, path, path)
}

// setAside renames the log and the shared memory of a missing database by the time of the last write.
func setAside(path string) error {
	log, err := os.Stat(path + "-wal")
	if err != nil {
		return fmt.Errorf("rename the left log: %w", err)
	}
	end := log.ModTime().UTC().Format(".before-20060102T150405Z")
	for _, file := range []string{path + "-wal", path + "-shm"} {
		if _, err := os.Lstat(file + end); err == nil {
			return fmt.Errorf("rename the left log: there is a %s already", file+end)
		}
		if err := os.Rename(file, file+end); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("rename the left log: %w", err)
		}
	}
	return nil
}
