package app

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"claviger/internal/backups"
)

// backups checks the folder of backups, and when the last good one was made.
func (e *examination) backups(ctx context.Context) {
	const name = "backups"
	if err := checkFolder(e.cfg.BackupDir); err != nil {
		e.say(name, Failed, "Correct backup-dir, or make the folder above it; the service makes the last one itself.",
			"no backup can be written: %v", err)
		return
	}
	last, err := backups.Last(ctx, e.db)
	switch at := last.Format(time.RFC3339); {
	case err != nil:
		e.say(name, Failed, again, "%v", err)
	case last.IsZero() && e.cfg.BackupDir != "":
		e.say(name, Passed, "", "there is none yet; the service makes one when it runs")
	case last.IsZero() && e.cfg.Postgres():
		e.say(name, Warned, "Back up PostgreSQL by its own tools, and run claviger backup report after each backup.",
			"no backup is known")
	case last.IsZero():
		e.say(name, Warned, "Set backup-dir, or run claviger backup every day.", "no backup is known")
	case backups.Old(last, e.cfg.backupEvery(), e.cfg.Now()):
		e.say(name, Warned, "Follow BackupOld in docs/runbooks.md.", "the last good backup is of %s", at)
	default:
		e.say(name, Passed, "", "the last good backup is of %s", at)
	}
}

// checkFolder checks that a folder exists, or that the one above it does. "" is no folder.
func checkFolder(path string) error {
	if path == "" {
		return nil
	}
	info, err := os.Stat(path)
	if os.IsNotExist(err) {
		info, err = os.Stat(filepath.Dir(path))
	}
	if err == nil && !info.IsDir() {
		err = &fs.PathError{Op: "open", Path: path, Err: errors.New("it is not a folder")}
	}
	return err
}
