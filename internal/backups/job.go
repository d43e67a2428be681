package backups

import (
	"context"
	"log/slog"
	"path/filepath"
	"time"

	"claviger/internal/job"
	"claviger/internal/sqldb"
	"claviger/internal/sqldb/backup"
)

// LookEvery is the interval at which the job looks whether a backup is due.
const LookEvery = time.Minute

// maxSkip is the maximum number of looks that a failing job skips before it tries again.
const maxSkip = 15

// Job backs up an SQLite database on a schedule, and deletes old backups. The names of the files say
// when each was begun, so the schedule survives a restart.
type Job struct {
	DB    *sqldb.DB
	Now   func() time.Time
	Dir   string        // folder of the backups
	Every time.Duration // between two backups
	Keep  int           // number of backups to keep
	Ran   job.Ran
	Log   *slog.Logger

	failed   error // of the last try; nil: it succeeded
	failures int   // since the last success
	skip     int   // looks until the next try
}

// Run makes backups until ctx ends. The first one is due immediately if the newest is too old.
func (j *Job) Run(ctx context.Context) {
	ticker := time.NewTicker(LookEvery)
	defer ticker.Stop()
	for {
		began := time.Now()
		err := j.look(ctx)
		j.Ran.Run(ctx, began, err)
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
}

// look tries a round. After a failure it skips some looks, and still reports the failure.
func (j *Job) look(ctx context.Context) error {
	if j.skip > 0 {
		j.skip--
		return j.failed
	}
	err := j.round(ctx)
	switch {
	case ctx.Err() != nil:
		return err // cut off, which is no failure
	case err != nil:
		if j.failed == nil {
			j.Log.Error("backup failed; it is tried again", "dir", j.Dir, "err", err)
		}
		j.skip = min(1<<j.failures-1, maxSkip)
		j.failures = min(j.failures+1, maxSkip)
	case j.failed != nil:
		j.Log.Info("backups succeed again", "dir", j.Dir)
		j.failures = 0
	}
	j.failed = err
	return err
}

// round makes a backup if one is due. Old ones are deleted only while the newest is not due, so a
// backup that fails costs none.
func (j *Job) round(ctx context.Context) error {
	now := j.Now()
	list, err := j.files(now)
	if err != nil {
		return err
	}
	if due(list, j.Every, now) {
		made, err := j.write(ctx, now)
		if err != nil {
			return err
		}
		list = append(list, made)
	}
	if err := Record(ctx, j.DB, list[len(list)-1].at, now); err != nil {
		return err
	}
	return removeAll(list[:max(len(list)-j.Keep, 0)])
}

// due reports whether the next backup is due.
func due(list []file, every time.Duration, now time.Time) bool {
	if len(list) == 0 {
		return true
	}
	age := now.Sub(list[len(list)-1].at)
	return age < 0 || age >= every
}

// write makes a backup.
func (j *Job) write(ctx context.Context, now time.Time) (file, error) {
	at := now.UTC().Truncate(time.Second)
	f := file{filepath.Join(j.Dir, at.Format(form)), at}
	began := time.Now()
	if err := backup.Write(ctx, j.DB, f.path); err != nil {
		return f, err
	}
	j.Log.Info("backup written", "file", f.path, "took", time.Since(began).Round(time.Millisecond))
	return f, nil
}
