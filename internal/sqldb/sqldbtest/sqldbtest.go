// Package sqldbtest gives a test its own empty, migrated database: SQLite in a temporary file, or
// PostgreSQL if CLAVIGER_TEST_POSTGRES has the URL of a server that allows new databases
// (script/with-postgres sets it).
package sqldbtest

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/jackc/pgx/v5"

	"claviger/internal/sqldb"
)

// Variable names the server to test on; without it, tests run on SQLite.
const Variable = "CLAVIGER_TEST_POSTGRES"

// Templates names a folder that test binaries share; script/with-postgres sets it. Without it, each
// binary makes its own SQLite template.
const Templates = "SQLDBTEST_TEMPLATES"

// Open returns an empty, migrated database that is closed at the end of the test.
func Open(t testing.TB) *sqldb.DB {
	t.Helper()
	return OpenWith(t, URL(t), sqldb.Options{})
}

// OpenWith opens a database from URL; several may share one, as nodes do.
func OpenWith(t testing.TB, at string, o sqldb.Options) *sqldb.DB {
	t.Helper()
	db, err := sqldb.Open(t.Context(), at, o)
	if err != nil {
		t.Fatalf("open %s: %v", at, err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Errorf("close the database: %v", err)
		}
	})
	return db
}

// Postgres reports whether tests run on PostgreSQL.
func Postgres() bool { return os.Getenv(Variable) != "" }

