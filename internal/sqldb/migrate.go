package sqldb

import (
	"context"
	"fmt"
	"slices"
	"time"

	"claviger/internal/release"
)

// madeTable records the applied migrations.
const madeTable = `CREATE TABLE IF NOT EXISTS migrations (
	name       TEXT NOT NULL PRIMARY KEY,
	applied_at BIGINT NOT NULL
)`

const madeRow = `INSERT INTO migrations (name, applied_at) VALUES ($1, $2)`

// Statements on the oldest version of the program that may run on the schema.
const (
	readOldest  = `SELECT version FROM oldest_program`
	writeOldest = `UPDATE oldest_program SET version = $1`
)

// Migrate applies the missing migrations, except contracting ones, and returns their names. Nodes
// that start at the same time take turns. Nodes of the previous release continue to work, unless
// Schema.Stop is set.
//
// On SQLite all are applied, or none. On PostgreSQL this is so for those from before 1.0.0, and each
// later one has its own transaction, so that it never makes others wait for long.
func (db *DB) Migrate(ctx context.Context) ([]string, error) {
	return db.MigrateBefore(ctx, "")
}

// MigrateBefore is Migrate for the migrations that sort before name, or for all if it is empty.
// Tests use it to store rows as an older program did.
func (db *DB) MigrateBefore(ctx context.Context, name string) ([]string, error) {
	return db.migrateSome(ctx, func(m migration) bool {
		return m.kind != contracting && (name == "" || m.name < name)
	})
}

// MigrateLike is Migrate, and applies the contracting migrations that another database has.
func (db *DB) MigrateLike(ctx context.Context, other *DB) ([]string, error) {
	made, err := other.engine.applied(ctx)
	if err != nil {
		return nil, fmt.Errorf("read which migrations were applied: %w", err)
	}
	return db.migrateSome(ctx, func(m migration) bool { return m.kind != contracting || made[m.name] })
}

// Contract applies contracting migrations by their names, and returns those that were missing. From
// then on, versions of the program that need the old form must not run.
func (db *DB) Contract(ctx context.Context, names []string) ([]string, error) {
	return db.migrateSome(ctx, func(m migration) bool {
		return m.kind == contracting && slices.Contains(names, m.name)
	})
}

func (db *DB) migrateSome(ctx context.Context, may func(migration) bool) ([]string, error) {
	all, err := db.load()
	if err != nil {
		return nil, err
	}
	all = slices.DeleteFunc(all, func(m migration) bool { return !may(m) })
	names, err := db.engine.migrate(ctx, all)
	if err != nil {
		return names, fmt.Errorf("migrate: %w", err)
	}
	return names, nil
}

func missing(all []migration, made map[string]bool) []migration {
	return slices.DeleteFunc(slices.Clone(all), func(m migration) bool { return made[m.name] })
}

// raised returns the oldest version that may run after a migration, and whether it changes.
func (m migration) raised(oldest string) (string, bool) {
	if m.kind != contracting || !release.Before(oldest, m.since) {
		return oldest, false
	}
	return release.Number(m.since), true
}

func (l *sqlite) migrate(ctx context.Context, all []migration) ([]string, error) {
	var names []string
	err := l.write(ctx, func(tx *Tx) error {
		names = []string{}
		if err := l.writer.conn.Exec(madeTable); err != nil {
			return err
		}
		made, err := appliedNames(ctx, tx)
		if err != nil {
			return err
		}
		for _, m := range missing(all, made) {
			if err := l.apply(ctx, tx, m); err != nil {
				return fmt.Errorf("%s: %w", m.name, err)
			}
			names = append(names, m.name)
		}
		return nil
	})
	return names, err
}

func (l *sqlite) apply(ctx context.Context, tx *Tx, m migration) error {
	if err := l.writer.conn.Exec(m.text); err != nil {
		return err
	}
	tx.Queue(madeRow, m.name, time.Now())
	if m.kind != contracting {
		return nil
	}
	oldest, err := One(ctx, tx, Value[string], readOldest)
	if err != nil {
		return err
	}
	if oldest, changes := m.raised(oldest); changes {
		tx.Queue(writeOldest, oldest)
	}
	return nil
}

func (l *sqlite) applied(ctx context.Context) (map[string]bool, error) {
	n, err := One(ctx, &DB{engine: l}, Value[int64], `SELECT count(*) FROM sqlite_schema WHERE name = 'migrations'`)
	if err != nil || n == 0 {
		return nil, err
	}
	return appliedNames(ctx, &DB{engine: l})
}

func (p *postgres) applied(ctx context.Context) (map[string]bool, error) {
	there, err := One(ctx, &DB{engine: p}, Value[bool], `SELECT to_regclass('migrations') IS NOT NULL`)
	if err != nil || !there {
		return nil, err
	}
	return appliedNames(ctx, &DB{engine: p})
}

func appliedNames(ctx context.Context, r Reader) (map[string]bool, error) {
	names, err := All(ctx, r, Value[string], `SELECT name FROM migrations`)
	made := make(map[string]bool, len(names))
	for _, n := range names {
		made[n] = true
	}
	return made, err
}
