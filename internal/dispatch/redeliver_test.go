package dispatch_test

import (
	"errors"
	"slices"
	"testing"
	"time"

	"claviger/internal/sqldb"
	"claviger/internal/sqldb/sqldbtest"
	"claviger/internal/webhook"
	"claviger/internal/webhook/history"
)

// licenseOf returns a harness with one license with this many events, and its endpoint.
func licenseOf(t *testing.T, events int) (*harness, *endpoint, *outbox) {
	t.Helper()
	r := steppedHarness(t)
	e := &endpoint{TB: t}
	r.partner(1, e.ServeHTTP)
	r.license(1, 1)
	for range events {
		r.event(r.out, 1)
	}
	return r, e, r.stepped(settings{schedule: webhook.Schedule{time.Hour, time.Hour}})
}

func (r *harness) redeliver(out *outbox, id int64) {
	r.Helper()
	if err := out.Redeliver(r.Context(), tester, 1, id); err != nil {
		r.Fatal(err)
	}
}

// redeliverFailed makes failed events before a time due, as a job does, and returns the number of
// deliveries.
func (r *harness) redeliverFailed(out *outbox, before time.Time) (n int64) {
	r.Helper()
	err := out.DB.Write(r.Context(), func(tx *sqldb.Tx) error {
		list, err := history.Filter{State: history.Failed, To: before}.Candidates(r.Context(), tx, 1, history.JobAt{}, 250)
		if err == nil {
			n, _, err = out.RedeliverMany(r.Context(), tx, webhook.Sender{By: tester}, 1, list.EventIDs, true)
		}
		return err
	})
	if err != nil {
		r.Fatal(err)
	}
	return n
}

// The newest event follows a redelivery, so that no partner is left with an old state.
func TestTheNewestFollowsARedelivery(t *testing.T) {
	r, e, out := licenseOf(t, 4)
	r.step(out)
	e.taken()
	r.redeliver(out, 2)
	r.step(out)
	same(t, "got", e.taken(), []int64{2, 4})
}

// A retry waiting behind the redelivered event is due, too.
func TestRedeliveryDoesNotWaitForRetries(t *testing.T) {
	r, e, out := licenseOf(t, 3)
	e.answerTo(3, 500)
	r.step(out)
	e.taken()
	same(t, "waits", r.waits(), []string{"3 in 1h0m0s"})
	r.redeliver(out, 1)
	e.answer(200)
	e.answerTo(3, 200)
	r.step(out)
	same(t, "got", e.taken(), []int64{1, 3})
	same(t, "states", r.states(), []string{"1 delivered after 2", "2 delivered after 1", "3 delivered after 2"})
}

// Redelivering a waiting event sends it now, after the events before it.
func TestRedeliveringWhatWaitsMakesItDue(t *testing.T) {
	r, e, out := licenseOf(t, 3)
	e.answerTo(2, 500)
	r.step(out)
	same(t, "got", e.taken(), []int64{1, 2})
	e.answerTo(2, 200)
	r.redeliver(out, 3)
	r.step(out)
	same(t, "got", e.taken(), []int64{2, 3})
	same(t, "states", r.states(), []string{"1 delivered after 1", "2 delivered after 2", "3 delivered after 1"})
}

// An event reopened while the newest is in flight waits for that, and then the newest is sent
// again.
func TestRedeliveryWhileTheNewestIsInFlight(t *testing.T) {
	for name, status := range map[string]int{"which succeeds": 200, "which fails": 500} {
		t.Run(name, func(t *testing.T) {
			r, e, out := licenseOf(t, 3)
			e.answerTo(3, 500)
			r.step(out)
			g := newGate(t)
			r.point(1, g.ServeHTTP)
			r.clock.step(time.Hour)
			r.run(out)
			newest := g.next()
			r.redeliver(out, 1)
			r.poll(out)
			g.nobody("while another of its license is in flight")
			r.finish(status, newest)
			first := g.next()
			same(t, "sent next", first.id, 1)
			g.nobody("together with the event before it")
			r.finish(200, first)
			last := g.next()
			same(t, "sent last", last.id, 3)
			r.finish(200, last)
			r.settle(out)
			same(t, "states", r.states(), []string{"1 delivered after 2", "2 delivered after 1", "3 delivered after 3"})
		})
	}
}

