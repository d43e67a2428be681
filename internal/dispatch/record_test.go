package dispatch_test

import (
	"net/url"
	"strconv"
	"testing"

	"claviger/internal/cluster"
	"claviger/internal/sqldb"
	"claviger/internal/sqldb/sqldbtest"
	"claviger/internal/webhook"
)

// While another transaction locks the row of an endpoint, the answers of other partners are
// recorded. Its own answers, one or several, are recorded once when the row is free.
func TestALockedEndpointHoldsUpNoOther(t *testing.T) {
	if !sqldbtest.Postgres() {
		t.Skip("on SQLite nobody holds a row")
	}
	for status, locked := range map[int]int64{200: 1, 500: 4} {
		t.Run(strconv.Itoa(status), func(t *testing.T) {
			t.Parallel()
			r := steppedHarness(t)
			g := newGate(t)
			r.partner(1, g.ServeHTTP)
			r.partner(2, g.ServeHTTP)
			for id := range int64(8) {
				owner := int64(1)
				if id < locked {
					owner = 2
				}
				r.license(owner, id+1)
				r.event(r.out, id+1)
			}
			out := r.stepped(settings{schedule: hourly})
			r.run(out)
			callers := g.callers(8)
			err := patient(r).Write(t.Context(), func(tx *sqldb.Tx) error {
				if _, err := tx.Exec(t.Context(), `UPDATE endpoints SET updated_at = updated_at WHERE partner_id = 2`); err != nil {
					return err
				}
				answer(status, callers...)
				r.until("the others are settled", func() bool { return r.count(untried, 1) == 0 })
				same(t, "of the locked endpoint", r.count(untried, 2), locked)
				same(t, "attempts on record", r.attempts(), 8-locked)
				return nil
			})
			if err != nil {
				t.Fatal(err)
			}
			r.settle(out)
			same(t, "of the locked endpoint", r.count(untried, 2), 0)
			same(t, "attempts", r.attempts(), 8)
		})
	}
}

const untried = `SELECT count(*) FROM outbox WHERE partner_id = $1 AND state = 1 AND attempts = 0`

