package e2e_test

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"claviger/internal/sqldb"
	"claviger/internal/sqldb/sqldbtest"
)

// fat is the number of rows that make a backup take a while, each of ten thousand bytes.
const fat = 10_000

// backupsIn returns the names of finished backups in a folder, and of others.
func backupsIn(t *testing.T, dir string) (whole, other []string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	for _, e := range entries {
		if strings.HasSuffix(e.Name(), ".db") {
			whole = append(whole, e.Name())
		} else {
			other = append(other, e.Name())
		}
	}
	return whole, other
}

// awaitBackups waits for a state of the folder.
func awaitBackups(t *testing.T, dir string, is func(whole, other []string) bool) {
	t.Helper()
	for end := time.Now().Add(patience); ; time.Sleep(time.Millisecond) {
		whole, other := backupsIn(t, dir)
		if is(whole, other) {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("the folder has %q and %q", whole, other)
		}
	}
}

// TestKilledBackup kills the service in the middle of a backup on a schedule. The next start makes
// that backup, removes what is left of the first, and the older backup is still there.
func TestKilledBackup(t *testing.T) {
	t.Parallel()
	if sqldbtest.Postgres() {
		t.Skip("PostgreSQL has its own tools")
	}
	path := sqldbtest.URL(t)
	db := sqldbtest.OpenWith(t, path, sqldb.Options{})
	sqldbtest.Fill(t, db, fat, sqldbtest.Numbers+
		`INSERT INTO idempotency_keys (scope, key, request, outcome, created_at)
			SELECT 'fat', CAST(n AS TEXT), '', hex(randomblob(5000)), 1 FROM numbers`)
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(t.TempDir(), "backups")
	flags := []string{"--db", path, "--backup-dir", dir, "--backup-every", "1h"}
	const old = "claviger-20200131T030000Z.db"
	for killed := false; !killed; {
		if err := os.RemoveAll(dir); err != nil {
			t.Fatal(err)
		}
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, old), []byte("an older backup"), 0o600); err != nil {
			t.Fatal(err)
		}
		c := launch(t, flags...)
		awaitBackups(t, dir, func(whole, other []string) bool { return len(whole)+len(other) > 1 })
		_ = c.end(syscall.SIGKILL) // killed, which is an error for Wait
		whole, other := backupsIn(t, dir)
		killed = len(whole) == 1 && len(other) > 0 // else the backup was quicker
	}
	c := launch(t, flags...)
	awaitBackups(t, dir, func(whole, other []string) bool { return len(whole) == 2 && len(other) == 0 })
	if err := c.end(syscall.SIGTERM); err != nil {
		t.Errorf("it ended with %v", err)
	}
	whole, _ := backupsIn(t, dir)
	if whole[0] != old {
		t.Errorf("the older backup is missing: %q", whole)
	}
	copied := sqldbtest.OpenWith(t, filepath.Join(dir, whole[1]), sqldb.Options{MustExist: true})
	n, err := sqldb.One(t.Context(), copied, sqldb.Value[int], `SELECT count(*) FROM idempotency_keys WHERE scope = 'fat'`)
	if err != nil || n != fat {
		t.Errorf("the backup has %d rows, %v", n, err)
	}
}
