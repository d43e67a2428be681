package sqldb

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/ncruces/go-sqlite3/vfs"
)

// ownerOnly is the mode of the database's file and of every file beside it: the
// newest data is in the log, and a copy is worth as much as the file itself.
const ownerOnly fs.FileMode = 0o600

// privateFS is the file system as every connection sees it: what it makes, its owner
// alone can read, whatever the umask. The driver makes files for everybody, less the umask.
type privateFS struct{ vfs.VFSFilename }

const privateFSName = "claviger"

func init() {
	if system, ok := vfs.Find("").(vfs.VFSFilename); ok {
		vfs.Register(privateFSName, privateFS{system})
		vfs.Register(walFSName, walFS{privateFS{system}})
	}
}

// onFS is the name under which SQLite opens a path with a file system of ours.
func onFS(name, path string) string {
	return "file:" + strings.NewReplacer("%", "%25", "?", "%3f", "#", "%23").Replace(filepath.Clean(path)) + "?vfs=" + name
}

// realPath is where a file is that its path may only lead to: SQLite's own files are
// beside that one, and so are ours.
func realPath(path string) string {
	if to, err := filepath.EvalSymlinks(path); err == nil {
		return to
	}
	return path
}

// OpenFilename makes the file before SQLite opens it, so that there is no moment at
// which others can open it, too. The shared memory is opened without us, after the
// log and under the same lock on the database, by which nobody removes either.
func (p privateFS) OpenFilename(name *vfs.Filename, flags vfs.OpenFlag) (vfs.File, vfs.OpenFlag, error) {
	if path := name.String(); path != "" && flags&vfs.OPEN_CREATE != 0 && flags&vfs.OPEN_EXCLUSIVE == 0 {
		makePrivate(path)
		if flags&vfs.OPEN_WAL != 0 {
			makePrivate(strings.TrimSuffix(path, "-wal") + "-shm")
		}
	}
	return p.VFSFilename.OpenFilename(name, flags)
}

// makePrivate makes a file that is not there, and takes one that is there from
// everybody but its owner: older versions left them to others. It reports nothing: who
// opens the file next learns why that cannot be, and a file of another owner, whose
// mode we cannot change, is for the operator to decide on.
func makePrivate(path string) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_EXCL, ownerOnly) //nolint:gosec // a name of ours beside the operator's file
	if err == nil {
		_ = f.Close()
		return
	}
	if info, err := os.Lstat(path); err == nil && info.Mode().IsRegular() && info.Mode().Perm()&^ownerOnly != 0 {
		_ = os.Chmod(path, ownerOnly)
	}
}
