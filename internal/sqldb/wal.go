package sqldb

import "github.com/ncruces/go-sqlite3/vfs"

// walFS is the file system as the writing connection sees it: what it appends to
// the write-ahead log is gathered and written at once when SQLite asks for it to
// be on disk. SQLite itself writes each page in two calls, which were a quarter
// of a purchase's time. Nobody misses what is not written yet: others see a
// transaction only after its sync (synchronous=FULL), and the writer reads what
// it wrote through the same file.
type walFS struct{ privateFS }

const walFSName = "claviger-wal"

// OpenFilename opens a file; only the log is gathered.
func (w walFS) OpenFilename(name *vfs.Filename, flags vfs.OpenFlag) (vfs.File, vfs.OpenFlag, error) {
	f, flags, err := w.privateFS.OpenFilename(name, flags)
	if err == nil && flags&vfs.OPEN_WAL != 0 {
		return &walFile{File: f}, flags, nil
	}
	return f, flags, err
}

// maxGathered bounds the memory of a large transaction.
const maxGathered = 4 << 20

// walFile gathers writes that follow one another.
type walFile struct {
	vfs.File
	gathered []byte
	at       int64 // where they begin
}

// flush writes what was gathered. If that fails, SQLite undoes the transaction and
// writes to the same place anew.
func (f *walFile) flush() error {
	if len(f.gathered) == 0 {
		return nil
	}
	_, err := f.File.WriteAt(f.gathered, f.at)
	f.gathered = f.gathered[:0]
	return err
}

// WriteAt gathers.
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

// ReadAt reads, also what was gathered.
func (f *walFile) ReadAt(b []byte, at int64) (int, error) {
	if err := f.flush(); err != nil {
		return 0, err
	}
	return f.File.ReadAt(b, at)
}

// Sync puts on disk what was gathered.
func (f *walFile) Sync(flags vfs.SyncFlag) error {
	if err := f.flush(); err != nil {
		return err
	}
	return f.File.Sync(flags)
}

// Truncate cuts, after what was gathered is written.
func (f *walFile) Truncate(size int64) error {
	if err := f.flush(); err != nil {
		return err
	}
	return f.File.Truncate(size)
}

// Size counts what was gathered, too.
func (f *walFile) Size() (int64, error) {
	if err := f.flush(); err != nil {
		return 0, err
	}
	return f.File.Size()
}

// Close writes what was gathered and closes.
func (f *walFile) Close() error {
	err := f.flush()
	if cerr := f.File.Close(); err == nil {
		err = cerr
	}
	return err
}