// An event redelivered while in flight is sent again, regardless of its answer.
func TestRedeliveryOfWhatIsInFlight(t *testing.T) {
	for name, status := range map[string]int{"which succeeds": 200, "which fails": 500} {
		t.Run(name, func(t *testing.T) {
			r, _, out := licenseOf(t, 1)
			g := newGate(t)
			r.point(1, g.ServeHTTP)
			r.run(out)
			c := g.next()
			r.redeliver(out, 1)
			r.finish(status, c)
			r.finish(200, g.next())
			r.settle(out)
			same(t, "states", r.states(), []string{"1 delivered after 2"})
		})
	}
}

// An answer recorded while an earlier event is reopened does not release the newest.
func TestARecordMeetsARedelivery(t *testing.T) {
	if !sqldbtest.Postgres() {
		t.Skip("on SQLite nothing runs side by side")
	}
	r, e, out := licenseOf(t, 3)
	r.step(out)
	e.taken()
	g := newGate(t)
	r.point(1, g.ServeHTTP)
	r.event(r.out, 1)
	r.event(r.out, 1) // 4 and 5
	r.runNode(out)    // only the test records
	r.poll(out)
	c := g.next()
	done := make(chan error, 1)
	err := patient(r).Write(t.Context(), func(tx *sqldb.Tx) error {
		// The last write of a redelivery, so that it waits here with all else done.
		if _, err := tx.Exec(t.Context(), `INSERT INTO redelivered (event_id) VALUES (1)`); err != nil {
			return err
		}
		go func() { done <- out.Redeliver(t.Context(), tester, 1, 1) }()
		r.until("the redelivery waits", r.somebodyWaits)
		r.recordAll(out, 200, c)
		g.nobody("while it is not known what comes next")
		return nil
	})
	if err := errors.Join(err, <-done); err != nil {
		t.Fatal(err)
	}
	// 4 was answered after the redelivery started, and is recorded when that is done.
	r.until("the answer waits again", func() bool { return out.Dispatcher.Answers() == 1 })
	out.Dispatcher.Record(t.Context())
	for _, id := range []int64{1, 5} {
		next := g.next()
		same(t, "sent next", next.id, id)
		r.recordAll(out, 200, next)
	}
	same(t, "open", r.open(), 0)
}

// somebodyWaits reports whether one transaction waits for another.
func (r *harness) somebodyWaits() bool { return r.waitForLocks() == 1 }

// waitForLocks returns the number of transactions that wait for others.
func (r *harness) waitForLocks() int64 {
	return r.count(`SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`)
}

// An event sent while an earlier one is redelivered is sent again after it, so that no partner is
// left with an old state.
func TestARedeliveryMeetsANewEvent(t *testing.T) {
	if !sqldbtest.Postgres() {
		t.Skip("on SQLite nothing runs side by side")
	}
	r, e, out := licenseOf(t, 2)
	r.write(func(tx *sqldb.Tx) {
		tx.Queue(`INSERT INTO partner_counters (partner_id, turns, licenses, events, clock) VALUES (1, 0, 0, 0, 0)`)
	})
	r.step(out)
	e.taken()
	r.run(out)
	done := make(chan error, 1)
	err := patient(r).Write(t.Context(), func(other *sqldb.Tx) error {
		// The last write of a redelivery, so that it is not done before the event is sent.
		if _, err := other.Exec(t.Context(), `INSERT INTO redelivered (event_id) VALUES (1)`); err != nil {
			return err
		}
		err := out.DB.Write(t.Context(), func(tx *sqldb.Tx) error {
			insertEvent(tx, out.Outbox, notice(3, 1, 1, r.clock.now()))
			// A writer of an event holds the partner's counters.
			if _, err := tx.Exec(t.Context(), `UPDATE partner_counters SET turns = turns + 1`); err != nil {
				return err
			}
			go func() { done <- out.Redeliver(t.Context(), tester, 1, 1) }()
			r.until("the redelivery waits", r.somebodyWaits)
			return nil
		})
		r.until("the new event is sent", func() bool { return slices.Contains(e.list(), 3) })
		return err
	})
	if err := errors.Join(err, <-done); err != nil {
		t.Fatal(err)
	}
	r.settle(out)
	same(t, "got", e.taken(), []int64{3, 1, 3})
}
