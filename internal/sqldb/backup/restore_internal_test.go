package backup

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"claviger/internal/sqldb"
	"claviger/internal/sqldb/internal/litefile"
)

// migrated is the file of a database with every migration and no rows: migrating takes longer than
// most tests.
var migrated = sync.OnceValues(func() ([]byte, error) {
	dir, err := os.MkdirTemp("", "claviger")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir) //nolint:errcheck // the system also cleans its temporary folder
	ctx, path := context.Background(), filepath.Join(dir, "a.db")
	db, err := sqldb.Open(ctx, path, sqldb.Options{})
	if err != nil {
		return nil, err
	}
	_, err = db.Migrate(ctx)
	if err = errors.Join(err, db.Close()); err != nil {
		return nil, err
	}
	return os.ReadFile(path) //nolint:gosec // the path is ours
})

// marked opens a database, creating it if needed, and writes a mark that identifies it.
func marked(t *testing.T, path, mark string) *sqldb.DB {
	t.Helper()
	if os.Getenv("CLAVIGER_TEST_POSTGRES") != "" {
		t.Skip("it is about SQLite's files")
	}
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		empty, err := migrated()
		if err == nil {
			err = os.WriteFile(path, empty, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	db, err := sqldb.Open(t.Context(), path, sqldb.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	err = db.Write(t.Context(), func(tx *sqldb.Tx) error {
		tx.Queue(`INSERT INTO idempotency_keys (scope, key, request, outcome, created_at) VALUES ('test', $1, '', '', 1)`, mark)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return db
}

// marks returns the marks in a database. A damaged file fails the test.
func marks(t *testing.T, path string) []string {
	t.Helper()
	if err := checkFile(t.Context(), path); err != nil {
		t.Fatal(err)
	}
	db, err := sqldb.Open(t.Context(), path, sqldb.Options{MustExist: true})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	got, err := sqldb.All(t.Context(), db, sqldb.Value[string], `SELECT key FROM idempotency_keys ORDER BY key`)
	if err != nil {
		t.Fatal(err)
	}
	return got
}

// copyFolder copies a folder as a process killed now would leave it.
func copyFolder(t *testing.T, from string) string {
	t.Helper()
	to := t.TempDir()
	if err := os.CopyFS(to, os.DirFS(from)); err != nil {
		t.Fatal(err)
	}
	return to
}

// backedUp returns a folder with a killed database, its log still beside it, and an earlier backup.
func backedUp(t *testing.T) (dir string) {
	t.Helper()
	live := t.TempDir()
	db := marked(t, filepath.Join(live, "a.db"), "backup")
	if err := Write(t.Context(), db, filepath.Join(live, "backup.db")); err != nil {
		t.Fatal(err)
	}
	err := db.Write(t.Context(), func(tx *sqldb.Tx) error {
		tx.Queue(`UPDATE idempotency_keys SET key = 'old'`)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	dir = copyFolder(t, live)
	if info, err := os.Stat(filepath.Join(dir, "a.db-wal")); err != nil || info.Size() == 0 {
		t.Fatalf("the log is empty: %v", err)
	}
	return dir
}

var restoreTime = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func restoring(dir string) Restoring {
	return Restoring{Path: filepath.Join(dir, "a.db"), From: filepath.Join(dir, "backup.db"), Now: restoreTime, Prepare: func(ctx context.Context, db *sqldb.DB) error {
		return db.Write(ctx, func(tx *sqldb.Tx) error {
			tx.Queue(`UPDATE idempotency_keys SET key = 'new'`)
			return nil
		})
	}}
}

// TestRestoreStepByStep: a process killed after any step leaves the old or the new database,
// complete. The log of the old one is never replayed over the new one.
func TestRestoreStepByStep(t *testing.T) {
	dir := backedUp(t)
	r := restoring(dir)
	want := map[string]string{"lock": "old", "copy": "old", "settle": "old", "keep": "old", "swap": "new"}
	got := map[string]string{}
	r.after = func(step string) { got[step] = marks(t, filepath.Join(copyFolder(t, dir), "a.db"))[0] }
	kept, err := Restore(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("what is there after each step (-want +got)\n%s", diff)
	}
	if kept != filepath.Join(dir, "a.db.before-20260301T120000Z") {
		t.Errorf("the old one is kept as %s", kept)
	}
	for path, want := range map[string]string{r.Path: "new", kept: "old", r.From: "backup"} {
		if diff := cmp.Diff([]string{want}, marks(t, path)); diff != "" {
			t.Errorf("%s (-want +got)\n%s", path, diff)
		}
	}
	left, err := filepath.Glob(filepath.Join(dir, "*.restore-*"))
	if err != nil || len(left) > 0 {
		t.Errorf("left over: %v, %v", left, err)
	}
}

// TestRestoreRefusesWhileOpen: a restore fails while a service holds the lock or any other process
// has the database open.
func TestRestoreRefusesWhileOpen(t *testing.T) {
	for name, use := range map[string]func(*sqldb.DB) error{
		"sole": func(db *sqldb.DB) error { _, err := db.AcquireExclusive(t.Context(), func() {}); return err },
		"open": func(db *sqldb.DB) error { return db.Ping(t.Context()) },
	} {
		t.Run(name, func(t *testing.T) {
			dir := backedUp(t)
			db := marked(t, filepath.Join(dir, "a.db"), "running")
			if err := use(db); err != nil {
				t.Fatal(err)
			}
			if _, err := Restore(t.Context(), restoring(dir)); !errors.Is(err, sqldb.ErrInUse) {
				t.Errorf("got %v", err)
			}
			got, err := sqldb.All(t.Context(), db, sqldb.Value[string], `SELECT key FROM idempotency_keys ORDER BY key`)
			if diff := cmp.Diff([]string{"old", "running"}, got); diff != "" || err != nil {
				t.Errorf("%v (-want +got)\n%s", err, diff)
			}
		})
	}
}

// TestRestoreOverRuins: a damaged database is kept, with its log, and does not affect the new one.
// If there is none, the backup becomes it.
func TestRestoreOverRuins(t *testing.T) {
	for name, ruin := range map[string]func(path string) error{
		"damaged": func(path string) error {
			return errors.Join(os.WriteFile(path, bytes.Repeat([]byte("ruin"), 1<<12), 0o600), os.WriteFile(path+"-wal", []byte("ruin"), 0o600))
		},
		"empty": func(path string) error { return os.WriteFile(path, nil, 0o600) },
		"gone":  os.Remove,
	} {
		t.Run(name, func(t *testing.T) {
			dir := backedUp(t)
			r := restoring(dir)
			if err := ruin(r.Path); err != nil {
				t.Fatal(err)
			}
			kept, err := Restore(t.Context(), r)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff([]string{"new"}, marks(t, r.Path)); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
			if (kept == "") != (name == "gone") {
				t.Errorf("kept %q", kept)
			}
			// SQLite itself removes a log without contents.
			if _, err := os.Stat(r.Path + ".before-20260301T120000Z-wal"); err != nil && name != "damaged" {
				t.Errorf("the old log: %v", err)
			}
		})
	}
}

// TestRestoreRefusesBadBackups: a file that is not a complete database of ours changes nothing.
func TestRestoreRefusesBadBackups(t *testing.T) {
	for name, spoil := range map[string]func(t *testing.T, path string) error{
		"text":   func(_ *testing.T, path string) error { return os.WriteFile(path, []byte("-- a dump of SQL\n"), 0o600) },
		"empty":  func(_ *testing.T, path string) error { return os.WriteFile(path, nil, 0o600) },
		"cut":    func(_ *testing.T, path string) error { return os.Truncate(path, 40960) },
		"in use": func(_ *testing.T, path string) error { return os.WriteFile(path+"-wal", []byte("x"), 0o600) },
		"newer": func(t *testing.T, path string) error {
			db := marked(t, path, "newer")
			return errors.Join(db.Write(t.Context(), func(tx *sqldb.Tx) error {
				tx.Queue(`INSERT INTO migrations (name, applied_at) VALUES ('9999_future', 1)`)
				return nil
			}), db.Close())
		},
		"another program's": func(t *testing.T, path string) error {
			db := marked(t, path, "other")
			return errors.Join(db.Write(t.Context(), func(tx *sqldb.Tx) error { tx.Queue(`DROP TABLE migrations`); return nil }), db.Close())
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir := backedUp(t)
			r := restoring(dir)
			if err := spoil(t, r.From); err != nil {
				t.Fatal(err)
			}
			_, err := Restore(t.Context(), r)
			if bad, ok := errors.AsType[*NotWholeError](err); !ok || bad.Path != r.From {
				t.Errorf("got %v", err)
			}
			if diff := cmp.Diff([]string{"old"}, marks(t, r.Path)); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}

// TestOneRestoreAtATime: the lock keeps out a second restore, and keeps a service that is about to
// open the database from sending.
func TestOneRestoreAtATime(t *testing.T) {
	dir := backedUp(t)
	r := restoring(dir)
	lock, err := litefile.Lock(t.Context(), r.Path)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Restore(t.Context(), r); !errors.Is(err, sqldb.ErrInUse) {
		t.Errorf("got %v", err)
	}
	if err := lock.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := Restore(t.Context(), r); err != nil {
		t.Error(err)
	}
}

// TestRestoreTwice: ids continue from those of the replaced database, which may have been restored
// from the same backup: partners have seen them.
func TestRestoreTwice(t *testing.T) {
	dir := backedUp(t)
	r := restoring(dir)
	r.Prepare = func(ctx context.Context, db *sqldb.DB) error { return db.Advance(ctx, 1000) }
	last := map[string]int64{}
	for range 2 {
		if _, err := Restore(t.Context(), r); err != nil {
			t.Fatal(err)
		}
		r.Now = r.Now.Add(time.Second)
		db, err := sqldb.Open(t.Context(), r.Path, sqldb.Options{MustExist: true})
		if err != nil {
			t.Fatal(err)
		}
		err = db.Write(t.Context(), func(tx *sqldb.Tx) error {
			drawn, err := sqldb.NextIDs(tx, "event_ids", 1).One(t.Context())
			if err != nil {
				return err
			}
			row, err := sqldb.One(t.Context(), tx, sqldb.Value[int64], `INSERT INTO webhook_responses
				(event_id, request_header, response_status, response_body, response_time, url, success, created_at, updated_at)
				VALUES (1, '', 0, '', 0, '', $1, 0, 0) RETURNING id`, true)
			if drawn <= last["drawn"] || row <= last["row"] {
				t.Errorf("the ids %d and %d come after %v", drawn, row, last)
			}
			last["drawn"], last["row"] = drawn, row
			return err
		})
		if err := errors.Join(err, db.Close()); err != nil {
			t.Fatal(err)
		}
	}
}

// TestRestoreFromLink: a link to a database in use is rejected as a backup, like the database
// itself.
func TestRestoreFromLink(t *testing.T) {
	dir := backedUp(t)
	r := restoring(t.TempDir())
	if err := os.Symlink(filepath.Join(dir, "a.db"), r.From); err != nil {
		t.Skip(err)
	}
	if _, err := Restore(t.Context(), r); err == nil || !strings.Contains(err.Error(), "has a log beside it") {
		t.Errorf("got %v", err)
	}
}

// TestRestoreFollowsLinks: a link to the database still leads to it afterwards.
func TestRestoreFollowsLinks(t *testing.T) {
	dir := backedUp(t)
	r := restoring(dir)
	r.Path = filepath.Join(t.TempDir(), "link.db")
	if err := os.Symlink(filepath.Join(dir, "a.db"), r.Path); err != nil {
		t.Skip(err)
	}
	if _, err := Restore(t.Context(), r); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{r.Path, filepath.Join(dir, "a.db")} {
		if diff := cmp.Diff([]string{"new"}, marks(t, path)); diff != "" {
			t.Errorf("%s (-want +got)\n%s", path, diff)
		}
	}
}
