package dispatch_test

import (
	"testing"
	"time"

	"claviger/internal/sqldb"
)

// The answer of an old URL updates the delivery, and does not count for the new URL.
func TestTheAnswerOfAnOldURL(t *testing.T) {
	for name, status := range map[string]int{"a failure": 500, "that it is gone": 410} {
		t.Run(name, func(t *testing.T) {
			r, g := steppedHarness(t), newGate(t)
			r.partner(1, g.ServeHTTP)
			r.license(1, 1)
			r.event(r.out, 1)
			out := r.manual(settings{schedule: hourly})
			c := g.next()
			r.write(func(tx *sqldb.Tx) { silent(out.DB, out.Now).Unpark(tx, 1) })
			r.recordAll(out, status, c)
			same(t, "states", r.states(), []string{"1 pending after 1"})
			same(t, "failures", r.count(`SELECT failures FROM endpoints`), 0)
			same(t, "parked", r.parked(1), false)
			same(t, "outages", len(r.outages()), 0)
		})
	}
}

// The answer of a partner removed meanwhile is only stored as an attempt, and does not delay
// others.
func TestTheAnswerOfARemovedPartner(t *testing.T) {
	r, g := steppedHarness(t), newGate(t)
	for p := int64(1); p <= 2; p++ {
		r.partner(p, g.ServeHTTP)
		r.license(p, p)
		r.event(r.out, p)
	}
	out := r.manual(settings{})
	callers := g.callers(2)
	r.write(func(tx *sqldb.Tx) { tx.Queue(`DELETE FROM endpoints WHERE partner_id = 1`) })
	r.recordAll(out, 200, callers...)
	same(t, "states", r.states(), []string{"1 pending after 0", "2 delivered after 1"})
	same(t, "attempts", r.attempts(), 2)
}

// A delivery waits if the endpoint asked for it, even after the event before it is settled.
func TestAFollowerThatIsToWait(t *testing.T) {
	r, g := steppedHarness(t), newGate(t)
	r.partner(1, g.ServeHTTP)
	r.license(1, 1, 2)
	r.event(r.out, 1)
	r.event(r.out, 1)
	r.write(func(tx *sqldb.Tx) {
		tx.Queue(`UPDATE outbox SET due_at = $1, not_before = $2 WHERE event_id = 2`, start.Add(2*time.Hour), start.Add(time.Hour))
	})
	out := r.manual(settings{})
	r.recordAll(out, 200, g.next())
	r.event(out, 2)
	same(t, "sent next", g.next().id, 3)
	g.nobody("before its time")
	same(t, "waits", r.waits(), []string{"2 in 1h0m0s", "3 in 0s"})
}

// Deliveries behind a failed event are delayed with it in the same transaction.
func TestFollowersArePutOffWithTheHead(t *testing.T) {
	r, g := steppedHarness(t), newGate(t)
	r.partner(1, g.ServeHTTP)
	r.license(1, 1, 2)
	r.event(r.out, 1)
	r.event(r.out, 1)
	r.event(r.out, 1)
	r.write(putOff(3, start.Add(5*time.Hour)))
	out := r.manual(settings{schedule: hourly})
	r.recordAll(out, 500, g.next())
	same(t, "waits", r.waits(), []string{"1 in 1h0m0s", "2 in 1h0m0s", "3 in 5h0m0s"})
}

// The first event of a license is sent immediately, and once.
func TestTheFirstEventOfALicense(t *testing.T) {
	r, g := steppedHarness(t), newGate(t)
	r.partner(1, g.ServeHTTP)
	r.license(1, 1)
	out := r.manual(settings{})
	first := notice(1, 1, 1, r.clock.now())
	first.First = true
	r.write(func(tx *sqldb.Tx) { insertEvent(tx, out.Outbox, first) })
	r.recordAll(out, 200, g.next())
	same(t, "states", r.states(), []string{"1 delivered after 1"})
}
