package dispatch_test

import (
	"net/http"
	"testing"
	"time"

	"claviger/internal/sqldb"
	"claviger/internal/webhook"
)

// ahead has events that are due in an hour: by the clock of a node that is ahead and has stopped
// (licenses 1 and 5), because the endpoint asked to wait (2), because the event before was refused
// (3), or while their endpoint is parked (4).
func ahead(t *testing.T) *harness {
	t.Helper()
	r := steppedHarness(t)
	r.partner(1, func(http.ResponseWriter, *http.Request) {})
	r.partner(2, func(http.ResponseWriter, *http.Request) {})
	r.license(1, 1, 2, 3, 5)
	r.license(2, 4)
	for _, license := range []int64{1, 2, 3, 3, 4} {
		r.event(r.out, license)
	}
	r.write(func(tx *sqldb.Tx) {
		later := start.Add(time.Hour)
		tx.Queue(`UPDATE outbox SET due_at = $1`, later)
		tx.Queue(`UPDATE outbox SET not_before = $1 WHERE event_id = 2`, later)
		tx.Queue(`UPDATE outbox SET attempts = 1 WHERE event_id = 3`)
		tx.Queue(`INSERT INTO endpoints (partner_id, failing_since, failures, parked_at, probe_at, probed, updated_at)
			VALUES (2, $1, 9, $1, $2, 0, $1)`, start, later)
	})
	return r
}

// TestEventsDueByAnotherClock: a new event does not wait until the clock of its node is right, even
// if the shard changes its node before the event is sent.
func TestEventsDueByAnotherClock(t *testing.T) {
	r := ahead(t)
	out := r.stepped(settings{schedule: hourly})
	r.run(out)
	r.until("one is sent", func() bool { return r.open() == 4 })
	want := []string{
		"1 delivered after 1", "2 pending after 0", "3 pending after 1", "4 pending after 0", "5 pending after 0",
	}
	same(t, "states", r.states(), want)
	r.event(r.out, 5)
	r.write(func(tx *sqldb.Tx) { tx.Queue(`UPDATE outbox SET due_at = $1 WHERE event_id = 6`, start.Add(time.Hour)) })
	r.clock.step(10 * time.Second)
	r.until("the other is sent", func() bool { return r.open() == 4 })
	same(t, "states", r.states(), append(want, "6 delivered after 1"))
}

// TestAheadLicenses names the only event that can be sent.
func TestAheadLicenses(t *testing.T) {
	r := ahead(t)
	list, err := r.stepped(settings{}).Dispatcher.Store.AheadLicenses(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	same(t, "licenses", list, []webhook.License{{PartnerID: 1, LicenseID: 1}})
}