// patient returns the harness's database without a timeout for idle transactions.
func patient(r *harness) *sqldb.DB {
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

// A transaction with an unknown result may still be running when its answers are recorded again:
// they wait for it, and are stored once.
func TestACommitThatIsUnderWay(t *testing.T) {
	if !sqldbtest.Postgres() {
		t.Skip("on SQLite one transaction writes at a time")
	}
	r, g := steppedHarness(t), newGate(t)
	r.partner(1, g.ServeHTTP)
	r.license(1, 1)
	r.event(r.out, 1)
	out := r.manual(settings{})
	answer(200, g.next())
	r.until("answered", func() bool { return out.Dispatcher.Answers() == 1 })
	out.Dispatcher.CutOff(t.Context())
	err := patient(r).Write(t.Context(), func(tx *sqldb.Tx) error {
		tx.Queue(`UPDATE endpoints SET updated_at = updated_at WHERE partner_id = 1`)
		tx.Queue(`INSERT INTO webhook_responses (event_id, request_header, response_status, response_body, response_time, url, success, created_at, updated_at)
			VALUES (1, '', 200, '', 0, '', TRUE, $1, 0)`, start)
		if _, err := tx.Exec(t.Context(), `DELETE FROM outbox WHERE event_id = 1`); err != nil {
			return err
		}
		out.Dispatcher.Record(t.Context())
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	r.until("the answer waits again", func() bool { return out.Dispatcher.Answers() == 1 })
	out.Dispatcher.Record(t.Context())
	same(t, "attempts", r.attempts(), 1)
	same(t, "begun", out.Dispatcher.Begun(), 0)
}

// twice records the first answer twice, as if the first result were unknown, and calls between in
// between.
func (r *harness) twice(g *gate, out *outbox, status int, between func()) {
	r.Helper()
	r.runNode(out) // only the test records
	r.poll(out)
	answer(status, g.next())
	r.until("answered", func() bool { return out.Dispatcher.Answers() == 1 })
	if err := out.Dispatcher.RecordTwice(r.Context(), between); err != nil {
		r.Fatal(err)
	}
}

// Recorded again, an answer does not repeat its effects: a redelivery in between stays queued.
func TestARedeliveryBetweenTwoRecords(t *testing.T) {
	for name, status := range map[string]int{"of a success": 200, "of a failure": 500} {
		t.Run(name, func(t *testing.T) {
			r, _, out := licenseOf(t, 1)
			g := newGate(t)
			r.point(1, g.ServeHTTP)
			r.twice(g, out, status, func() { r.redeliver(out, 1) })
			answer(200, g.next())
			r.until("answered", func() bool { return out.Dispatcher.Answers() == 1 })
			out.Dispatcher.Record(r.Context())
			same(t, "states", r.states(), []string{"1 delivered after 2"})
		})
	}
}

// An answer recorded twice counts once, and the next delivery is sent.
func TestTheNextAfterTwoRecords(t *testing.T) {
	r, _, out := licenseOf(t, 2)
	g := newGate(t)
	r.point(1, g.ServeHTTP)
	r.twice(g, out, 200, func() {})
	same(t, "attempts", r.attempts(), 1)
	answer(200, g.next())
	r.until("answered", func() bool { return out.Dispatcher.Answers() == 1 })
	out.Dispatcher.Record(r.Context())
	same(t, "states", r.states(), []string{"1 delivered after 1", "2 delivered after 1"})
}

func TestAFailureRecordedTwiceCountsOnce(t *testing.T) {
	r, _, out := licenseOf(t, 1)
	g := newGate(t)
	r.point(1, g.ServeHTTP)
	r.twice(g, out, 500, func() {})
	same(t, "states", r.states(), []string{"1 pending after 1"})
	same(t, "failures", r.count(`SELECT failures FROM endpoints`), 1)
	same(t, "attempts", r.attempts(), 1)
}

// The delivery behind one is sent when that is recorded, without a search.
func TestTheNextNeedsNoSearch(t *testing.T) {
	r, g := steppedHarness(t), newGate(t)
	r.partner(1, g.ServeHTTP)
	r.license(1, 1)
	r.event(r.out, 1)
	r.event(r.out, 1)
	out := r.manual(settings{})
	r.recordAll(out, 200, g.next())
	same(t, "sent next", g.next().id, 2)
}

// The next delivery of a license comes after all those that a batch settles.
func TestNextIsBehindTheBatch(t *testing.T) {
	for name, events := range map[string][]int64{"one more": {3}, "none": nil} {
		t.Run(name, func(t *testing.T) {
			r := newHarness(t)
			r.partner(1, nil)
			r.license(1, 1)
			for range 2 + len(events) {
				r.event(r.out, 1)
			}
			r.write(func(tx *sqldb.Tx) {
				tx.Queue(`INSERT INTO endpoints (partner_id, failing_since, failures, parked_at, probe_at, probed, updated_at) VALUES (1, 0, 0, 0, 0, 0, 0)`)
			})
			out := r.node(settings{})
			r.runNode(out)
			claim, _ := out.Dispatcher.Store.Node.Claim(cluster.ShardOf(1))
			var batch []*webhook.Attempt
			for id := range int64(2) {
				batch = append(batch, &webhook.Attempt{
					Item: &webhook.Item{EventID: id + 1, PartnerID: 1, LicenseID: 1}, To: &webhook.Destination{}, Claim: claim,
					At: now(), Outcome: webhook.Outcome{OK: true, Status: 200}, Finished: true,
				})
			}
			recorded, err := out.Dispatcher.Store.Record(t.Context(), batch)
			if err != nil {
				t.Fatal(err)
			}
			for _, rec := range recorded {
				var next []int64
				if rec.Next != nil {
					next = []int64{rec.Next.EventID}
				}
				same(t, "stale", rec.Stale, false)
				same(t, "next", next, events)
			}
		})
	}
}
