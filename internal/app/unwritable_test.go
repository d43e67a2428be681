package app_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"claviger/internal/account"
	"claviger/internal/apptest"
	"claviger/internal/partner"
	"claviger/internal/profile"
	"claviger/internal/sqldb"
	"claviger/internal/sqldb/sqldbtest"
)

// refuseWrites lets the database refuse the writes of checks.
func refuseWrites(h *apptest.Harness) {
	h.Helper()
	if sqldbtest.Postgres() {
		h.Exec(`CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE 'no'; END $$`)
		h.Exec(`CREATE TRIGGER refuse BEFORE INSERT ON oldest_program FOR EACH ROW EXECUTE FUNCTION refuse()`)
		return
	}
	h.Exec(`CREATE TRIGGER refuse BEFORE INSERT ON oldest_program BEGIN SELECT RAISE(ABORT, 'no'); END`)
}

// readiness is the answer of /readyz.
type readiness struct {
	Message string
	Checks  map[string]string
}

func readyz(t *testing.T, h *apptest.Harness) (int, readiness) {
	t.Helper()
	status, _, body := get(t, "http://"+h.App.Addr()+"/readyz")
	var r readiness
	if err := json.Unmarshal([]byte(body), &r); err != nil {
		t.Fatalf("%s: %v", body, err)
	}
	return status, r
}

// TestReadyWrites: a node is not ready while its writes fail, although the database answers.
func TestReadyWrites(t *testing.T) {
	h := apptest.Start(t)
	refuseWrites(h)
	for { // the check before it is shared for a second
		status, r := readyz(t, h)
		if status == http.StatusServiceUnavailable && r.Checks["writes"] == "failed" && r.Checks["database"] == "ok" {
			return
		}
	}
}

// TestReadOnlyAnswers: when PostgreSQL is read-only, /readyz and the answers to clients say so. When it
// takes writes again, so does the service.
func TestReadOnlyAnswers(t *testing.T) {
	if !sqldbtest.Postgres() {
		t.Skip("root can write to every file")
	}
	h := apptest.New(t)
	p, _ := h.Partner("Tide Planner", profile.URLs{})
	h.Plans(p.ID, 1, partner.Plan{})
	token := h.Token("all", account.Sell)
	h.Serve()
	buy := func() apptest.Answer {
		return apptest.Send(t, http.DefaultClient, "POST", "http://"+h.App.Addr()+"/operator/v1/purchases",
			`{"partner_id":1,"tier":1,"external_id":"a"}`, "Content-Type: application/json", "Authorization: Bearer "+token)
	}
	other := sqldbtest.OpenWith(t, h.Database, sqldb.Options{Readers: 1})
	set := func(to string) {
		t.Helper()
		h.Must(other.Write(t.Context(), func(tx *sqldb.Tx) error {
			_, err := tx.Exec(t.Context(), `DO $$ BEGIN SET LOCAL transaction_read_only = off;
				EXECUTE format('ALTER DATABASE %I SET default_transaction_read_only = `+to+`', current_database());
				PERFORM pg_terminate_backend(pid) FROM pg_stat_activity
					WHERE datname = current_database() AND pid <> pg_backend_pid(); END $$`)
			return err
		}))
	}
	awaitWrites := func(want string) (r readiness) {
		t.Helper()
		for r.Checks["writes"] != want {
			_, r = readyz(t, h)
		}
		return r
	}
	set("on")
	for !strings.Contains(awaitWrites("failed").Message, "read-only") { // the first failure is the end of the session
		awaitWrites("failed")
	}
	if a := buy(); a.Status != http.StatusServiceUnavailable || !strings.Contains(a.Body, "read-only") {
		t.Errorf("a purchase is answered %d: %s", a.Status, a.Body)
	}
	set("off")
	awaitWrites("ok")
	if a := buy(); a.Status != http.StatusCreated {
		t.Errorf("a purchase after it is answered %d: %s", a.Status, a.Body)
	}
}
