package app

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"
	"time"

	"claviger/internal/cluster"
	"claviger/internal/sqldb"
	"claviger/internal/sqldb/dbcopy"
)

// ErrUnreachable is wrapped by a failure to open the database: the settings may be right and the
// database down.
var ErrUnreachable = errors.New("the database cannot be opened")

// Now returns the time for everything that the service writes: UTC in whole microseconds, the
// precision of both databases and of the wire.
func Now() time.Time { return time.Now().UTC().Truncate(time.Microsecond) }

// Open opens the database without migrating it. It creates a missing SQLite file.
func Open(ctx context.Context, cfg Config) (*sqldb.DB, error) { return openUnmarked(ctx, cfg, false) }

// OpenExisting is Open for a database that must exist: it does not create an SQLite file.
func OpenExisting(ctx context.Context, cfg Config) (*sqldb.DB, error) {
	return openUnmarked(ctx, cfg, true)
}

// openUnmarked refuses a database that is being copied or was moved: the services on both databases
// would send.
func openUnmarked(ctx context.Context, cfg Config, mustExist bool) (*sqldb.DB, error) {
	db, err := open(ctx, cfg, mustExist)
	if err != nil {
		return nil, err
	}
	mark, err := dbcopy.Marked(ctx, db)
	if err == nil && mark != nil {
		err = mark
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("the database %s cannot be used: %w", shownDB(cfg.DB), err), db.Close())
	}
	return db, nil
}

func open(ctx context.Context, cfg Config, mustExist bool) (*sqldb.DB, error) {
	db, err := sqldb.Open(ctx, cfg.DB, sqldb.Options{
		Readers: cfg.ReadConnections, Log: cfg.Log, MustExist: mustExist, NewDatabase: cfg.NewDatabase,
		DirectURL: cfg.DirectURL, Timeout: cfg.DBTimeout, JobTimeout: cfg.DBJobTimeout,
	})
	if mustExist && errors.Is(err, fs.ErrNotExist) {
		return nil, noDatabase(cfg)
	}
	if err != nil {
		return nil, fmt.Errorf("%w (db is %s): %w", ErrUnreachable, shownDB(cfg.DB), err)
	}
	return db, nil
}

// noDatabase returns the error for a missing database.
func noDatabase(cfg Config) error {
	form := "%w: there is no database at %s; name yours with --db or CLAVIGER_DB, or make one there with claviger " +
		"serve or claviger migrate"
	if cfg.Postgres() {
		form = "%w: %s has no data of this program; name yours with --db or CLAVIGER_DB, or prepare this one with " +
			"claviger serve or claviger migrate"
	}
	return fmt.Errorf(form, ErrUnreachable, fullDB(cfg))
}

// fullDB returns the database's location for messages. A file has its absolute path, because the
// wrong folder is the usual mistake.
func fullDB(cfg Config) string {
	if abs, err := filepath.Abs(cfg.DB); err == nil && !cfg.Postgres() {
		return abs
	}
	return shownDB(cfg.DB)
}

// OpenCurrent is OpenExisting for a command that reads data: the schema must exist and be current.
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

// usable checks that a database is one of ours and has the schema of this program.
func usable(ctx context.Context, db *sqldb.DB, cfg Config) error {
	ours, err := db.Migrated(ctx)
	switch {
	case err != nil:
		return fmt.Errorf("%w (db is %s): %w", ErrUnreachable, shownDB(cfg.DB), err)
	case !ours:
		return noDatabase(cfg)
	}
	err = current(ctx, db)
	if err != nil && !errors.Is(err, sqldb.ErrTooNew) {
		return fmt.Errorf("%w; run claviger migrate first", err)
	}
	return err
}

// OpenMigrated is Open for a database to use: it migrates the schema. If the configuration forbids
// that, the schema must be current.
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

// migrate migrates the schema, or fails if that is needed but not allowed.
func migrate(ctx context.Context, db *sqldb.DB, cfg Config) error {
	schema, err := db.Schema(ctx)
	if err == nil {
		err = schema.TooNew()
	}
	if err != nil || len(schema.Pending) == 0 {
		return err
	}
	if !cfg.Migrate {
		return fmt.Errorf("%w; the setting migrate is false, so run claviger migrate first", schema.Current())
	}
	applied, err := Migrate(ctx, db)
	if len(applied) > 0 && cfg.Log != nil {
		cfg.Log.Info("brought the database's schema up to date", "applied", strings.Join(applied, " "))
	}
	if err != nil {
		return fmt.Errorf("bring the schema up to date: %w", err)
	}
	return nil
}

// Migrate applies the missing migrations, except contracting ones. Those from before 1.0.0 are
// refused while nodes run, because every sale on such a node would fail.
func Migrate(ctx context.Context, db *sqldb.DB) ([]string, error) {
	schema, err := db.Schema(ctx)
	if err == nil {
		err = schema.TooNew()
	}
	if err == nil && schema.Stop {
		err = stopped(ctx, db)
	}
	if err != nil {
		return nil, err
	}
	return db.Migrate(ctx)
}

// stopped returns an error while nodes run.
func stopped(ctx context.Context, db *sqldb.DB) error {
	holder, err := db.Holder(ctx)
	if err != nil {
		return err
	}
	n, err := cluster.Running(ctx, db)
	if err != nil || n == 0 && holder != sqldb.Others {
		return err
	}
	return errors.New("the service runs on this database with a version before 1.0.0, which fails on the new " +
		"schema; stop all of its nodes first")
}

// current checks that the schema is current, and that this version may run on it.
func current(ctx context.Context, db *sqldb.DB) error {
	schema, err := db.Schema(ctx)
	if err != nil {
		return err
	}
	return schema.Current()
}

// shownDB returns the database's address without its password.
func shownDB(db string) string { return Setting{Name: "db", Secret: true}.Show(db) }
