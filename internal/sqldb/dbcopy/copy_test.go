package dbcopy_test

import (
	"context"
	"errors"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"claviger/internal/sqldb"
	"claviger/internal/sqldb/dbcopy"
	"claviger/internal/sqldb/sqldbtest"
)

// file returns a path for a new SQLite database.
func file(t testing.TB, name string) string {
	t.Helper()
	return filepath.Join(t.TempDir(), name)
}

// filled creates a database with different rows in every table.
func filled(t testing.TB, url string, rows int, only ...string) {
	t.Helper()
	db, err := sqldb.Open(t.Context(), url, sqldb.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close() //nolint:errcheck // the rows are already written
	if _, err := db.Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	tables, columns, err := dbcopy.TableColumns(t.Context(), url, sqldbtest.URL(t))
	if err != nil {
		t.Fatal(err)
	}
	err = db.Write(t.Context(), func(tx *sqldb.Tx) error {
		for _, table := range tables {
			if len(only) > 0 && !slices.Contains(only, table) {
				continue
			}
			var names []string
			for _, c := range columns[table] {
				names = append(names, c[0])
			}
			var list [][]any
			most := rows
			if table == "peppers" || table == "last_backup" {
				most = 1 // there is only one
			}
			for i := 1; i <= most; i++ {
				list = append(list, cells(columns[table], i))
			}
			sqldb.InsertNew(tx, sqldb.Value[int64], table, names, list, "1")
		}
		sqldb.NextIDs(tx, "event_ids", 41)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// cells makes a row. Strings are long or short, with quotes, line breaks and letters that databases
// sort differently.
func cells(columns [][2]string, i int) []any {
	var row []any
	for n, c := range columns {
		switch {
		case c[1] == "text":
			row = append(row, strings.Repeat("é\n'\"\\", i%3)+[]string{"B", "a", "Ä", "_", "~"}[i%5]+strconv.Itoa(i))
		case c[1] == "bool":
			row = append(row, i%2 == 0)
		case n > 0 && strings.HasSuffix(c[0], "_at"):
			row = append(row, int64(1795000000000000000)+int64(i))
		default:
			row = append(row, int64(i))
		}
	}
	return row
}

func write(t *testing.T, db *sqldb.DB, fn func(*sqldb.Tx) error) {
	t.Helper()
	if err := db.Write(t.Context(), fn); err != nil {
		t.Fatal(err)
	}
}

func copying(from, to string) dbcopy.Spec {
	return dbcopy.Spec{From: from, To: to, FromName: "the source", ToName: "the target", Skip: []string{"nodes", "shards"}, Now: time.Unix(1795000000, 0)}.InChunks(13)
}

// mustCopy copies and returns the hash and count of each table.
func mustCopy(t *testing.T, c dbcopy.Spec) dbcopy.Result {
	t.Helper()
	done, err := dbcopy.Run(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	return done
}

// nextIDs draws from every sequence that a program uses.
func nextIDs(t *testing.T, url string) (next []int64) {
	t.Helper()
	db := sqldbtest.OpenWith(t, url, sqldb.Options{})
	write(t, db, func(tx *sqldb.Tx) error {
		next = nil
		for _, name := range []string{"event_ids", "license_ids"} {
			ids, err := sqldb.NextIDs(tx, name, 1).All(t.Context())
			if err != nil {
				return err
			}
			next = append(next, ids...)
		}
		for _, sql := range []string{
			`INSERT INTO users (email, email_key, name, external_id, operator, password_hash, proven_at, created_at, updated_at, erased_at) VALUES ('', 'new', '', 'new', FALSE, '', 0, 0, 0, 0) RETURNING id`,
			`INSERT INTO refunds (partner_id, external_id, reason, created_at, reversed_at) VALUES (9999, 'new', '', 0, 0) RETURNING id`,
		} {
			id, err := sqldb.One(t.Context(), tx, sqldb.Value[int64], sql)
			if err != nil {
				return err
			}
			next = append(next, id)
		}
		return nil
	})
	return next
}

// TestCopyThereAndBack: every table is copied with every value, in both directions, and ids
// continue.
func TestCopyThereAndBack(t *testing.T) {
	first, second, third := file(t, "first.db"), sqldbtest.Empty(t), file(t, "third.db")
	filled(t, first, 60)
	db := sqldbtest.OpenWith(t, first, sqldb.Options{})
	write(t, db, func(tx *sqldb.Tx) error { // the newest row is deleted; its id is not reused
		tx.Queue(`DELETE FROM mails WHERE id = 60`)
		return nil
	})
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	there := mustCopy(t, copying(first, second))
	back := mustCopy(t, copying(second, third))
	if diff := cmp.Diff(there.Tables, back.Tables); diff != "" || there.Resumed {
		t.Errorf("resumed: %v; there and back (-there +back)\n%s", there.Resumed, diff)
	}
	rows := map[string]int64{}
	for _, table := range there.Tables {
		rows[table.Name] = table.Rows
	}
	if rows["licenses"] != 60 || rows["mails"] != 59 || rows["oauth_answers"] != 60 || rows["nodes"] != 0 || len(rows) < 70 {
		t.Errorf("copied %v", rows)
	}
	for _, url := range []string{third} {
		if next := nextIDs(t, url); !slices.Equal(next, []int64{42, 1, 61, 61}) {
			t.Errorf("the next ids of %s are %v", url, next)
		}
	}
	mail := sqldbtest.OpenWith(t, third, sqldb.Options{})
	last, err := sqldb.One(t.Context(), mail, sqldb.Value[int64], `SELECT seq FROM sqlite_sequence WHERE name = 'mails'`)
	if err != nil || last != 60 {
		t.Errorf("mails are numbered on from %d, %v", last, err)
	}
}

// TestCopiedDatabaseIsRefused: a moved database says where its data is.
func TestCopiedDatabaseIsRefused(t *testing.T) {
	from, to := sqldbtest.Empty(t), file(t, "to.db")
	filled(t, from, 3)
	mustCopy(t, copying(from, to))
	for url, want := range map[string]string{from: "its data was moved to the target at 2026-11-18T", to: ""} {
		if got := marked(t, url); !strings.HasPrefix(got, want) || want == "" && got != "" {
			t.Errorf("the mark of %s is %q, want %q", url, got, want)
		}
	}
	if _, err := dbcopy.Run(t.Context(), copying(from, file(t, "other.db"))); err == nil || !strings.Contains(err.Error(), "the source cannot be used: its data was moved to") {
		t.Errorf("copied again: %v", err)
	}
	if err := dbcopy.GiveUp(t.Context(), copying(from, "")); err == nil || !strings.Contains(err.Error(), "its data was moved to") {
		t.Errorf("given up: %v", err)
	}
}

func marked(t *testing.T, url string) string {
	t.Helper()
	db, err := sqldb.Open(t.Context(), url, sqldb.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close() //nolint:errcheck // it only read
	m, err := dbcopy.Marked(t.Context(), db)
	if err != nil {
		t.Fatal(err)
	}
	if m == nil {
		return ""
	}
	return m.Error()
}

// TestCopyGoesOn: the next run finishes a copy that ended anywhere; until then neither database can
// be used.
func TestCopyGoesOn(t *testing.T) {
	from, to := file(t, "from.db"), sqldbtest.Empty(t)
	filled(t, from, 20)
	boom := errors.New("boom")
	c := copying(from, to)
	const runs = 4
	for run := range runs {
		ctx, stop := context.WithCancelCause(t.Context())
		steps := 0
		c.Tell = func(p dbcopy.Progress) {
			if steps++; steps == 30*(run+2) && !p.Verifying {
				stop(boom)
			}
		}
		proofs := 0
		c.Prove = func(context.Context, *sqldb.DB) error {
			if proofs++; proofs == 2 && run == runs-1 {
				return boom // everything is copied and verified
			}
			return nil
		}
		_, err := dbcopy.Run(ctx, c)
		stop(nil)
		if !errors.Is(err, boom) && !errors.Is(err, context.Canceled) {
			t.Fatalf("run %d: %v", run, err)
		}
		if got := marked(t, from); !strings.HasPrefix(got, "it is being copied to the target; repeat") {
			t.Errorf("run %d: the mark of the source is %q", run, got)
		}
		if got := marked(t, to); !strings.HasPrefix(got, "it is half a copy of the source; repeat") {
			t.Errorf("run %d: the mark of the target is %q", run, got)
		}
	}
	if done := mustCopy(t, copying(from, to)); !done.Resumed {
		t.Error("it began again")
	}
	other := mustCopy(t, copying(to, file(t, "other.db")))
	for _, table := range other.Tables {
		if one := table.Name == "peppers" || table.Name == "last_backup"; !one && table.Rows < 20 || table.Rows > 22 {
			t.Errorf("%s has %d rows", table.Name, table.Rows)
		}
	}
}

// TestCopyIsRefused: problems with the two databases are found before anything is written.
func TestCopyIsRefused(t *testing.T) {
	from := file(t, "from.db")
	filled(t, from, 2)
	for name, c := range map[string]struct {
		prepare func(t *testing.T, c *dbcopy.Spec)
		want    string
	}{
		"no source": {func(t *testing.T, c *dbcopy.Spec) { c.From = file(t, "none.db") }, "there is no database at the source"},
		"no folder": {func(t *testing.T, c *dbcopy.Spec) { c.To = filepath.Join(file(t, "none"), "to.db") }, "there is no folder for the target; make it first"},
		"another's": {func(t *testing.T, c *dbcopy.Spec) {
			c.From = sqldbtest.Empty(t)
			sqldbtest.OpenWith(t, c.From, sqldb.Options{})
		}, "has no data of this program"},
		"not empty":     {func(t *testing.T, c *dbcopy.Spec) { filled(t, c.To, 1) }, "the target is not empty: its table "},
		"to itself":     {func(_ *testing.T, c *dbcopy.Spec) { c.To = c.From }, ""},
		"target in use": {func(t *testing.T, c *dbcopy.Spec) { inUse(t, c.To) }, "another process has the database open"},
		"source in use": {func(t *testing.T, c *dbcopy.Spec) { inUse(t, c.From) }, "another process has the database open"},
		"source open":   {func(t *testing.T, c *dbcopy.Spec) { sqldbtest.OpenWith(t, c.From, sqldb.Options{}) }, "another process has the database open"},
		"nodes": {func(_ *testing.T, c *dbcopy.Spec) {
			c.Running = func(context.Context, *sqldb.DB) (int, error) { return 2, nil }
		}, "another process has the database open (2 nodes run"},
		"another key": {func(_ *testing.T, c *dbcopy.Spec) {
			c.Prove = func(context.Context, *sqldb.DB) error { return errors.New("not the key") }
		}, "not the key"},
	} {
		t.Run(name, func(t *testing.T) {
			to := sqldbtest.Empty(t)
			asked := copying(from, to)
			c.prepare(t, &asked)
			_, err := dbcopy.Run(t.Context(), asked)
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %q", err, c.want)
			}
			if got := marked(t, from); got != "" {
				t.Errorf("the source is marked: %s", got)
			}
		})
	}
}

// TestCopyLeavesAnothersDatabase: a database with tables of another program, even empty ones, is
// rejected before a table is created in it.
func TestCopyLeavesAnothersDatabase(t *testing.T) {
	from, to := file(t, "from.db"), sqldbtest.Empty(t)
	filled(t, from, 1)
	db := sqldbtest.OpenWith(t, to, sqldb.Options{})
	if err := db.Write(t.Context(), func(tx *sqldb.Tx) error {
		_, err := tx.Exec(t.Context(), `CREATE TABLE mine (x REAL)`)
		return err
	}); err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	_, err := dbcopy.Run(t.Context(), copying(from, to))
	if want := "the target is not empty: it has a table mine; copy into a new database"; err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
	if made, err := sqldbtest.OpenWith(t, to, sqldb.Options{}).Migrated(t.Context()); made || err != nil {
		t.Errorf("migrated %t, %v", made, err)
	}
}

// inUse opens a database as a service does.
func inUse(t *testing.T, url string) {
	t.Helper()
	db := sqldbtest.OpenWith(t, url, sqldb.Options{})
	if _, err := db.Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := db.AcquireExclusive(t.Context(), func() { t.Error("somebody else has it") }); err != nil {
		t.Fatal(err)
	}
}

// TestGiveUpCopy: the source of half a copy can be used again, the target cannot.
func TestGiveUpCopy(t *testing.T) {
	from, to := sqldbtest.Empty(t), file(t, "to.db")
	filled(t, from, 20)
	if err := dbcopy.GiveUp(t.Context(), copying(from, "")); err == nil || !strings.Contains(err.Error(), "is not being copied") {
		t.Errorf("nothing to give up: %v", err)
	}
	ctx, stop := context.WithCancel(t.Context())
	c := copying(from, to)
	c.Tell = func(p dbcopy.Progress) {
		if p.Rows > 0 {
			stop()
		}
	}
	if _, err := dbcopy.Run(ctx, c); err == nil {
		t.Fatal("it was not stopped")
	}
	if got := marked(t, from); !strings.HasPrefix(got, "it is being copied") {
		t.Errorf("the mark of the source is %q", got)
	}
	if err := dbcopy.GiveUp(t.Context(), copying(from, "")); err != nil {
		t.Fatal(err)
	}
	if got := marked(t, from); got != "" {
		t.Errorf("the source is marked still: %s", got)
	}
	if _, err := dbcopy.Run(t.Context(), copying(from, to)); err == nil || !strings.Contains(err.Error(), "the target cannot be used: it is half a copy of the source") {
		t.Errorf("copied over what was given up: %v", err)
	}
	mustCopy(t, copying(from, file(t, "new.db")))
}

// TestCopyFindsWhatDiffers: a row that differs between the two is found.
func TestCopyFindsWhatDiffers(t *testing.T) {
	from, to := file(t, "from.db"), sqldbtest.Empty(t)
	filled(t, from, 5)
	c := copying(from, to)
	changed := false
	c.Tell = func(p dbcopy.Progress) {
		if changed || !p.Verifying {
			return
		}
		changed = true
		db, err := sqldb.Open(t.Context(), to, sqldb.Options{})
		if err == nil {
			err = db.Write(t.Context(), func(tx *sqldb.Tx) error {
				tx.Queue(`UPDATE licenses SET tier = tier + 1 WHERE ord = 3`)
				return nil
			})
		}
		if err = errors.Join(err, db.Close()); err != nil {
			t.Error(err)
		}
	}
	_, err := dbcopy.Run(t.Context(), c)
	if sqldbtest.Postgres() && err == nil {
		t.Skip("the change came too late: the target is read in one snapshot")
	}
	if err == nil || !strings.Contains(err.Error(), "verify the table licenses: the two databases differ in row 3") {
		t.Errorf("got %v", err)
	}
	if got := marked(t, to); !strings.HasPrefix(got, "it is half a copy") {
		t.Errorf("the mark of the copy is %q", got)
	}
}
