package dispatch_test

import (
	"errors"
	"testing"
	"time"

	"claviger/internal/cluster"
	"claviger/internal/sqldb"
	"claviger/internal/sqldb/sqldbtest"
	"claviger/internal/webhook"
)

// refused returns a harness with license 1, which has an accepted event, one that was refused often
// and long enough, and a newer one behind it; and a dispatcher that owns the partner.
func refused(t *testing.T) (*harness, *outbox, cluster.Claim) {
	t.Helper()
	if !sqldbtest.Postgres() {
		t.Skip("on SQLite no claim is lost, and nothing runs side by side")
	}
	r := steppedHarness(t)
	r.partner(1, newGate(t).ServeHTTP)
	r.license(1, 1)
	out := r.manual(settings{})
	for range 3 {
		r.event(r.out, 1)
	}
	r.write(func(tx *sqldb.Tx) {
		tx.Queue(`DELETE FROM outbox WHERE event_id = 1`)
		tx.Queue(`UPDATE outbox SET due_at = $1`, start.Add(time.Hour))
		tx.Queue(`UPDATE outbox SET attempts = 4, refusals = 4, refused_since = $1, refused_alone = TRUE WHERE event_id = 2`, start.Add(-time.Hour))
		tx.Queue(`INSERT INTO endpoints (partner_id, failing_since, failures, parked_at, probe_at, probed, updated_at) VALUES (1, 0, 0, 0, 0, 0, 0)`)
	})
	claim, _ := out.Dispatcher.Store.Node.Claim(cluster.ShardOf(1))
	return r, out, claim
}

// look checks license 1 as its lane does after a hint.
func look(t *testing.T, out *outbox, claim cluster.Claim) error {
	to := &webhook.Destination{Endpoint: webhook.Endpoint{URL: "https://example.com"}}
	_, err := out.Dispatcher.Store.Find(t.Context(), webhook.Search{PartnerID: 1, Claim: claim, To: to, Hints: []int64{1}, Space: 10})
	return err
}

// A node that has lost its claim supersedes no event.
func TestNothingMakesWayWithoutAClaim(t *testing.T) {
	r, out, claim := refused(t)
	lost := claim
	lost.Epoch++
	for _, c := range []struct {
		claim cluster.Claim
		want  string
	}{{lost, "2 pending after 4"}, {claim, "2 superseded after 4"}} {
		if err := look(t, out, c.claim); err != nil {
			t.Fatal(err)
		}
		same(t, "states", r.states(), []string{"1 delivered after 0", c.want, "3 pending after 0"})
	}
}

// An event is superseded only while it is the first of its license, not if an earlier one is
// redelivered at the same time.
func TestMakingWayMeetsARedelivery(t *testing.T) {
	r, out, claim := refused(t)
	redelivered, looked := make(chan error, 1), make(chan error, 1)
	err := patient(r).Write(t.Context(), func(tx *sqldb.Tx) error {
		// The last write of a redelivery, so that it waits here with all else done.
		if _, err := tx.Exec(t.Context(), `INSERT INTO redelivered (event_id) VALUES (1)`); err != nil {
			return err
		}
		go func() { redelivered <- silent(r.db, r.clock.now).Redeliver(t.Context(), tester, 1, 1) }()
		r.until("the redelivery waits", func() bool { return r.waitForLocks() == 1 })
		go func() { looked <- look(t, out, claim) }()
		r.until("both wait", func() bool { return r.waitForLocks() == 2 })
		return nil
	})
	if err := errors.Join(err, <-redelivered, <-looked); err != nil {
		t.Fatal(err)
	}
	same(t, "states", r.states(), []string{"1 pending after 0", "2 pending after 4", "3 pending after 0"})
}

// A lane without space in memory waits for space; meanwhile it only asks the database for a changed
// endpoint.
func TestALaneWithoutSpaceDoesNotSearch(t *testing.T) {
	r := newHarness(t)
	r.partner(1, nil)
	for name, c := range map[string]struct {
		inMemory, limit int
		reload, want    bool
	}{
		"there is space":               {9, 10, false, true},
		"there is none":                {10, 10, false, false},
		"none, and it was changed":     {10, 10, true, true},
		"space, and it was changed":    {0, 10, true, true},
		"there is less than there was": {20, 10, false, false},
	} {
		out := r.node(settings{})
		same(t, name, out.Dispatcher.Searches(1, c.inMemory, c.limit, c.reload), c.want)
	}
}

// A search that failed is not repeated immediately, even if the one before left more to find: while the
// database is away, each lane would ask it all the time.
func TestAFailedSearchWaits(t *testing.T) {
	out := steppedHarness(t).stepped(settings{})
	again, later := out.Dispatcher.SearchesAfter(errors.New("the database is away"))
	same(t, "searches immediately after a failure", again, false)
	same(t, "searches later after a failure", later, true)
	again, _ = out.Dispatcher.SearchesAfter(nil)
	same(t, "searches for more", again, true)
}
