package sqldb_test

import (
	"errors"
	"io/fs"
	"path"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"claviger/internal/sqldb"
	"claviger/internal/sqldb/sqldbtest"
)

// withMore returns the migrations of this program and more, the same for both databases.
func withMore(t *testing.T, more map[string]string) fs.FS {
	t.Helper()
	files := fstest.MapFS{}
	err := fs.WalkDir(sqldb.Migrations(), "migrations", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := fs.ReadFile(sqldb.Migrations(), name)
		files[name] = &fstest.MapFile{Data: text}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range more {
		for _, folder := range []string{"sqlite", "postgres"} {
			files[path.Join("migrations", folder, name+".sql")] = &fstest.MapFile{Data: []byte(text)}
		}
	}
	return files
}

// artificial are an expanding migration and a contracting one.
var artificial = map[string]string{
	"9001_expand":   "-- kind: expanding\n\nCREATE TABLE artificial (a TEXT NOT NULL PRIMARY KEY);",
	"9002_contract": "-- kind: contracting, old form unused since 1.1.0\n\n-- The table of proposals.\nDROP TABLE artificial;",
}

// reopen opens a database as a version of the program.
func reopen(t *testing.T, url, version string, more map[string]string) *sqldb.DB {
	t.Helper()
	return sqldbtest.OpenWith(t, url, sqldb.Options{Version: version, Migrations: withMore(t, more), Readers: 2})
}

// TestContracting: the release that stops using an old form expands only. The following release
// contracts by itself. From then on the database is too new for older versions, which did not mind
// the expanded schema.
func TestContracting(t *testing.T) {
	url := sqldbtest.Empty(t)
	ctx := t.Context()
	state := func(db *sqldb.DB) sqldb.Schema {
		t.Helper()
		s, err := db.Schema(ctx)
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	old := reopen(t, url, "1.0.0", nil)
	if s := state(old); s.Ours || s.Stop || len(s.Pending) == 0 {
		t.Errorf("an empty database: %+v", s)
	}
	must(t)(old.Migrate(ctx))
	now := reopen(t, url, "1.1.0-dev", artificial)
	want := []sqldb.Contraction{{Name: "9002_contract", Since: "1.1.0", Loss: "The table of proposals."}}
	if s := state(now); cmp.Diff([]string{"9001_expand"}, s.Pending) != "" || cmp.Diff(want, s.Contractions) != "" {
		t.Errorf("before the migration: %+v", s)
	}
	if names := must(t)(now.Migrate(ctx)); cmp.Diff([]string{"9001_expand"}, names) != "" {
		t.Errorf("the release that stops using a form applies %v", names)
	}
	if s := state(old); s.TooNew() != nil || s.Current() != nil || len(s.Unknown) != 1 || sqldb.CheckVersion(ctx, old, "1.0.0") != nil {
		t.Errorf("the previous release on the expanded schema: %+v", s)
	}
	if err := old.Known(ctx); !errors.Is(err, sqldb.ErrTooNew) {
		t.Errorf("work on every table by the previous release: %v", err)
	}
	next := reopen(t, url, "1.2.0", artificial)
	if s := state(next); len(s.Contractions) != 1 || !s.Contractions[0].Due {
		t.Errorf("the following release: %+v", s)
	}
	if names := must(t)(next.Contract(ctx, []string{"9002_contract"})); len(names) != 1 {
		t.Errorf("it applies %v", names)
	}
	if names := must(t)(next.Contract(ctx, []string{"9002_contract"})); len(names) != 0 {
		t.Errorf("it applies %v again", names)
	}
	err := state(old).TooNew()
	if !errors.Is(err, sqldb.ErrTooNew) || !strings.Contains(err.Error(), "run version 1.1.0 or newer") {
		t.Errorf("the previous release on the contracted schema: %v", err)
	}
	if err := sqldb.CheckVersion(ctx, old, "1.0.0"); !errors.Is(err, sqldb.ErrTooNew) {
		t.Errorf("its running node: %v", err)
	}
	if s := state(now); s.TooNew() != nil || s.Oldest != "1.1.0" || sqldb.CheckVersion(ctx, now, "1.1.0-dev") != nil {
		t.Errorf("the release that stopped using the form: %+v", s)
	}
}

// TestMigrateLike: the target of a copy has the contracting migrations of its source, and no others.
func TestMigrateLike(t *testing.T) {
	from := reopen(t, sqldbtest.Empty(t), "1.1.0", artificial)
	must(t)(from.Migrate(t.Context()))
	must(t)(from.Contract(t.Context(), []string{"9002_contract"}))
	more := map[string]string{
		"9001_expand": artificial["9001_expand"], "9002_contract": artificial["9002_contract"],
		"9003_contract": strings.Replace(artificial["9002_contract"], "TABLE artificial", "TABLE missing", 1),
	}
	to := reopen(t, sqldbtest.Empty(t), "1.1.0", more)
	must(t)(to.MigrateLike(t.Context(), from))
	s, err := to.Schema(t.Context())
	if err != nil || len(s.Contractions) != 1 || s.Contractions[0].Name != "9003_contract" || s.Oldest != "1.1.0" {
		t.Errorf("%+v, %v", s, err)
	}
}

// TestKilledBuild: an invalid index that a killed build left is dropped and built again.
func TestKilledBuild(t *testing.T) {
	if !sqldbtest.Postgres() {
		t.Skip("SQLite builds an index in a transaction")
	}
	url := sqldbtest.Empty(t)
	db := reopen(t, url, "1.1.0", map[string]string{
		"9001_index": "-- kind: expanding\nCREATE INDEX CONCURRENTLY IF NOT EXISTS artificial ON users (id);",
	})
	must(t)(db.MigrateBefore(t.Context(), "9001"))
	valid := func() bool {
		t.Helper()
		v, err := sqldb.One(t.Context(), db, sqldb.Value[bool],
			`SELECT indisvalid FROM pg_index WHERE indexrelid = to_regclass('artificial')`)
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
	err := db.Write(t.Context(), func(tx *sqldb.Tx) error {
		tx.Queue(`CREATE INDEX artificial ON users (id)`)
		tx.Queue(`UPDATE pg_index SET indisvalid = FALSE WHERE indexrelid = to_regclass('artificial')`)
		return nil
	})
	if err != nil || valid() {
		t.Fatalf("no invalid index: %v", err)
	}
	if names := must(t)(db.Migrate(t.Context())); len(names) != 1 || !valid() {
		t.Errorf("%v are applied, and the index is valid: %v", names, valid())
	}
}

// TestTableInUse: a migration does not queue before a table that a long transaction uses. Others
// would wait behind it.
func TestTableInUse(t *testing.T) {
	if !sqldbtest.Postgres() {
		t.Skip("SQLite has one writer")
	}
	url := sqldbtest.Empty(t)
	db := reopen(t, url, "1.1.0", map[string]string{
		"9001_column": "-- kind: expanding\nALTER TABLE users ADD COLUMN artificial TEXT;",
	})
	must(t)(db.MigrateBefore(t.Context(), "9001"))
	migrated := make(chan error, 1)
	err := db.Read(t.Context(), func(tx *sqldb.Tx) error {
		read := func(r sqldb.Reader) error {
			_, err := sqldb.One(t.Context(), r, sqldb.Value[int64], `SELECT count(*) FROM users`)
			return err
		}
		if err := read(tx); err != nil {
			return err
		}
		go func() {
			_, err := db.Migrate(t.Context())
			migrated <- err
		}()
		// The migration has waited, given up and rests when its lock is gone and it waits for no other.
		for tried := false; ; {
			n, err := sqldb.One(t.Context(), tx, sqldb.Value[int64],
				`SELECT count(*) FROM pg_locks WHERE NOT granted AND relation = 'users'::regclass`)
			if err != nil || tried && n == 0 {
				return err
			}
			tried = tried || n > 0
		}
	})
	if err == nil {
		err = <-migrated
	}
	if err != nil {
		t.Error(err)
	}
}

// TestStop: a database from before 1.0.0 needs all nodes stopped; one from 1.0.0 does not.
func TestStop(t *testing.T) {
	db := reopen(t, sqldbtest.Empty(t), "1.0.0", nil)
	must(t)(db.MigrateBefore(t.Context(), "0050"))
	if s, err := db.Schema(t.Context()); !s.Stop || err != nil {
		t.Errorf("an old database: %+v, %v", s, err)
	}
	must(t)(db.MigrateBefore(t.Context(), "0080"))
	if s, err := db.Schema(t.Context()); s.Stop || len(s.Pending) == 0 || err != nil {
		t.Errorf("a database that lacks the newest migrations: %+v, %v", s, err)
	}
}

func must(t *testing.T) func([]string, error) []string {
	t.Helper()
	return func(names []string, err error) []string {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return names
	}
}
