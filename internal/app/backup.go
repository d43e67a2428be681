package app

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"claviger/internal/backups"
	"claviger/internal/sqldb"
	"claviger/internal/sqldb/backup"
	"claviger/internal/sqldb/dbcopy"
)

// maxBackups limits the number of backups to keep: larger values are typos.
const maxBackups = 10_000

// parseBackupEvery parses the time between two backups. The job looks once a minute whether one is due.
func parseBackupEvery(c *Config, v string) error {
	d, err := time.ParseDuration(v)
	if err != nil || d < backups.LookEvery || d > maxWait {
		return fmt.Errorf("must be a duration such as 6h, from 1m to %s", short(maxWait))
	}
	c.BackupEvery = d
	return nil
}

// validBackups refuses settings of backups that do nothing.
func (c Config) validBackups(origins []Origin) error {
	switch {
	case c.BackupDir != "" && c.Postgres():
		return errors.New(
			"backup-dir is for SQLite, and db is PostgreSQL, which has tools of its own; remove backup-dir, and let " +
				"your tool run claviger backup report after each backup",
		)
	case c.BackupDir != "":
		return nil
	}
	var errs []error
	for _, name := range []string{"backup-every", "backup-keep"} {
		set := slices.ContainsFunc(origins, func(o Origin) bool { return o.Name == name && o.From != "default" })
		if set {
			errs = append(errs, fmt.Errorf("%s is set and backup-dir is not; set backup-dir to a folder, or remove %s",
				name, name))
		}
	}
	return errors.Join(errs...)
}

// backupEvery returns the time between backups by the service; 0: it makes none.
func (c Config) backupEvery() time.Duration {
	if c.BackupDir == "" {
		return 0
	}
	return c.BackupEvery
}

// backups backs up an SQLite database on the schedule of the settings.
func (a *App) backups(ctx context.Context) {
	if a.cfg.BackupDir == "" {
		a.without(ctx, backupJob)
		return
	}
	(&backups.Job{
		DB: a.services.DB, Now: a.cfg.Now, Dir: a.cfg.BackupDir, Every: a.cfg.BackupEvery, Keep: a.cfg.BackupKeep,
		Ran: a.runs.Of(backupJob, backups.LookEvery), Log: a.log,
	}).Run(ctx)
}

// Backup writes a copy of the database to a file. The time of the backup is stored in the database;
// unrecorded is the error if that fails, for example because its disk is full.
func Backup(ctx context.Context, cfg Config, to string) (unrecorded, err error) {
	if cfg.Postgres() {
		return nil, fmt.Errorf(
			"%w: use pg_dump --format=custom --file=%s, or pg_basebackup with WAL archiving; after pg_restore run "+
				"claviger restore --finish",
			backup.ErrNotOurs,
			to,
		)
	}
	db, err := open(ctx, cfg, true) // also for moved data
	if err != nil {
		return nil, err
	}
	ours, err := db.Migrated(ctx)
	if err == nil && !ours {
		err = noDatabase(cfg)
	}
	if err == nil {
		at := Now()
		if err = backup.Write(ctx, db, to); err == nil {
			unrecorded = recordBackup(ctx, db, at)
		}
	}
	return unrecorded, errors.Join(err, db.Close())
}

// recordBackup stores that a backup was begun at a time. Moved data stays as it is.
func recordBackup(ctx context.Context, db *sqldb.DB, at time.Time) error {
	mark, err := dbcopy.Marked(ctx, db)
	if err != nil || mark != nil {
		return err
	}
	if err := current(ctx, db); err != nil {
		return err
	}
	return backups.Record(ctx, db, at, Now())
}

// ReportBackup stores when the operator's own tool last made a good backup.
func ReportBackup(ctx context.Context, cfg Config, at time.Time) error {
	db, err := OpenCurrent(ctx, cfg)
	if err != nil {
		return err
	}
	return errors.Join(backups.Report(ctx, db, at, Now()), db.Close())
}
