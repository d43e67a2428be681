package seed

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"

	"claviger/internal/sqldb"
)

// Store creates databases for benchmarks: files in a folder, or databases of a PostgreSQL server.
type Store struct {
	Folder string // of SQLite files
	Server string // URL of a PostgreSQL server's maintenance database; "" for SQLite
}

// Name returns the database's name for a table.
func (s Store) Name() string {
	if s.Server != "" {
		return "PostgreSQL"
	}
	return "SQLite"
}

// Market returns a database with one partner and at least this many licenses, seeded now or by an
// earlier run. A database with an outdated schema is seeded again.
func (s Store) Market(ctx context.Context, licenses int64, say func(string, ...any)) (Market, error) {
	name := fmt.Sprintf("market_%d", licenses)
	at := s.at(name)
	stale, err := s.stale(ctx, name, licenses)
	if err != nil {
		return Market{}, err
	}
	if stale {
		say("seeding %d licenses and %d events into %s", licenses, licenses*EventsPerLicense, s.Name())
		if _, err := s.Empty(ctx, name); err != nil {
			return Market{}, err
		}
		if err := Fill(ctx, at, licenses); err != nil {
			return Market{}, errors.Join(err, s.Drop(ctx, name))
		}
	}
	say("checking ordinals and counts in %s", s.Name())
	return Look(ctx, at)
}

// Empty creates an empty, migrated database with this name, replacing an existing one, and returns
// its address.
func (s Store) Empty(ctx context.Context, name string) (string, error) {
	if err := s.Drop(ctx, name); err != nil {
		return "", err
	}
	if s.Server != "" {
		if err := s.admin(ctx, `CREATE DATABASE claviger_`+name); err != nil {
			return "", err
		}
	}
	at := s.at(name)
	db, err := sqldb.Open(ctx, at, sqldb.Options{})
	if err != nil {
		return "", err
	}
	_, err = db.Migrate(ctx)
	return at, errors.Join(err, db.Close())
}

// Drop removes a database if it exists.
func (s Store) Drop(ctx context.Context, name string) error {
	if s.Server != "" {
		return s.admin(ctx, `DROP DATABASE IF EXISTS claviger_`+name+` WITH (FORCE)`)
	}
	var errs []error
	for _, suffix := range []string{"", "-wal", "-shm"} {
		if err := os.Remove(s.at(name) + suffix); !errors.Is(err, fs.ErrNotExist) {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

// at returns the address of a database by name.
func (s Store) at(name string) string {
	if s.Server == "" {
		return filepath.Join(s.Folder, name+".db")
	}
	u, err := url.Parse(s.Server)
	if err != nil {
		return s.Server // opening it reports the mistake
	}
	u.Path = "/claviger_" + name
	return u.String()
}

func (s Store) admin(ctx context.Context, sql string) error {
	db, err := sqldb.Open(ctx, s.Server, sqldb.Options{Readers: 1})
	if err != nil {
		return err
	}
	return errors.Join(outside(ctx, db, sql), db.Close())
}

// stale reports whether a database is missing, incomplete or has another schema.
func (s Store) stale(ctx context.Context, name string, licenses int64) (bool, error) {
	if s.Server == "" {
		if _, err := os.Stat(s.at(name)); errors.Is(err, fs.ErrNotExist) {
			return true, nil
		}
	} else {
		there, err := s.there(ctx, name)
		if err != nil || !there {
			return true, err
		}
	}
	old, err := schema(ctx, s.at(name))
	if err != nil {
		return false, err
	}
	if n, err := filled(ctx, s.at(name)); err != nil || n < licenses {
		return true, nil //nolint:nilerr // without the table of counts it is not one of ours
	}
	fresh, err := s.Empty(ctx, "schema")
	if err != nil {
		return false, err
	}
	now, err := schema(ctx, fresh)
	return old != now, errors.Join(err, s.Drop(ctx, "schema"))
}

func (s Store) there(ctx context.Context, name string) (bool, error) {
	db, err := sqldb.Open(ctx, s.Server, sqldb.Options{Readers: 1})
	if err != nil {
		return false, err
	}
	n, err := sqldb.One(ctx, db, sqldb.Value[int64], `SELECT count(*) FROM pg_database
		WHERE datname = $1`, "claviger_"+name)
	return n > 0, errors.Join(err, db.Close())
}

// filled returns the number of licenses in a database.
func filled(ctx context.Context, at string) (int64, error) {
	db, err := sqldb.Open(ctx, at, sqldb.Options{Readers: 1})
	if err != nil {
		return 0, err
	}
	n, err := sqldb.One(ctx, db, sqldb.Value[int64], `SELECT CAST(coalesce(sum(licenses), 0) AS bigint)
		FROM partner_counters`)
	return n, errors.Join(err, db.Close())
}

// schema returns a text that depends on tables, columns and indexes.
func schema(ctx context.Context, at string) (string, error) {
	sql := `SELECT coalesce(group_concat(sql), '') FROM (SELECT sql FROM sqlite_master
		WHERE sql IS NOT NULL AND name NOT LIKE 'sqlite%' ORDER BY name)`
	if IsPostgres(at) {
		sql = `SELECT (SELECT coalesce(string_agg(concat(table_name, column_name, data_type), ','
			ORDER BY table_name, column_name), '')
				FROM information_schema.columns WHERE table_schema = 'public')
			|| (SELECT coalesce(string_agg(indexdef, ',' ORDER BY indexdef), '') FROM pg_indexes
			WHERE schemaname = 'public')`
	}
	db, err := sqldb.Open(ctx, at, sqldb.Options{Readers: 1})
	if err != nil {
		return "", err
	}
	text, err := sqldb.One(ctx, db, sqldb.Value[string], sql)
	return text, errors.Join(err, db.Close())
}
