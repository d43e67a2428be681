package main

import (
	"context"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"claviger/internal/account"
	"claviger/internal/app"
	"claviger/internal/audit"
	"claviger/internal/event"
	"claviger/internal/license"
	"claviger/internal/paging"
	"claviger/internal/partner"
	"claviger/internal/profile"
	"claviger/internal/sqldb/sqldbtest"
)

const testKey = "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f"

var tester = audit.System("test")

// served runs the service on a database until it is stopped.
func served(t *testing.T, db string) (services *app.Services, stop func()) {
	t.Helper()
	cfg := app.Defaults(app.Serve)
	cfg.DrainDelay = new(time.Duration)
	cfg.Addr, cfg.AdminAddr, cfg.DB, cfg.SecretKey = "127.0.0.1:0", "", db, testKey
	cfg.Log = slog.New(slog.DiscardHandler)
	a, err := app.New(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	ended := make(chan error, 1)
	go func() { ended <- a.Run(ctx) }()
	return a.Services(), func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}
}

// seller creates a partner with a plan.
func seller(t *testing.T, r *app.Services) int64 {
	t.Helper()
	p, _, _, err := r.Profiles.Enrol(t.Context(), tester, partner.Draft{Name: "Partner"}, profile.URLs{}, false, partner.Credentials{})
	if err == nil {
		_, _, err = r.Partners.PutPlan(t.Context(), tester, p.ID, partner.Plan{Tier: 1, Name: "One", Currency: "USD"})
	}
	if err != nil {
		t.Fatal(err)
	}
	return p.ID
}

// sell sells a license and returns its id and its owner's.
func sell(t *testing.T, r *app.Services, partnerID int64, email string) (licenseID, userID int64) {
	t.Helper()
	p := license.Purchase{PartnerID: partnerID, Tier: 1, Quantity: 1, Buyer: &account.Person{Email: email}}
	s, err := r.Licenses.Purchase(t.Context(), tester, p)
	if err != nil {
		t.Fatal(err)
	}
	return s.Licenses[0].ID, s.UserID
}

// newest returns the id of the newest event.
func newest(t *testing.T, r *app.Services, partnerID int64) int64 {
	t.Helper()
	list, err := r.Events.List(t.Context(), partnerID, event.Filter{}, paging.Page{Number: 1, Limit: 1, Order: paging.NewestFirst})
	if err != nil || len(list.Events) == 0 {
		t.Fatalf("%d events, %v", len(list.Events), err)
	}
	return list.Events[0].ID
}

// steps returns the commands under a heading of docs/backup.md.
func steps(t *testing.T, heading string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", "docs", "backup.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, section, ok := strings.Cut(string(text), "\n## "+heading+"\n")
	section, _, _ = strings.Cut(section, "\n#")
	var commands strings.Builder
	for line := range strings.Lines(section) {
		if command, ok := strings.CutPrefix(line, "    "); ok {
			commands.WriteString(command)
		}
	}
	if !ok || commands.Len() == 0 {
		t.Fatalf("docs/backup.md has no commands under %q", heading)
	}
	return commands.String()
}

// follow runs documented commands in a shell and returns their output.
func follow(t *testing.T, heading, dir, db string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "sh", "-e", "-c", steps(t, heading)) //nolint:gosec // commands of our guide
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "CLAVIGER_DB="+db)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v\n%s", heading, err, out)
	}
	return string(out)
}

// refusedWhileRunning tries a restore while the service runs.
func refusedWhileRunning(t *testing.T, dir, db string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "claviger", "restore", "backups/claviger.db", "--db", db) //nolint:gosec // a file of this test
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	if err == nil || !strings.Contains(string(out), "another process has the database open; stop the service") {
		t.Errorf("a restore under a running service: %v\n%s", err, out)
	}
}

// TestDocumentedRestore follows the guide: a backup of the running service, a later sale and an
// erasure, the restore. Erased people stay erased, no id is given twice, and pending deliveries are
// announced.
func TestDocumentedRestore(t *testing.T) {
	name := "SQLite"
	if sqldbtest.Postgres() {
		name = "PostgreSQL"
		if _, err := exec.LookPath("pg_restore"); err != nil {
			t.Skip("PostgreSQL's own tools are not installed")
		}
	}
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "backups"), 0o700); err != nil {
		t.Fatal(err)
	}
	db := sqldbtest.URL(t)
	services, stop := served(t, db)
	p := seller(t, services)
	_, ann := sell(t, services, p, "ann@example.com")
	if _, err := services.Profiles.AddContact(t.Context(), tester, p, "Ann", "ann@example.com"); err != nil {
		t.Fatal(err)
	}
	_, bob := sell(t, services, p, "bob@example.com")
	follow(t, "Backup of "+name, dir, db)
	lost, _ := sell(t, services, p, "carl@example.com")
	if _, err := services.Licenses.EraseUser(t.Context(), tester, ann); err != nil {
		t.Fatal(err)
	}
	seen := newest(t, services, p)
	if !sqldbtest.Postgres() {
		refusedWhileRunning(t, dir, db)
	}
	stop()
	out := follow(t, "Restore of "+name, dir, db)
	for _, want := range []string{"ids continue 10000000 higher", "2 webhook deliveries and 0 mails that waited", "people who are erased again: 1; ids of the list that are not in the backup: 0"} {
		if !strings.Contains(out, want) {
			t.Errorf("it does not say %q:\n%s", want, out)
		}
	}
	services, stop = served(t, db)
	defer stop()
	for id, want := range map[int64]bool{ann: true, bob: false} {
		u, err := services.Accounts.Get(t.Context(), id)
		if err != nil || u.ErasedAt.IsZero() == want {
			t.Errorf("user %d is %+v, %v", id, u, err)
		}
	}
	if _, contacts, err := services.Profiles.Get(t.Context(), p); err != nil || len(contacts) != 0 {
		t.Errorf("the contacts of who was erased: %+v, %v", contacts, err)
	}
	sold, dora := sell(t, services, p, "dora@example.com")
	if sold <= lost || dora <= bob+1 || newest(t, services, p) <= seen {
		t.Errorf("license %d after %d, user %d after %d, event %d after %d", sold, lost, dora, bob, newest(t, services, p), seen)
	}
}
