package sqldb

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"claviger/internal/release"
)

// ErrTooNew means that this version of the program is too old for the database.
var ErrTooNew = errors.New("the database is too new for this program")

// Contraction is a contracting migration that was not applied.
type Contraction struct {
	Name  string
	Since string // the oldest version that does not use the old form
	Loss  string // what it deletes, in words
	Due   bool   // it runs by itself when no node needs the old form
}

// Schema is the state of a database as this program sees it.
type Schema struct {
	Ours         bool     // it belongs to this program
	Pending      []string // migrations that Migrate would apply
	Stop         bool     // some of them need all nodes stopped
	Contractions []Contraction
	Unknown      []string // applied migrations of newer versions
	Oldest       string   // the oldest version that may run; "" if there is no limit yet

	version string // of this program
}

// Schema reads which migrations were applied.
func (db *DB) Schema(ctx context.Context) (Schema, error) {
	all, err := db.load()
	if err != nil {
		return Schema{}, err
	}
	made, err := db.engine.applied(ctx)
	if err != nil {
		return Schema{}, fmt.Errorf("read which migrations were applied: %w", err)
	}
	s := Schema{Ours: len(made) > 0, Pending: []string{}, version: db.version}
	for _, m := range missing(all, made) {
		if m.kind == contracting {
			due := release.Before(m.since, db.version)
			s.Contractions = append(s.Contractions, Contraction{Name: m.name, Since: m.since, Loss: m.loss, Due: due})
			continue
		}
		s.Pending = append(s.Pending, m.name)
		s.Stop = s.Stop || m.kind == unmarked && s.Ours
	}
	for name := range made {
		if !slices.ContainsFunc(all, func(m migration) bool { return m.name == name }) {
			s.Unknown = append(s.Unknown, name)
		}
	}
	slices.Sort(s.Unknown)
	if made[oldestMigration] {
		s.Oldest, err = One(ctx, db, Value[string], readOldest)
	}
	return s, err
}

// oldestMigration is the migration that created the table of the oldest version.
const oldestMigration = "0080_oldest_program"

// TooNew returns ErrTooNew if this program must not run on the database.
func (s Schema) TooNew() error { return tooNew(s.version, s.Oldest) }

// Current returns an error if the database is too new, or if migrations are pending.
func (s Schema) Current() error {
	if err := s.TooNew(); err != nil || len(s.Pending) == 0 {
		return err
	}
	return fmt.Errorf("the schema is not up to date: %d migrations are pending, the first is %s",
		len(s.Pending), s.Pending[0])
}

// CheckVersion returns ErrTooNew if a version of the program must not run on a migrated database.
func CheckVersion(ctx context.Context, r Reader, version string) error {
	oldest, err := One(ctx, r, Value[string], readOldest)
	if err != nil {
		return fmt.Errorf("read which version may run: %w", err)
	}
	return tooNew(version, oldest)
}

func tooNew(version, oldest string) error {
	if !release.Before(version, oldest) {
		return nil
	}
	return fmt.Errorf(
		"%w: it needs claviger %s or newer, and this is %s; run version %s or newer, or restore the backup from "+
			"before the upgrade",
		ErrTooNew, oldest, version, oldest)
}

// Migrated reports whether any migration was applied, so the database belongs to this program.
func (db *DB) Migrated(ctx context.Context) (bool, error) {
	made, err := db.engine.applied(ctx)
	if err != nil {
		return false, fmt.Errorf("read which migrations were applied: %w", err)
	}
	return len(made) > 0, nil
}

// Known rejects a database with any migration of a newer version, for work on every table.
func (db *DB) Known(ctx context.Context) error {
	s, err := db.Schema(ctx)
	if err == nil {
		err = s.TooNew()
	}
	if err == nil && len(s.Unknown) > 0 {
		err = fmt.Errorf("%w: it has %s of a newer version; use that one", ErrTooNew, s.Unknown[0])
	}
	return err
}

// Pending returns the names of the migrations that Migrate would apply.
func (db *DB) Pending(ctx context.Context) ([]string, error) {
	s, err := db.Schema(ctx)
	return s.Pending, err
}
