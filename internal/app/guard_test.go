package app_test

import (
	"errors"
	"io/fs"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"claviger/internal/app"
	"claviger/internal/cluster"
	"claviger/internal/sqldb"
	"claviger/internal/sqldb/sqldbtest"
)

// need stores the oldest version that may run.
func need(t *testing.T, db *sqldb.DB, version string) {
	t.Helper()
	err := db.Write(t.Context(), func(tx *sqldb.Tx) error {
		tx.Queue(`UPDATE oldest_program SET version = $1`, version)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// TestTooOldToStart: the service does not start on a database that needs a newer version, and names
// the version to use. So do the commands that open it, and doctor.
func TestTooOldToStart(t *testing.T) {
	cfg := config(t)
	need(t, sqldbtest.OpenWith(t, cfg.DB, sqldb.Options{Readers: 2}), "99.1.0")
	const want = "run version 99.1.0 or newer"
	for name, open := range map[string]func() error{
		"serve":   func() error { _, err := app.New(t.Context(), cfg); return err },
		"command": func() error { _, err := app.OpenCurrent(t.Context(), cfg); return err },
	} {
		if err := open(); !errors.Is(err, sqldb.ErrTooNew) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, f := range app.Examine(t.Context(), cfg) {
		if f.Name == "database" && (f.Result != app.Failed || !strings.Contains(f.Text, want)) {
			t.Errorf("doctor says %+v", f)
		}
	}
}

// TestPortsBeforeSchema: a start that fails because the port is in use leaves the schema as it is.
func TestPortsBeforeSchema(t *testing.T) {
	taken, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close() //nolint:errcheck // the test is over
	cfg := config(t)
	cfg.DB = sqldbtest.Empty(t)
	cfg.Addr = taken.Addr().String()
	if _, err := app.New(t.Context(), cfg); err == nil {
		t.Fatal("it starts on a port in use")
	}
	db := sqldbtest.OpenWith(t, cfg.DB, sqldb.Options{Readers: 2})
	if ours, err := db.Migrated(t.Context()); ours || err != nil {
		t.Errorf("the schema was migrated: %v, %v", ours, err)
	}
}

// TestTooOldWhileRunning: a node that finds the schema beyond it is not ready, refuses requests, and
// leaves the cluster with its deliveries and jobs.
func TestTooOldWhileRunning(t *testing.T) {
	cfg := config(t)
	log := newLines()
	cfg.Log = slog.New(slog.NewTextHandler(log, nil))
	a, stop := run(t, cfg)
	db := sqldbtest.OpenWith(t, cfg.DB, sqldb.Options{Readers: 2})
	members := func() int {
		list, err := cluster.List(t.Context(), db)
		if err != nil {
			t.Fatal(err)
		}
		return len(list)
	}
	for members() != 1 { // it joins
		<-time.After(10 * time.Millisecond)
	}
	need(t, db, "99.1.0")
	log.await("this node stops taking work")
	if status, _, body := get(t, "http://"+a.Addr()+"/readyz"); status != http.StatusServiceUnavailable || !strings.Contains(body, `"schema":"failed"`) {
		t.Errorf("/readyz answers %d %s", status, body)
	}
	status, header, body := get(t, "http://"+a.Addr()+"/v2/licenses")
	if status != http.StatusServiceUnavailable || !strings.Contains(body, `"error":"node_too_old"`) || header.Get("Retry-After") == "" {
		t.Errorf("a request is answered %d %s", status, body)
	}
	for members() != 0 { // it leaves
		<-time.After(10 * time.Millisecond)
	}
	if err := stop(); err != nil {
		t.Error(err)
	}
}

// contracting returns the migrations and a contracting one, whose old form no version needs.
func contracting(t *testing.T) fs.FS {
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
	text := "-- kind: contracting, old form unused since 1.0.0\n-- The table of drafts.\nDROP TABLE drafts;"
	for _, folder := range []string{"sqlite", "postgres"} {
		files["migrations/"+folder+"/9001_contract.sql"] = &fstest.MapFile{Data: []byte(text)}
	}
	return files
}

// contractible opens a database with a table that is to be deleted.
func contractible(t *testing.T, url string) *sqldb.DB {
	t.Helper()
	db := sqldbtest.OpenWith(t, url, sqldb.Options{Readers: 4, Version: "1.1.0", Migrations: contracting(t)})
	err := db.Write(t.Context(), func(tx *sqldb.Tx) error {
		tx.Queue(`CREATE TABLE drafts (id BIGINT)`)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return db
}

func contractions(t *testing.T, db *sqldb.DB) int {
	t.Helper()
	schema, err := db.Schema(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return len(schema.Contractions)
}

// TestContractsAtStart: the release after the one that stopped using an old form deletes it when it
// starts.
func TestContractsAtStart(t *testing.T) {
	cfg := config(t)
	log := newLines()
	cfg.Log = slog.New(slog.NewTextHandler(log, nil))
	db := contractible(t, cfg.DB)
	a, err := app.NewOn(t.Context(), db, cfg)
	if err != nil {
		t.Fatal(err)
	}
	stop := runApp(t, a)
	log.await("deleted old forms of the schema")
	if n := contractions(t, sqldbtest.OpenWith(t, cfg.DB, sqldb.Options{Version: "1.1.0", Migrations: contracting(t)})); n != 0 {
		t.Errorf("%d contracting migrations are left", n)
	}
	if err := stop(); err != nil {
		t.Error(err)
	}
}

// TestFinishWaits: while a node that needs the old form has beaten in the last minute, or the service
// runs on SQLite, nothing is deleted: neither by the command nor at the start of the following
// release, which serves, and logs the node that it waits for.
func TestFinishWaits(t *testing.T) {
	cfg := config(t)
	db := contractible(t, cfg.DB)
	if !sqldbtest.Postgres() {
		other := sqldbtest.OpenWith(t, cfg.DB, sqldb.Options{})
		if alone, err := other.AcquireExclusive(t.Context(), func() {}); !alone || err != nil {
			t.Fatal(err)
		}
		if _, err := app.FinishMigration(t.Context(), db); err == nil || !strings.Contains(err.Error(), "stop the service") {
			t.Errorf("beside the service: %v", err)
		}
		if err := other.ReleaseExclusive(); err != nil {
			t.Fatal(err)
		}
	} else {
		waitsForNode(t, cfg, db)
	}
	if names, err := app.FinishMigration(t.Context(), db); len(names) != 1 || err != nil {
		t.Errorf("without such nodes: %v, %v", names, err)
	}
}

// waitsForNode has a node of an older version that was silent, for less than a minute and for more.
func waitsForNode(t *testing.T, cfg app.Config, db *sqldb.DB) {
	t.Helper()
	beat := func(ago time.Duration) {
		t.Helper()
		now, _, err := db.Clock(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		err = db.Write(t.Context(), func(tx *sqldb.Tx) error {
			tx.Queue(`DELETE FROM silent_nodes`)
			tx.Queue(`INSERT INTO silent_nodes (node, host, version, started_at, beat_at)
				VALUES ('older', 'rome', '0.9.0', 1, $1)`, now.Add(-ago))
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	beat(20 * time.Second)
	if _, err := app.FinishMigration(t.Context(), db); !errors.Is(err, app.ErrNeeded) || !strings.Contains(err.Error(), "rome (version 0.9.0") {
		t.Errorf("beside an older node: %v", err)
	}
	defer jobsElsewhere(t, cfg)()
	log := newLines()
	cfg.Log = slog.New(slog.NewTextHandler(log, nil))
	own := sqldbtest.OpenWith(t, cfg.DB, sqldb.Options{Readers: 4, Version: "1.1.0", Migrations: contracting(t)})
	a, err := app.NewOn(t.Context(), own, cfg)
	if err != nil {
		t.Fatal(err)
	}
	stop := runApp(t, a)
	log.await("contracting migrations wait")
	if status, _, body := get(t, "http://"+a.Addr()+"/readyz"); status != http.StatusOK || log.count("rome (version 0.9.0") == 0 {
		t.Errorf("/readyz answers %d %s", status, body)
	}
	if err := stop(); err != nil {
		t.Error(err)
	}
	beat(61 * time.Second)
}

// jobsElsewhere starts another node, which gets all jobs, and returns a function that stops it.
func jobsElsewhere(t *testing.T, cfg app.Config) func() {
	t.Helper()
	db := sqldbtest.OpenWith(t, cfg.DB, sqldb.Options{Readers: 4})
	other, err := app.NewOn(t.Context(), db, cfg)
	if err != nil {
		t.Fatal(err)
	}
	stop := runApp(t, other)
	for ran := false; !ran; {
		ran, err = sqldb.One(t.Context(), db, sqldb.Value[bool], `SELECT EXISTS (SELECT 1 FROM job_runs WHERE job = 'schema')`)
		if err != nil {
			t.Fatal(err)
		}
	}
	return func() {
		if err := stop(); err != nil {
			t.Error(err)
		}
	}
}

// TestMovedWhileRunning moves the SQLite file of a running service. The service is not ready, refuses
// requests with the reason, and ends its deliveries and jobs.
func TestMovedWhileRunning(t *testing.T) {
	if sqldbtest.Postgres() {
		t.Skip("it is about the file of SQLite")
	}
	cfg := config(t)
	log := newLines()
	cfg.Log = slog.New(slog.NewTextHandler(log, nil))
	a, stop := run(t, cfg)
	lock := sqldbtest.OpenWith(t, cfg.DB, sqldb.Options{Readers: 2})
	serves := func() bool {
		holder, err := lock.Holder(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return holder == sqldb.Others
	}
	for !serves() { // it begins to send
		<-time.After(10 * time.Millisecond)
	}
	if err := os.Rename(cfg.DB, cfg.DB+".elsewhere"); err != nil {
		t.Fatal(err)
	}
	if status, _, body := get(t, "http://"+a.Addr()+"/readyz"); status != http.StatusServiceUnavailable || !strings.Contains(body, `"database":"failed"`) {
		t.Errorf("/readyz answers %d %s", status, body)
	}
	log.await("this node stops taking work")
	status, header, body := get(t, "http://"+a.Addr()+"/v2/licenses")
	if status != http.StatusServiceUnavailable || !strings.Contains(body, "not in its place") || header.Get("Retry-After") == "" {
		t.Errorf("a request is answered %d %s", status, body)
	}
	for serves() { // it stops sending
		<-time.After(10 * time.Millisecond)
	}
	if err := stop(); err != nil {
		t.Error(err)
	}
}

// TestLeftLog: the service does not make a new database beside the log of a lost one, and doctor says
// why.
func TestLeftLog(t *testing.T) {
	cfg := config(t)
	cfg.DB = filepath.Join(t.TempDir(), "lost.db")
	if err := os.WriteFile(cfg.DB+"-wal", []byte("the newest sales"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := app.New(t.Context(), cfg); !errors.Is(err, sqldb.ErrLeftLog) {
		t.Errorf("the service starts: %v", err)
	}
	for _, f := range app.Examine(t.Context(), cfg) {
		if f.Name == "database" && (f.Result != app.Failed || !strings.Contains(f.Text, "a log without its database")) {
			t.Errorf("doctor says %+v", f)
		}
	}
}
