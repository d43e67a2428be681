package app

import (
	"context"
	"path/filepath"
	"strings"

	"claviger/internal/sqldb/backup"
)

// leftBehind names the files of backups and restores that were killed, beside the database and in the
// folder of backups. They have all the data, and no one else would remove them if the next backup goes
// elsewhere.
func (e *examination) leftBehind(ctx context.Context) {
	const name = "leftovers"
	if _, withheld := e.cfg.Withheld["db"]; withheld || e.cfg.Postgres() || e.cfg.DB == "" {
		return
	}
	left, err := backup.LeftBehind(ctx, filepath.Dir(e.cfg.DB))
	if e.cfg.BackupDir != "" {
		more, _ := backup.LeftBehind(ctx, e.cfg.BackupDir) // another check names a folder that cannot be read
		left = append(left, more...)
	}
	switch {
	case err != nil:
		e.say(name, Failed, "Run claviger doctor as the user of the service, or as root.",
			"the folder of the database cannot be read: %v", err)
	case len(left) > 0:
		e.say(name, Warned, "Remove them: they have all the data. The next backup or restore there does it, too.",
			"a backup or a restore was killed and left %s", strings.Join(left, ", "))
	default:
		e.say(name, Passed, "", "no backup or restore was killed and left files beside the database")
	}
}
