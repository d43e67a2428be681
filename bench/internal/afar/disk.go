// Package afar makes databases as far away as they are for others: a disk that
// takes its time to sync, a server behind a network. The machine of a benchmark
// mostly has neither, and grouping commits or saving round trips is worth what
// they cost.
package afar

import (
	"fmt"
	"sync/atomic"
	"time"

	"github.com/ncruces/go-sqlite3/vfs"
)

// syncTakes is how much longer a sync of SQLite's log takes.
var syncTakes atomic.Int64

// disk is a file system whose syncs of a write-ahead log take longer.
type disk struct{ vfs.VFSFilename }

type log struct{ vfs.File }

// Disk slows the named file system of SQLite down from now on, for all that is
// opened after the first call.
func Disk(name string, by time.Duration) error {
	switch fs := vfs.Find(name).(type) {
	case disk:
	case vfs.VFSFilename:
		vfs.Register(name, disk{fs})
	default:
		return fmt.Errorf("SQLite has no file system %q that opens files by name", name)
	}
	syncTakes.Store(int64(by))
	return nil
}

// OpenFilename opens a file.
func (d disk) OpenFilename(name *vfs.Filename, flags vfs.OpenFlag) (vfs.File, vfs.OpenFlag, error) {
	f, flags, err := d.VFSFilename.OpenFilename(name, flags)
	if err == nil && flags&vfs.OPEN_WAL != 0 {
		return log{f}, flags, nil
	}
	return f, flags, err
}

// Sync syncs and takes its time.
func (l log) Sync(flags vfs.SyncFlag) error {
	err := l.File.Sync(flags)
	if d := syncTakes.Load(); d > 0 {
		time.Sleep(time.Duration(d))
	}
	return err
}
