package app

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"
	"time"

	"claviger/internal/sqldb"
)

// ErrUnreachable is wrapped by a failure to open the database: the settings
// may be right and the database away.
var ErrUnreachable = errors.New("the database cannot be opened")

// Now is the time of everything the service writes: UTC, in whole microseconds,
// which is what both databases and the wire keep.
func Now() time.Time { return time.Now().UTC().Truncate(time.Microsecond) }

// Open opens the database and leaves its schema as it is. An SQLite file that
// is not there is made.
func Open(ctx context.Context, cfg Config) (*sqldb.DB, error) { return openUnmarked(ctx, cfg, false) }

// OpenExisting is Open for a database that must be there: an SQLite file that is
// missing is not made.
func OpenExisting(ctx context.Context, cfg Config) (*sqldb.DB, error) {
	return openUnmarked(ctx, cfg, true)
}

// openUnmarked refuses a database whose data is being copied or was moved: its service and
// that of the other would both send.
func openUnmarked(ctx context.Context, cfg Config, mustExist bool) (*sqldb.DB, error) {
	db, err := open(ctx, cfg, mustExist)
	if err != nil {
		return nil, err
	}
	mark, err := db.Marked(ctx)
	if err == nil && mark != nil {
		err = mark
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("the database %s cannot be used: %w", shownDB(cfg.DB), err), db.Close())
	}
	return db, nil
}

func open(ctx context.Context, cfg Config, mustExist bool) (*sqldb.DB, error) {
	db, err := sqldb.Open(ctx, cfg.DB, sqldb.Options{Readers: cfg.ReadConnections, Log: cfg.Log, MustExist: mustExist})
	if mustExist && errors.Is(err, fs.ErrNotExist) {
		return nil, noDatabase(cfg)
	}
	if err != nil {
		return nil, fmt.Errorf("%w (db is %s): %w", ErrUnreachable, shownDB(cfg.DB), err)
	}
	return db, nil
}

// noDatabase says where there is no database of ours.
func noDatabase(cfg Config) error {
	form := "%w: there is no database at %s; name yours with --db or CLAVIGER_DB, or make one there with claviger serve or claviger migrate"
	if cfg.Postgres() {
		form = "%w: %s has no data of this program; name yours with --db or CLAVIGER_DB, or prepare this one with claviger serve or claviger migrate"
	}
	return fmt.Errorf(form, ErrUnreachable, fullDB(cfg))
}

// fullDB is how people are told where a database is: a file by its whole path, since the
// folder that a command was typed in is the usual mistake.
func fullDB(cfg Config) string {
	if abs, err := filepath.Abs(cfg.DB); err == nil && !cfg.Postgres() {
		return abs
	}
	return shownDB(cfg.DB)
}

// OpenCurrent is OpenExisting for a command that reads data: the schema must be
// there, and up to date.
func OpenCurrent(ctx context.Context, cfg Config) (*sqldb.DB, error) {
	db, err := OpenExisting(ctx, cfg)
	if err != nil {
		return nil, err
	}
	if err := usable(ctx, db, cfg); err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return db, nil
}

// usable says whether a database is one of ours, and whether its schema is what this
// program needs.
func usable(ctx context.Context, db *sqldb.DB, cfg Config) error {
	ours, err := db.Migrated(ctx)
	switch {
	case err != nil:
		return fmt.Errorf("%w (db is %s): %w", ErrUnreachable, shownDB(cfg.DB), err)
	case !ours:
		return noDatabase(cfg)
	}
	if err := current(ctx, db); err != nil {
		return fmt.Errorf("%w; run claviger migrate first", err)
	}
	return nil
}

// OpenMigrated is Open for a database that is to be used: its schema is
// brought up to date, or, where the configuration forbids that, must be.
func OpenMigrated(ctx context.Context, cfg Config) (*sqldb.DB, error) {
	db, err := Open(ctx, cfg)
	if err != nil {
		return nil, err
	}
	if err := migrate(ctx, db, cfg); err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return db, nil
}

// migrate brings the schema up to date, or refuses to go on without that.
func migrate(ctx context.Context, db *sqldb.DB, cfg Config) error {
	if cfg.Migrate {
		applied, err := db.Migrate(ctx)
		if err != nil {
			return fmt.Errorf("bring the schema up to date: %w", err)
		}
		if len(applied) > 0 && cfg.Log != nil {
			cfg.Log.Info("brought the database's schema up to date", "applied", strings.Join(applied, " "))
		}
		return nil
	}
	if err := current(ctx, db); err != nil {
		return fmt.Errorf("%w; the setting migrate is false, so run claviger migrate first", err)
	}
	return nil
}

// current says whether the schema is what this program needs.
func current(ctx context.Context, db *sqldb.DB) error {
	pending, err := db.Pending(ctx)
	if err != nil {
		return err
	}
	if len(pending) > 0 {
		return fmt.Errorf("the schema is not up to date: %s", strings.Join(pending, ", "))
	}
	return nil
}

// shownDB is the database's address without its password.
func shownDB(db string) string { return Setting{Name: "db", Secret: true}.Show(db) }
