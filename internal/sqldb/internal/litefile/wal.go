package litefile

import (
	"errors"
	"syscall"

	"github.com/ncruces/go-sqlite3"
	"github.com/ncruces/go-sqlite3/vfs"
)

// walFS is the file system of the writing connection. It collects appends to the write-ahead log
// and writes them in one call when SQLite syncs. SQLite itself writes each page in two calls, which
// took a quarter of a purchase's time. The delay is invisible: others see a transaction only after
// its sync (synchronous=FULL), and the writer reads through the same file.
type walFS struct{ privateFS }

// Gathering is the file system of the writing connection: Private, with appends to the log in one
// call.
const Gathering = "claviger-wal"

// OpenFilename opens a file; only writes to the log are collected.
func (w walFS) OpenFilename(name *vfs.Filename, flags vfs.OpenFlag) (vfs.File, vfs.OpenFlag, error) {
	f, flags, err := w.privateFS.OpenFilename(name, flags)
	if err == nil && flags&vfs.OPEN_WAL != 0 {
		return &walFile{File: f}, flags, nil
	}
	return f, flags, err
}

// maxGathered limits the memory of a large transaction.
const maxGathered = 4 << 20

// walFile collects consecutive writes.
type walFile struct {
	vfs.File
	gathered []byte
	at       int64 // their offset
}

// flush writes the collected data. If that fails, SQLite rolls back and writes to the same place
// again.
func (f *walFile) flush() error {
	if len(f.gathered) == 0 {
		return nil
	}
	_, err := f.File.WriteAt(f.gathered, f.at)
	f.gathered = f.gathered[:0]
	return tellFull(err)
}

// tellFull marks an error of a full disk. The driver takes it for any failure, and clients are told of a
// full disk only.
func tellFull(err error) error {
	if errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) {
		return vfs.SystemError(err, sqlite3.FULL)
	}
	return err
}

// WriteAt collects b.
func (f *walFile) WriteAt(b []byte, at int64) (int, error) {
	if at != f.at+int64(len(f.gathered)) || len(f.gathered)+len(b) > maxGathered {
		if err := f.flush(); err != nil {
			return 0, err
		}
	}
	if len(f.gathered) == 0 {
		f.at = at
	}
	f.gathered = append(f.gathered, b...)
	return len(b), nil
}

// ReadAt flushes first, so it also returns collected data.
func (f *walFile) ReadAt(b []byte, at int64) (int, error) {
	if err := f.flush(); err != nil {
		return 0, err
	}
	return f.File.ReadAt(b, at)
}

// Sync flushes, then syncs the file.
func (f *walFile) Sync(flags vfs.SyncFlag) error {
	if err := f.flush(); err != nil {
		return err
	}
	return f.File.Sync(flags)
}

// Truncate flushes, then truncates the file.
func (f *walFile) Truncate(size int64) error {
	if err := f.flush(); err != nil {
		return err
	}
	return f.File.Truncate(size)
}

// Size includes the collected data.
func (f *walFile) Size() (int64, error) {
	if err := f.flush(); err != nil {
		return 0, err
	}
	return f.File.Size()
}

// Close flushes and closes.
func (f *walFile) Close() error {
	err := f.flush()
	cerr := f.File.Close()
	if err == nil {
		err = cerr
	}
	return err
}
