package backups

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"
)

// form is the name of a backup, made of the time at which it was begun.
const form = "claviger-20060102T150405Z.db"

// ownerOnly is the mode of the folder.
const ownerOnly = 0o700

// file is a complete backup in the folder.
type file struct {
	path string
	at   time.Time
}

// files lists the backups, the newest last. It makes the folder if it is missing, but not the folder
// above it, which may be a disk that is not mounted. A name in the future was given while the clock
// was wrong, so that backup counts as the oldest.
func (j *Job) files(now time.Time) ([]file, error) {
	entries, err := os.ReadDir(j.Dir)
	if errors.Is(err, fs.ErrNotExist) {
		err = os.Mkdir(j.Dir, ownerOnly)
	}
	if err != nil {
		return nil, fmt.Errorf("look for backups: %w", err)
	}
	var list []file
	for _, e := range entries {
		at, err := time.Parse(form, e.Name())
		if err == nil && whole(e) {
			list = append(list, file{filepath.Join(j.Dir, e.Name()), at})
		}
	}
	slices.SortFunc(list, func(a, b file) int {
		if x, y := a.at.After(now), b.at.After(now); x != y {
			if x {
				return -1
			}
			return 1
		}
		return a.at.Compare(b.at)
	})
	return list, nil
}

// whole reports whether a file has content. A file system without links leaves an empty file when a
// backup is killed just before its end.
func whole(e fs.DirEntry) bool {
	info, err := e.Info()
	return err == nil && info.Mode().IsRegular() && info.Size() > 0
}

// removeAll deletes backups.
func removeAll(list []file) error {
	var errs []error
	for _, f := range list {
		errs = append(errs, os.Remove(f.path))
	}
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("remove old backups: %w", err)
	}
	return nil
}
