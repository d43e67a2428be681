package main

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/ncruces/go-sqlite3"
)

// isPostgres reports whether a database is on PostgreSQL.
func isPostgres(at string) bool {
	return strings.HasPrefix(at, "postgres://") || strings.HasPrefix(at, "postgresql://")
}

// statement runs one statement; each, if not nil, is called with each row.
type statement func(ctx context.Context, sql string, args []any, each func(scan func(...any) error) error) error

// transact runs fn in a new transaction and commits it.
type transact func(ctx context.Context, fn func(run statement) error) error

// openPool opens connections to PostgreSQL.
func openPool(ctx context.Context, at string) (*pgxpool.Pool, error) {
	cfg, err := pgxpool.ParseConfig(at)
	if err != nil {
		return nil, fmt.Errorf("read the database URL: %w", errors.Unwrap(err))
	}
	cfg.MaxConns = int32(10 * runtime.NumCPU()) //nolint:gosec // cores are few
	return pgxpool.NewWithConfig(ctx, cfg)
}

// onPostgres runs statements one after another, each in its own round trip.
func onPostgres(q interface {
	Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error)
},
) statement {
	return func(ctx context.Context, sql string, args []any, each func(func(...any) error) error) error {
		rows, err := q.Query(ctx, sql, args...)
		if err != nil {
			return err
		}
		defer rows.Close()
		for rows.Next() {
			if each == nil {
				continue
			}
			if err := each(rows.Scan); err != nil {
				return err
			}
		}
		return rows.Err()
	}
}

// file is one connection to SQLite, with its prepared statements.
type file struct {
	*sqlite3.Conn
	prepared map[string]*sqlite3.Stmt
}

func openFile(at string) (*file, error) {
	c, err := sqlite3.Open("file:" + at)
	if err != nil {
		return nil, fmt.Errorf("open the database file: %w", err)
	}
	return &file{c, map[string]*sqlite3.Stmt{}}, c.Exec(`PRAGMA busy_timeout = 10000; PRAGMA journal_mode = WAL;
		PRAGMA synchronous = FULL; PRAGMA wal_autocheckpoint = 16000; PRAGMA cache_size = -8192;`)
}

// run runs a statement; arguments and columns are integers and texts.
func (f *file) run(_ context.Context, sql string, args []any, each func(func(...any) error) error) error {
	s, ok := f.prepared[sql]
	if !ok {
		var err error
		if s, _, err = f.PrepareFlags(strings.ReplaceAll(sql, "$", "?"), sqlite3.PREPARE_PERSISTENT); err != nil {
			return fmt.Errorf("prepare %s: %w", sql, err)
		}
		f.prepared[sql] = s
	}
	defer s.Reset() //nolint:errcheck // it repeats the error of the last step
	for i, arg := range args {
		var err error
		switch v := arg.(type) {
		case int64:
			err = s.BindInt64(i+1, v)
		case string:
			err = s.BindText(i+1, v)
		default:
			err = fmt.Errorf("cannot bind a %T", arg)
		}
		if err != nil {
			return err
		}
	}
	for s.Step() {
		if each == nil {
			continue
		}
		if err := each(func(columns ...any) error { return columnsOf(s, columns) }); err != nil {
			return err
		}
	}
	return s.Err()
}

func columnsOf(s *sqlite3.Stmt, columns []any) error {
	for i, c := range columns {
		switch v := c.(type) {
		case *int64:
			*v = s.ColumnInt64(i)
		case *string:
			*v = s.ColumnText(i)
		default:
			return fmt.Errorf("cannot scan into a %T", c)
		}
	}
	return nil
}
