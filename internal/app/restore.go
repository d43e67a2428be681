package app

import (
	"context"
	"errors"
	"fmt"

	"claviger/internal/account"
	"claviger/internal/audit"
	"claviger/internal/event"
	"claviger/internal/fault"
	"claviger/internal/license"
	"claviger/internal/mail"
	"claviger/internal/sqldb"
	"claviger/internal/webhook"
)

// DefaultGap is how far a restore moves ids on: more than a marketplace makes between
// a backup and the end of its database.
const DefaultGap = 10_000_000

// Finishing is what a restored database needs before it may serve: since its backup
// was made, others have seen ids that it does not know, and people were erased.
type Finishing struct {
	By     audit.Actor
	Gap    int64   // how far ids are moved on
	Erased []int64 // who was erased since; who is not in the backup is passed over
}

// Finished is what was done, and what will happen when the service starts.
type Finished struct {
	Gap        int64
	Deliveries int64 // webhooks that waited when the backup was made: they go out again
	Mails      int64 // likewise
	Erased     int   // people who are erased now
	Unknown    int   // ids of Erased that nobody has in the backup
}

// Backup writes a copy of the database to a file.
func Backup(ctx context.Context, cfg Config, to string) error {
	if cfg.Postgres() {
		return fmt.Errorf("%w: use pg_dump --format=custom --file=%s, or pg_basebackup with WAL archiving; after pg_restore run claviger restore --finish", sqldb.ErrNotOurs, to)
	}
	db, err := open(ctx, cfg, true) // also one whose data was moved
	if err != nil {
		return err
	}
	ours, err := db.Migrated(ctx)
	if err == nil && !ours {
		err = noDatabase(cfg)
	}
	if err == nil {
		err = db.Backup(ctx, to)
	}
	return errors.Join(err, db.Close())
}

// Restore puts a backup in the place of the database, finished, and returns where the
// old one is kept. It changes nothing unless all of it can be done.
func Restore(ctx context.Context, cfg Config, from string, f Finishing) (kept string, done Finished, err error) {
	if cfg.Postgres() {
		return "", done, fmt.Errorf("%w: use pg_restore, then run claviger restore --finish", sqldb.ErrNotOurs)
	}
	kept, err = sqldb.Restore(ctx, sqldb.Restoring{
		Path: cfg.DB, From: from, Now: Now(), Log: cfg.logger(),
		Prepare: func(ctx context.Context, db *sqldb.DB) (err error) {
			done, err = finish(ctx, db, f)
			return err
		},
	})
	return kept, done, stopFirst(err)
}

// Finish makes a database ready that was restored by other tools. To do it twice is
// harmless: ids move on once more.
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
	if _, err := db.Migrate(ctx); err != nil {
		return Finished{}, err
	}
	return finish(ctx, db, f)
}

// stopFirst says what to do when somebody else has the database open.
func stopFirst(err error) error {
	if errors.Is(err, sqldb.ErrInUse) {
		return errors.New("another process has the database open; stop the service, and whatever else reads it, first")
	}
	return err
}

// finish moves ids on before anything makes new ones, and erases again who was erased.
func finish(ctx context.Context, db *sqldb.DB, f Finishing) (Finished, error) {
	done := Finished{Gap: f.Gap}
	if err := db.Advance(ctx, f.Gap); err != nil {
		return done, err
	}
	webhooks := &webhook.Outbox{DB: db, Now: Now}
	stats, err := webhooks.Stats(ctx) // before an erase makes new ones
	if err != nil {
		return done, err
	}
	done.Deliveries = stats.Pending
	licenses := &license.Registry{DB: db, Now: Now, Events: &event.Log{DB: db, Outbox: webhooks}, EraseAddress: eraseAddress}
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
