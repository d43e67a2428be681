package app

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"claviger/internal/account"
	"claviger/internal/audit"
	"claviger/internal/cluster"
	"claviger/internal/event"
	"claviger/internal/fault"
	"claviger/internal/license"
	"claviger/internal/mail"
	"claviger/internal/sqldb"
	"claviger/internal/sqldb/backup"
	"claviger/internal/webhook"
)

// DefaultGap is the number of ids that a restore skips: more than a marketplace creates between a
// backup and the loss of its database.
const DefaultGap = 10_000_000

// Finishing has the steps that a restored database needs before it may serve: since its backup,
// others have seen ids that it does not know, and people were erased.
type Finishing struct {
	By     audit.Actor
	Gap    int64   // number of ids to skip
	Erased []int64 // people erased since; those not in the backup are skipped
}

// Finished is the result, and what will happen when the service starts.
type Finished struct {
	Gap        int64
	Deliveries int64 // webhooks pending at the time of the backup: they are sent again
	Mails      int64 // likewise
	Erased     int   // people erased now
	Unknown    int   // ids of Erased that are not in the backup
}

// Restore replaces the database by a finished backup and returns where the old one is stored. It
// changes everything or nothing.
func Restore(ctx context.Context, cfg Config, from string, f Finishing) (kept string, done Finished, err error) {
	if cfg.Postgres() {
		return "", done, fmt.Errorf("%w: use pg_restore, then run claviger restore --finish", backup.ErrNotOurs)
	}
	kept, err = backup.Restore(ctx, backup.Restoring{
		Path: cfg.DB, From: from, Now: Now(), Log: cfg.logger(),
		Prepare: func(ctx context.Context, db *sqldb.DB) (err error) {
			done, err = finish(ctx, db, f)
			return err
		},
	})
	return kept, done, stopFirst(err)
}

// Finish prepares a database that was restored by other tools. Repeating it is harmless: ids skip
// once more.
func Finish(ctx context.Context, cfg Config, f Finishing) (Finished, error) {
	db, err := OpenExisting(ctx, cfg)
	if err != nil {
		return Finished{}, err
	}
	done, err := finishAlone(ctx, db, cfg, f)
	return done, errors.Join(stopFirst(err), db.Close())
}

func finishAlone(ctx context.Context, db *sqldb.DB, cfg Config, f Finishing) (Finished, error) {
	ours, err := db.Migrated(ctx)
	switch {
	case err != nil:
		return Finished{}, err
	case !ours:
		return Finished{}, noDatabase(cfg)
	}
	if err := db.Known(ctx); err != nil {
		return Finished{}, err
	}
	waiting, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	if _, err := db.AcquireExclusive(waiting, func() { stop(sqldb.ErrInUse) }); err != nil {
		return Finished{}, err
	}
	if _, err := Migrate(ctx, db); err != nil {
		return Finished{}, err
	}
	// After the migrations, because a database from before them may have no table of nodes.
	if cfg.Postgres() {
		if err := notServing(ctx, db); err != nil {
			return Finished{}, err
		}
	}
	return finish(ctx, db, f)
}

// notServing returns an error if nodes run. A fresh dump has the rows of nodes that ran when it was
// made: they expire, while a node that runs writes its row every second.
func notServing(ctx context.Context, db *sqldb.DB) error {
	var first time.Time
	for range rowsExpire / rowsEvery {
		list, err := cluster.List(ctx, db)
		if err != nil {
			return err
		}
		list = slices.DeleteFunc(list, func(m cluster.Member) bool { return m.Silent })
		if len(list) == 0 {
			return nil
		}
		last := slices.MaxFunc(list, func(a, b cluster.Member) int { return a.BeatAt.Compare(b.BeatAt) }).BeatAt
		if first.IsZero() {
			first = last
		}
		if last.After(first) {
			break
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(rowsEvery):
		}
	}
	return errServing
}

// rowsExpire is longer than the rows of dead nodes count, and rowsEvery how often they are read.
const (
	rowsExpire = 15 * time.Second
	rowsEvery  = 250 * time.Millisecond
)

// errServing means that ids would be given twice, and that erased people would be seen.
var errServing = errors.New("nodes of the service run on this database; stop all of them first")

// stopFirst adds advice if another process has the database open.
func stopFirst(err error) error {
	if errors.Is(err, sqldb.ErrInUse) {
		return errors.New(
			"another process has the database open; stop the service, and every other program that reads it, first",
		)
	}
	return err
}

// finish skips ids before any new ones are created, and erases the erased people again.
func finish(ctx context.Context, db *sqldb.DB, f Finishing) (Finished, error) {
	done := Finished{Gap: f.Gap}
	if err := db.Advance(ctx, f.Gap); err != nil {
		return done, err
	}
	webhooks := &webhook.Outbox{DB: db, Now: Now}
	stats, err := webhooks.Stats(ctx) // before an erasure creates new ones
	if err != nil {
		return done, err
	}
	done.Deliveries = stats.Pending
	licenses := &license.Store{DB: db, Now: Now, Events: &event.Log{DB: db, Outbox: webhooks}}
	for _, id := range f.Erased {
		_, err := licenses.EraseUser(ctx, f.By, id)
		switch {
		case fault.Is(err, account.CodeUnknownUser):
			done.Unknown++
		case err != nil:
			return done, fmt.Errorf("erase user %d again: %w", id, err)
		default:
			done.Erased++
		}
	}
	if done.Mails, err = mail.CountWaiting(ctx, db); err != nil {
		return done, err
	}
	err = db.Write(ctx, func(tx *sqldb.Tx) error {
		audit.Record(tx, Now(), f.By, "database.restore", "database", nil,
			audit.Facts{"gap": f.Gap, "erased": done.Erased, "deliveries": done.Deliveries, "mails": done.Mails})
		return nil
	})
	return done, err
}
