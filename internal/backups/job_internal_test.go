package backups

import (
	"bytes"
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"claviger/internal/sqldb"
	"claviger/internal/sqldb/sqldbtest"
)

// harness is a job with a clock and a log.
type harness struct {
	*testing.T
	*Job
	now time.Time
	log bytes.Buffer
}

// start makes a job that makes a backup an hour, and keeps two.
func start(t *testing.T) *harness {
	t.Helper()
	if sqldbtest.Postgres() {
		t.Skip("PostgreSQL has its own tools")
	}
	h := &harness{T: t, now: time.Date(2026, 11, 16, 12, 0, 0, 0, time.UTC)}
	h.Job = &Job{
		DB: sqldbtest.Open(t), Now: func() time.Time { return h.now }, Dir: filepath.Join(t.TempDir(), "backups"),
		Every: time.Hour, Keep: 2, Log: slog.New(slog.NewTextHandler(&h.log, nil)),
	}
	return h
}

// looks looks after a time, and checks the error.
func (h *harness) looks(after time.Duration, says string) {
	h.Helper()
	h.now = h.now.Add(after)
	err := h.look(h.Context())
	if says == "" && err != nil || says != "" && (err == nil || !strings.Contains(err.Error(), says)) {
		h.Errorf("at %s: %v, want %q", h.now.Format(time.TimeOnly), err, says)
	}
}

// holds checks the names in the folder.
func (h *harness) holds(names ...string) {
	h.Helper()
	entries, err := os.ReadDir(h.Dir)
	got := []string{}
	for _, e := range entries {
		got = append(got, e.Name())
	}
	if diff := cmp.Diff(append([]string{}, names...), got); diff != "" || err != nil {
		h.Errorf("the folder: %v (-want +got)\n%s", err, diff)
	}
}

// put writes a file into the folder.
func (h *harness) put(name, text string) {
	h.Helper()
	if err := os.WriteFile(filepath.Join(h.Dir, name), []byte(text), 0o600); err != nil {
		h.Fatal(err)
	}
}

// last checks the stored time of the last backup.
func (h *harness) last(want string) {
	h.Helper()
	at, err := Last(h.Context(), h.DB)
	if got := at.Format(time.TimeOnly); got != want || err != nil {
		h.Errorf("the last backup is of %s, not %s; %v", got, want, err)
	}
}

// TestSchedule: a backup is due when there is none, when the newest is too old, and when the clock
// was set back. Only backups are deleted, and only the oldest.
func TestSchedule(t *testing.T) {
	h := start(t)
	h.looks(0, "")
	h.holds("claviger-20261116T120000Z.db")
	h.last("12:00:00")
	h.looks(59*time.Minute, "")
	h.holds("claviger-20261116T120000Z.db")
	h.put("claviger-20261116T124500Z.db.part-17", "") // killed
	h.put("notes.txt", "not ours")
	h.put("claviger-20261116T115959Z.db.txt", "not ours")
	h.put("claviger-20261116T115000Z.db", "") // killed, on a file system without links
	h.looks(time.Minute, "")
	h.looks(time.Hour, "")
	h.holds("claviger-20261116T115000Z.db", "claviger-20261116T115959Z.db.txt", "claviger-20261116T130000Z.db",
		"claviger-20261116T140000Z.db", "notes.txt")
	h.last("14:00:00")
	h.looks(-90*time.Minute, "")
	h.holds("claviger-20261116T115000Z.db", "claviger-20261116T115959Z.db.txt", "claviger-20261116T123000Z.db",
		"claviger-20261116T140000Z.db", "notes.txt")
	h.last("12:30:00")
	for path, want := range map[string]os.FileMode{h.Dir: 0o700, filepath.Join(h.Dir, "claviger-20261116T123000Z.db"): 0o600} {
		if info, err := os.Stat(path); err != nil || info.Mode().Perm() != want {
			t.Errorf("the mode of %s: %v, %v", path, info, err)
		}
	}
	copied := sqldbtest.OpenWith(t, filepath.Join(h.Dir, "claviger-20261116T140000Z.db"), sqldb.Options{MustExist: true})
	if at, err := Last(t.Context(), copied); err != nil || at.Format(time.TimeOnly) != "13:00:00" {
		t.Errorf("the backup of 14:00 knows one of %v, %v", at, err)
	}
}

// TestFailure: a backup that fails deletes none, is logged once, and is tried again after more and
// more looks. Each look reports it.
func TestFailure(t *testing.T) {
	h := start(t)
	h.looks(0, "")
	h.looks(time.Hour, "")
	names := []string{"claviger-20261116T120000Z.db", "claviger-20261116T130000Z.db"}
	h.Keep = 1
	h.now = h.now.Add(time.Hour)
	at := filepath.Join(h.Dir, h.now.Format(form))
	if err := os.Mkdir(at, 0o700); err != nil { // in the way of the next backup
		t.Fatal(err)
	}
	h.looks(0, "overwrites nothing")
	h.holds(append(names, filepath.Base(at))...)
	tries := 0
	for range 100 {
		before := h.skip
		h.looks(0, "overwrites nothing")
		if before == 0 {
			tries++
		}
	}
	if want := 9; tries != want {
		t.Errorf("%d tries in 100 looks, want %d", tries, want)
	}
	h.holds(append(names, filepath.Base(at))...)
	h.last("13:00:00")
	if n := strings.Count(h.log.String(), "backup failed"); n != 1 {
		t.Errorf("logged %d times:\n%s", n, h.log.String())
	}
	h.now = h.now.Add(time.Second)
	for h.failed != nil {
		says := "overwrites nothing"
		if h.skip == 0 {
			says = ""
		}
		h.looks(0, says)
	}
	h.holds(filepath.Base(at), "claviger-20261116T140001Z.db")
	if !strings.Contains(h.log.String(), "backups succeed again") {
		t.Errorf("the log:\n%s", h.log.String())
	}
	h.Dir = filepath.Join(h.Dir, "not", "mounted")
	h.looks(0, "look for backups: mkdir")
	if n := strings.Count(h.log.String(), "backup failed"); n != 2 {
		t.Errorf("logged %d times:\n%s", n, h.log.String())
	}
}

// TestInterrupted: a backup that is cut off leaves nothing, and is no failure.
func TestInterrupted(t *testing.T) {
	h := start(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := h.look(ctx); err == nil || h.skip > 0 {
		t.Errorf("cut off: %v, skips %d", err, h.skip)
	}
	h.holds()
	if h.log.Len() > 0 {
		t.Errorf("the log:\n%s", h.log.String())
	}
	h.looks(0, "")
	h.holds("claviger-20261116T120000Z.db")
}