// URL creates an empty, migrated database and returns its URL.
func URL(t testing.TB) string {
	t.Helper()
	made, err := template()
	if err != nil {
		t.Fatalf("make the template database: %v", err)
	}
	if Postgres() {
		return clone(t, made)
	}
	file := filepath.Join(t.TempDir(), "test.db")
	if err := os.WriteFile(file, []byte(made), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// Empty returns the URL of a database without any table.
func Empty(t testing.TB) string {
	t.Helper()
	if Postgres() {
		return clone(t, "template1")
	}
	return filepath.Join(t.TempDir(), "empty.db")
}

// Texts returns the values of every text column of every table, by table and column, such as
// users.email.
func Texts(t testing.TB, db *sqldb.DB) map[string][]string {
	t.Helper()
	list := `SELECT m.name || ' ' || c.name FROM sqlite_schema AS m, pragma_table_info(m.name) AS c
		WHERE m.type = 'table' AND c.type = 'TEXT'`
	if Postgres() {
		list = `SELECT table_name || ' ' || column_name FROM information_schema.columns WHERE table_schema = 'public'
			AND data_type = 'text'`
	}
	columns, err := sqldb.All(t.Context(), db, sqldb.Value[string], list)
	if err != nil {
		t.Fatalf("list the columns of text: %v", err)
	}
	texts := make(map[string][]string, len(columns))
	for _, c := range columns {
		table, column, _ := strings.Cut(c, " ")
		texts[table+"."+column], err = sqldb.All(
			t.Context(),
			db,
			sqldb.Value[string],
			fmt.Sprintf(`SELECT "%s" FROM "%s"`, column, table),
		)
		if err != nil {
			t.Fatalf("read %s: %v", c, err)
		}
	}
	return texts
}

// template is a migrated database to copy: the bytes of an SQLite file, or the name of a PostgreSQL
// database, made once per server.
var template = sync.OnceValues(func() (string, error) {
	ctx := context.Background()
	if Postgres() {
		return postgresTemplate(ctx)
	}
	return sqliteTemplate(ctx)
})

// sqliteTemplate makes the template, or reads that of another test binary.
func sqliteTemplate(ctx context.Context) (string, error) {
	dir, err := os.MkdirTemp(os.Getenv(Templates), "claviger")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(dir) //nolint:errcheck // the system also cleans its temporary folder
	name, err := templateName("sqlite")
	if err != nil {
		return "", err
	}
	file := filepath.Join(dir, "template.db")
	shared := filepath.Join(filepath.Dir(dir), name+".db")
	if os.Getenv(Templates) != "" {
		made, err := os.ReadFile(shared) //nolint:gosec // the folder is the tests' own
		if !errors.Is(err, fs.ErrNotExist) {
			return string(made), err
		}
	}
	if err := migrate(ctx, file); err != nil {
		return "", err
	}
	made, err := os.ReadFile(file) //nolint:gosec // the path is ours
	if err == nil && os.Getenv(Templates) != "" {
		err = os.Rename(file, shared) // atomically
	}
	return string(made), err
}

// templateName returns a name derived from the migrations of the template.
func templateName(folder string) (string, error) {
	sum := sha256.New()
	err := fs.WalkDir(sqldb.Migrations(), "migrations/"+folder, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := fs.ReadFile(sqldb.Migrations(), path)
		_, _ = fmt.Fprintln(sum, path, len(text), string(text)) // a hash never fails
		return err
	})
	return fmt.Sprintf("claviger_template_%.8x", sum.Sum(nil)), err
}

// postgresTemplate makes the template of the server, unless another test binary has made it:
// migrations take longer than many tests. It is renamed when complete.
func postgresTemplate(ctx context.Context) (name string, err error) {
	if name, err = templateName("postgres"); err != nil {
		return "", err
	}
	conn, err := pgx.Connect(ctx, os.Getenv(Variable))
	if err != nil {
		return "", fmt.Errorf("connect to %s: %w", Variable, err)
	}
	defer func() { err = errors.Join(err, conn.Close(ctx)) }()
	// The lock ends with the connection.
	if _, err := conn.Exec(ctx, "SELECT pg_advisory_lock(hashtextextended($1, 0))", name); err != nil {
		return "", err
	}
	var made bool
	err = conn.QueryRow(ctx, "SELECT EXISTS (SELECT 1 FROM pg_database WHERE datname = $1)", name).Scan(&made)
	if err != nil || made {
		return name, err
	}
	half := name + "_half"
	for _, sql := range []string{"DROP DATABASE IF EXISTS " + half, "CREATE DATABASE " + half} {
		if _, err := conn.Exec(ctx, sql); err != nil {
			return "", err
		}
	}
	if err := migrate(ctx, at(half)); err != nil {
		return "", err
	}
	_, err = conn.Exec(ctx, "ALTER DATABASE "+half+" RENAME TO "+name)
	return name, err
}

func migrate(ctx context.Context, url string) error {
	db, err := sqldb.Open(ctx, url, sqldb.Options{})
	if err != nil {
		return err
	}
	if _, err := db.Migrate(ctx); err != nil {
		return err
	}
	return db.Close()
}

var copies atomic.Int64

func clone(t testing.TB, from string) string {
	t.Helper()
	name := fmt.Sprintf("t%d_%d", os.Getpid(), copies.Add(1))
	if err := admin(t.Context(), "CREATE DATABASE "+name+" TEMPLATE "+from+" STRATEGY FILE_COPY"); err != nil {
		t.Fatalf("copy the template database: %v", err)
	}
	t.Cleanup(func() {
		if err := admin(context.Background(), "DROP DATABASE "+name+" WITH (FORCE)"); err != nil {
			t.Errorf("drop the test's database: %v", err)
		}
	})
	return at(name)
}

// at returns the server's URL with another database.
func at(name string) string {
	u, err := url.Parse(os.Getenv(Variable))
	if err != nil {
		panic(fmt.Sprintf("%s is not a URL: %v", Variable, err))
	}
	u.Path = "/" + name
	return u.String()
}

// admin runs one statement on the server, over the one admin connection of the test binary. Copies
// of one template wait for each other, because PostgreSQL copies only an unused database.
func admin(ctx context.Context, sql string) error {
	adminLock.Lock()
	defer adminLock.Unlock()
	if adminConn == nil || adminConn.IsClosed() {
		conn, err := pgx.Connect(ctx, os.Getenv(Variable))
		if err != nil {
			return fmt.Errorf("connect to %s: %w", Variable, err)
		}
		adminConn = conn
	}
	_, err := adminConn.Exec(ctx, sql)
	return err
}

var (
	adminLock sync.Mutex
	adminConn *pgx.Conn // guarded by adminLock
)
