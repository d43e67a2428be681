// Package backups backs up an SQLite database on a schedule, and knows when the last good backup was
// made, by the service or by the operator's own tool. It owns the table last_backup.
package backups

import (
	"context"
	"errors"
	"fmt"
	"time"

	"claviger/internal/sqldb"
)

// Last returns when the newest known backup was begun; zero: none is known.
func Last(ctx context.Context, r sqldb.Reader) (time.Time, error) {
	at, err := sqldb.One(ctx, r, sqldb.Value[time.Time], `SELECT made_at FROM last_backup`)
	if err != nil && !errors.Is(err, sqldb.ErrNone) {
		return time.Time{}, fmt.Errorf("read when the last backup was made: %w", err)
	}
	return at, nil
}

// Record stores when a good backup was begun. It writes nothing if a newer one is known.
func Record(ctx context.Context, db *sqldb.DB, at, now time.Time) error {
	last, err := Last(ctx, db)
	if err != nil || !newer(at, last, now) {
		return err
	}
	_, err = store(ctx, db, at, now)
	return err
}

// Report is Record for a tool of the operator. It refuses a time in the future and a time before the
// stored one.
func Report(ctx context.Context, db *sqldb.DB, at, now time.Time) error {
	if at.After(now) {
		return fmt.Errorf(
			"a backup of %s would be in the future; give the time at which it was begun, and compare the clocks",
			shown(at),
		)
	}
	stored, err := store(ctx, db, at, now)
	if err != nil || stored {
		return err
	}
	last, err := Last(ctx, db)
	if err != nil {
		return err
	}
	return fmt.Errorf(
		"a backup of %s is known, and the one of %s is older; report the newest one only", shown(last), shown(at),
	)
}

// maxAge is the age after which the last good backup is old; the alert BackupOld has it, too.
const maxAge = 36 * time.Hour

// Old reports whether the last good backup is old. every is the time between backups by the service;
// 0: unknown.
func Old(last time.Time, every time.Duration, now time.Time) bool {
	return now.Sub(last) > max(maxAge, every+every/2)
}

func shown(at time.Time) string { return at.UTC().Format(time.RFC3339) }

// newer reports whether a backup replaces the last known one. A last one in the future was stored
// while the clock was wrong.
func newer(at, last, now time.Time) bool { return at.After(last) || last.After(now) }

// store writes the time unless a newer one is stored, and reports whether it is stored now. It has
// the condition of newer, but also accepts the stored time again.
func store(ctx context.Context, db *sqldb.DB, at, now time.Time) (bool, error) {
	var n int64
	err := db.Write(ctx, func(tx *sqldb.Tx) (err error) {
		n, err = tx.Exec(ctx,
			`INSERT INTO last_backup (id, made_at) VALUES (1, $1)
			ON CONFLICT (id) DO UPDATE SET made_at = excluded.made_at
				WHERE last_backup.made_at <= excluded.made_at OR last_backup.made_at > $2`,
			at, now)
		return err
	})
	if err != nil {
		return false, fmt.Errorf("store when the last backup was made: %w", err)
	}
	return n > 0, nil
}
