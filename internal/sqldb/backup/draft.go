package backup

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/ncruces/go-sqlite3"

	"claviger/internal/sqldb/internal/litefile"
)

// draft is a file that is not complete yet. It has a lock file beside it, whose lock ends with the
// process: a draft without the lock belongs to no one.
type draft struct {
	path string
	lock *sqlite3.Conn
}

// The kinds of drafts, which follow the name of the file to be.
const (
	partKind    = ".part-"    // of a backup
	restoreKind = ".restore-" // of a restored database
)

// draftName matches the names of drafts.
var draftName = regexp.MustCompile(`\.(part|restore)-[0-9]+$`)

// lockEnd is how litefile.Lock names the file that it locks.
const lockEnd = "-sole"

// newDraft creates an empty draft of the file at path, readable only by its owner. The lock is taken
// first, so that a draft is never seen without it.
func newDraft(ctx context.Context, path, kind string) (*draft, error) {
	d, err := lockDraft(ctx, path, kind)
	for tries := 1; errors.Is(err, errTaken) && tries < 10; tries++ {
		d, err = lockDraft(ctx, path, kind)
	}
	if err != nil {
		return nil, err
	}
	f, err := os.OpenFile(d.path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, litefile.OwnerOnly) //nolint:gosec // a new file
	if err == nil {
		err = f.Close()
	}
	if err != nil {
		d.remove()
		return nil, err
	}
	return d, nil
}

// errTaken means that another process took a new lock file for one that was left behind.
var errTaken = errors.New("another process removes the lock of the draft")

// lockDraft creates the lock file of a draft and takes its lock.
func lockDraft(ctx context.Context, path, kind string) (*draft, error) {
	created, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+kind+"*"+lockEnd)
	if err != nil {
		return nil, err
	}
	defer created.Close() //nolint:errcheck // it stays empty; while it is open, no other file has its number
	info, err := created.Stat()
	if err != nil {
		return nil, err
	}
	d := &draft{path: strings.TrimSuffix(created.Name(), lockEnd)}
	if d.lock, err = litefile.Lock(ctx, d.path); err != nil {
		if gone := os.Remove(created.Name()); gone != nil || errors.Is(err, litefile.ErrInUse) {
			return nil, errTaken
		}
		return nil, err
	}
	locked, err := os.Lstat(created.Name())
	if err != nil || !os.SameFile(info, locked) {
		d.remove()
		return nil, errTaken
	}
	return d, nil
}

// remove removes what is left of the draft.
func (d *draft) remove() {
	removeAll(d.path)
	_ = d.lock.Close()
	_ = os.Remove(d.path + lockEnd)
}

// LeftBehind returns the drafts in a folder that no living process writes, and lock files without a
// draft: those of backups and restores that were killed. A missing folder has none.
func LeftBehind(ctx context.Context, folder string) ([]string, error) {
	list, err := os.ReadDir(folder)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	var left []string
	for _, e := range list {
		path := filepath.Join(folder, e.Name())
		if !e.Type().IsRegular() || !isDraft(path) {
			continue
		}
		lock, err := abandoned(ctx, strings.TrimSuffix(path, lockEnd))
		if err == nil {
			left = append(left, path)
			closeLock(lock)
		}
	}
	return left, err
}

// removeLeft removes the drafts that LeftBehind finds. It is a courtesy, so it reports no error.
func removeLeft(ctx context.Context, folder string) {
	left, _ := LeftBehind(ctx, folder)
	for _, path := range left {
		path = strings.TrimSuffix(path, lockEnd)
		lock, err := abandoned(ctx, path)
		if err != nil {
			continue
		}
		removeAll(path)
		_ = os.Remove(path + lockEnd) // before another process can take the lock
		closeLock(lock)
		_ = os.Remove(path + lockEnd) // where open files cannot be removed
	}
}

// isDraft reports whether a file is a draft, or a lock file without its draft.
func isDraft(path string) bool {
	of, isLock := strings.CutSuffix(path, lockEnd)
	if !draftName.MatchString(of) || !ours(path) {
		return false
	}
	_, err := os.Lstat(of)
	return !isLock || errors.Is(err, fs.ErrNotExist)
}

// abandoned takes the lock of a draft, or returns an error because its writer lives. The lock is nil if
// there is no lock file, as with older versions.
func abandoned(ctx context.Context, path string) (*sqlite3.Conn, error) {
	if _, err := os.Lstat(path + lockEnd); errors.Is(err, fs.ErrNotExist) {
		return nil, nil //nolint:nilnil // there is nothing to lock
	}
	return litefile.Lock(ctx, path)
}

func closeLock(lock *sqlite3.Conn) {
	if lock != nil {
		_ = lock.Close()
	}
}

// ours reports whether a file with the name of a draft is one. Other programs may use such names, too.
func ours(path string) bool {
	f, err := os.Open(path) //nolint:gosec // only its first bytes are read
	if err != nil {
		return false
	}
	defer f.Close() //nolint:errcheck // only read
	const begin = "SQLite format 3\x00"
	head := make([]byte, len(begin))
	n, err := io.ReadFull(f, head)
	if err != nil {
		return n == 0 && errors.Is(err, io.EOF)
	}
	if string(head) == begin {
		return true
	}
	// SQLite may write the first page last, and has a journal until then.
	_, err = os.Lstat(path + "-journal")
	return err == nil && len(bytes.Trim(head, "\x00")) == 0
}
