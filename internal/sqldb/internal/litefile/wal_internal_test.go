package litefile

import (
	"errors"
	"io/fs"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/ncruces/go-sqlite3"
	"github.com/ncruces/go-sqlite3/vfs"
)

// fullFS is Gathering on a disk that is full as soon as it is set.
type fullFS struct {
	walFS
	full *bool
}

func (f fullFS) OpenFilename(name *vfs.Filename, flags vfs.OpenFlag) (vfs.File, vfs.OpenFlag, error) {
	file, flags, err := f.walFS.OpenFilename(name, flags)
	if log, ok := file.(*walFile); ok {
		log.File = fullFile{log.File, f.full}
	}
	return file, flags, err
}

type fullFile struct {
	vfs.File
	full *bool
}

func (f fullFile) WriteAt(b []byte, at int64) (int, error) {
	if *f.full {
		return 0, &fs.PathError{Op: "write", Err: syscall.ENOSPC} // as os.File returns it
	}
	return f.File.WriteAt(b, at)
}

// TestFullDisk: a commit on a full disk fails with the code for that, not with that of a broken disk.
func TestFullDisk(t *testing.T) {
	system, ok := vfs.Find(Gathering).(walFS)
	if !ok {
		t.Fatal("the file system is not registered")
	}
	full := false
	vfs.Register("full", fullFS{system, &full})
	t.Cleanup(func() { vfs.Unregister("full") })
	c, err := Open(t.Context(), "full", filepath.Join(t.TempDir(), "a.db"), "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	if err := c.Exec("CREATE TABLE a (b TEXT)"); err != nil {
		t.Fatal(err)
	}
	full = true
	if err := c.Exec("INSERT INTO a VALUES ('c')"); !errors.Is(err, sqlite3.FULL) {
		t.Errorf("got %v", err)
	}
	full = false
	if err := c.Exec("INSERT INTO a VALUES ('c')"); err != nil {
		t.Error(err)
	}
}
