package webhook_test

import (
	"net/url"
	"testing"
	"time"

	"claviger/internal/sqldb"
	"claviger/internal/sqldb/sqldbtest"
)

// Answers whose rows somebody else holds wait by themselves: the others of their
// batch are recorded meanwhile, and they are in the end, whole and once.
func TestALockHoldsUpNoOther(t *testing.T) {
	if !sqldbtest.Postgres() {
		t.Skip("on SQLite nobody holds a row")
	}
	for name, c := range map[string]struct {
		status int
		lock   string
		wait   int // answers that have to
	}{
		"one delivery":  {200, `UPDATE outbox SET updated_at = updated_at WHERE event_id = 3`, 1},
		"two of them":   {200, `UPDATE outbox SET updated_at = updated_at WHERE event_id IN (3, 8)`, 2},
		"all of them":   {200, `UPDATE outbox SET updated_at = updated_at`, 8},
		"a partner's":   {500, `UPDATE outbox SET updated_at = updated_at WHERE partner_id = 2`, 4},
		"its endpoint":  {500, `UPDATE endpoints SET updated_at = updated_at WHERE partner_id = 2`, 4},
		"nothing, even": {500, `SELECT 1`, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := steppedRig(t)
			e := &endpoint{TB: t, all: c.status}
			for id := range int64(8) {
				if id < 2 {
					r.partner(id+1, e.ServeHTTP)
				}
				r.license(id%2+1, id+1)
				r.event(r.out, id+1)
			}
			r.write(func(tx *sqldb.Tx) {
				tx.Queue(`INSERT INTO endpoints (partner_id, failing_since, failures, parked_at, probe_at, probed, updated_at)
					VALUES (1, 0, 0, 0, 0, 0, 0), (2, 0, 0, 0, 0, 0, 0)`)
			})
			out := r.stepped(settings{})
			r.begin(out)
			out.Dispatcher.Landed()
			err := patient(r).Write(t.Context(), func(tx *sqldb.Tx) error {
				_, err := tx.Exec(t.Context(), c.lock)
				out.Dispatcher.Record()
				r.until("the others are on record while it is held", func() bool { return len(r.record()) == 8-c.wait })
				return err
			})
			if err != nil {
				t.Fatal(err)
			}
			out.Dispatcher.Apart()
			same(t, "attempts", r.count(`SELECT count(*) FROM webhook_responses`), 8)
			same(t, "on record", r.count(`SELECT count(DISTINCT event_id) FROM webhook_responses WHERE request_header <> ''`), 8)
			same(t, "on record in all", len(r.record()), 8)
		})
	}
}

// patient is the rig's database to whoever takes long over a transaction.
func patient(r *rig) *sqldb.DB {
	r.Helper()
	u, err := url.Parse(r.url)
	if err != nil {
		r.Fatal(err)
	}
	q := u.Query()
	q.Set("idle_in_transaction_session_timeout", "0")
	u.RawQuery = q.Encode()
	return sqldbtest.OpenWith(r.TB, u.String(), sqldb.Options{})
}

// Recorded again, an answer does nothing that it did the first time: what was redelivered
// meanwhile is.
func TestARedeliveryBetweenTwoRecords(t *testing.T) {
	r, g, a, _ := pair(t, 1, 0)
	r.begin(a)
	answer(200, g.next())
	a.Dispatcher.Landed()
	if err := a.Dispatcher.RecordAgain(func() { r.redeliver(a, 1) }); err != nil {
		t.Fatal(err)
	}
	r.search(a)
	r.finish(a, 200, g.next())
	same(t, "states", r.states(), []string{"1 delivered after 2"})
}

// What the first record set free for the node, and it did not hear of, it takes on with the
// second: after a new delivery as after one that was found.
func TestTheNextAfterTwoRecords(t *testing.T) {
	for name, born := range map[string]bool{"found": false, "new": true} {
		t.Run(name, func(t *testing.T) {
			r, g, a, _ := pair(t, 1, 1)
			r.begin(a)
			if born { // now that the lane is ready
				r.finish(a, 200, g.next())
				r.finish(a, 200, g.next())
				r.license(1, 2)
				r.event(a, 2)
				r.event(a, 2)
			}
			answer(200, g.next())
			a.Dispatcher.Landed()
			if err := a.Dispatcher.RecordAgain(func() {}); err != nil {
				t.Fatal(err)
			}
			r.round(a)
			r.finish(a, 200, g.next())
			same(t, "open", r.open(), 0)
			r.nothingHeld(a)
		})
	}
}

// A delivery that is new since the first record, and on its way, keeps its name with the second.
func TestANewDeliveryBetweenTwoRecords(t *testing.T) {
	r, g, a, _ := pair(t, 1, 0)
	r.begin(a)
	r.finish(a, 200, g.next()) // its lane is ready
	r.license(1, 2)
	r.event(a, 2)
	answer(200, g.next())
	a.Dispatcher.Landed()
	err := a.Dispatcher.RecordAgain(func() {
		r.event(a, 2)
		r.write(func(tx *sqldb.Tx) { // so that nothing gives it another
			tx.Queue(`UPDATE endpoints SET failing_since = 1, failures = 1, parked_at = 1, probe_at = $1 WHERE partner_id = 1`, start.Add(time.Hour))
		})
	})
	if err != nil {
		t.Fatal(err)
	}
	same(t, "leased", r.leased(), map[int64]string{3: a.Dispatcher.Node()})
	r.finish(a, 200, g.next())
	same(t, "open", r.open(), 0)
}
