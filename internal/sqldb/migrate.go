package sqldb

import (
	"context"
	"embed"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
)

// The migrations of both databases: same numbers, same columns.
//
//go:embed migrations
var migrations embed.FS

type migration struct {
	name string
	text string
}

// madeTable is where it is written down which migrations were applied.
const madeTable = `CREATE TABLE IF NOT EXISTS migrations (
	name       TEXT NOT NULL PRIMARY KEY,
	applied_at BIGINT NOT NULL
)`

const madeRow = `INSERT INTO migrations (name, applied_at) VALUES ($1, $2)`

// Migrate applies the migrations that are missing, all or none, and returns
// their names. Nodes that start at the same time take turns.
func (db *DB) Migrate(ctx context.Context) ([]string, error) {
	return db.MigrateBefore(ctx, "")
}

// MigrateBefore is Migrate for the migrations whose names sort before name, or for all
// when it is empty: with them, a test can store rows as an older program did.
func (db *DB) MigrateBefore(ctx context.Context, name string) ([]string, error) {
	all, err := load(db.engine.folder())
	if err != nil {
		return nil, err
	}
	if name != "" {
		all = slices.DeleteFunc(all, func(m migration) bool { return m.name >= name })
	}
	names, err := db.engine.migrate(ctx, all)
	if err != nil {
		return nil, fmt.Errorf("migrate: %w", err)
	}
	return names, nil
}

// Migrated reports whether any migration was applied: whether the database is one of
// this program's.
func (db *DB) Migrated(ctx context.Context) (bool, error) {
	made, err := db.engine.applied(ctx)
	if err != nil {
		return false, fmt.Errorf("read which migrations were applied: %w", err)
	}
	return len(made) > 0, nil
}

// Known refuses a database whose schema a newer version of this program has made.
func (db *DB) Known(ctx context.Context) error {
	all, err := load(db.engine.folder())
	if err != nil {
		return err
	}
	made, err := db.engine.applied(ctx)
	if err != nil {
		return fmt.Errorf("read which migrations were applied: %w", err)
	}
	for name := range made {
		if !slices.ContainsFunc(all, func(m migration) bool { return m.name == name }) {
			return fmt.Errorf("the database was made by a newer version of this program, which knows %s; use that one", name)
		}
	}
	return nil
}

// Pending returns the names of the migrations that Migrate would apply.
func (db *DB) Pending(ctx context.Context) ([]string, error) {
	all, err := load(db.engine.folder())
	if err != nil {
		return nil, err
	}
	made, err := db.engine.applied(ctx)
	if err != nil {
		return nil, fmt.Errorf("read which migrations were applied: %w", err)
	}
	names := []string{}
	for _, m := range missing(all, made) {
		names = append(names, m.name)
	}
	return names, nil
}

// Migrations are the files of the migrations, in the folder migrations.
func Migrations() fs.FS { return migrations }

func load(folder string) ([]migration, error) {
	files, err := fs.Glob(migrations, path.Join("migrations", folder, "*.sql"))
	if err != nil {
		return nil, fmt.Errorf("list migrations: %w", err)
	}
	slices.Sort(files)
	var all []migration
	for _, f := range files {
		text, err := migrations.ReadFile(f)
		if err != nil {
			return nil, fmt.Errorf("read a migration: %w", err)
		}
		all = append(all, migration{strings.TrimSuffix(path.Base(f), ".sql"), string(text)})
	}
	return all, nil
}

func missing(all []migration, made map[string]bool) []migration {
	return slices.DeleteFunc(slices.Clone(all), func(m migration) bool { return made[m.name] })
}

func (l *sqlite) migrate(ctx context.Context, all []migration) ([]string, error) {
	var names []string
	err := l.write(ctx, func(tx *Tx) error {
		names = []string{}
		conn := l.writer.conn
		if err := conn.Exec(madeTable); err != nil {
			return err
		}
		made, err := appliedNames(ctx, tx)
		if err != nil {
			return err
		}
		for _, m := range missing(all, made) {
			if err := conn.Exec(m.text); err != nil {
				return fmt.Errorf("%s: %w", m.name, err)
			}
			tx.Queue(madeRow, m.name, time.Now())
			names = append(names, m.name)
		}
		return nil
	})
	return names, err
}

func (l *sqlite) applied(ctx context.Context) (map[string]bool, error) {
	n, err := One(ctx, &DB{engine: l}, Value[int64], `SELECT count(*) FROM sqlite_schema WHERE name = 'migrations'`)
	if err != nil || n == 0 {
		return nil, err
	}
	return appliedNames(ctx, &DB{engine: l})
}

// migrationLock is an arbitrary number that no other program is likely to lock.
const migrationLock = 0x636c6176 // "clav"

func (p *postgres) migrate(ctx context.Context, all []migration) ([]string, error) {
	var names []string
	err := pgx.BeginFunc(ctx, p.pool, func(t pgx.Tx) error {
		names = []string{}
		if _, err := t.Exec(ctx, `SELECT pg_advisory_xact_lock($1)`, migrationLock); err != nil {
			return err
		}
		if _, err := t.Exec(ctx, madeTable); err != nil {
			return err
		}
		rows, err := t.Query(ctx, `SELECT name FROM migrations`)
		if err != nil {
			return err
		}
		made, err := pgx.CollectRows(rows, pgx.RowTo[string])
		if err != nil {
			return err
		}
		for _, m := range missing(all, set(made)) {
			if _, err := t.Exec(ctx, m.text); err != nil {
				return fmt.Errorf("%s: %w", m.name, err)
			}
			if _, err := t.Exec(ctx, madeRow, m.name, time.Now().UnixNano()); err != nil {
				return err
			}
			names = append(names, m.name)
		}
		return nil
	})
	return names, err
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
	return set(names), err
}

func set(names []string) map[string]bool {
	m := map[string]bool{}
	for _, n := range names {
		m[n] = true
	}
	return m
}
