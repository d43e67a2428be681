package litefile

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/ncruces/go-sqlite3/vfs"
)

// OwnerOnly is the mode of the database file and all files beside it. The log holds the newest
// data, and a copy is worth as much as the file itself.
const OwnerOnly fs.FileMode = 0o600

// privateFS creates files that only their owner can read, with any umask. The driver's own files
// are open to everyone, less the umask.
type privateFS struct{ vfs.VFSFilename }

// Private is the file system for files that only their owner can read.
const Private = "claviger"

func init() {
	if system, ok := vfs.Find("").(vfs.VFSFilename); ok {
		vfs.Register(Private, privateFS{system})
		vfs.Register(Gathering, walFS{privateFS{system}})
	}
}

// OnFS returns the name that makes SQLite open path with one of our file systems.
func OnFS(name, path string) string {
	return "file:" + strings.NewReplacer("%", "%25", "?", "%3f", "#", "%23").
		Replace(filepath.Clean(path)) +
		"?vfs=" + name
}

// RealPath resolves links: SQLite's files, and ours, are beside the real file.
func RealPath(path string) string {
	if to, err := filepath.EvalSymlinks(path); err == nil {
		return to
	}
	return path
}

// OpenFilename creates the file before SQLite opens it, so others can never open it. SQLite opens
// the shared memory itself, after the log and under the same lock on the database, so no one
// removes either.
func (p privateFS) OpenFilename(name *vfs.Filename, flags vfs.OpenFlag) (vfs.File, vfs.OpenFlag, error) {
	if path := name.String(); path != "" && flags&vfs.OPEN_CREATE != 0 && flags&vfs.OPEN_EXCLUSIVE == 0 {
		MakePrivate(path)
		if flags&vfs.OPEN_WAL != 0 {
			MakePrivate(strings.TrimSuffix(path, "-wal") + "-shm")
		}
	}
	return p.VFSFilename.OpenFilename(name, flags)
}

// MakePrivate creates a missing file, and closes an existing one to everyone but its owner: older
// versions left it open. It reports no error: the next open of the file fails with the reason. If
// the file belongs to another owner, we cannot change its mode; the operator must decide.
func MakePrivate(path string) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_EXCL, OwnerOnly) //nolint:gosec // beside the operator's file
	if err == nil {
		_ = f.Close()
		return
	}
	if info, err := os.Lstat(path); err == nil && info.Mode().IsRegular() && info.Mode().Perm()&^OwnerOnly != 0 {
		_ = os.Chmod(path, OwnerOnly)
	}
}
