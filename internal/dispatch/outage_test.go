package dispatch_test

import (
	"testing"
	"time"

	"claviger/internal/sqldb"
	"claviger/internal/webhook"
)

// outages lists the partner's outages: cause, open or over, and deliveries given up.
func (r *harness) outages() []string {
	r.Helper()
	return r.list(func(row *sqldb.Row, s *string) error { return row.Scan(s) },
		`SELECT cause || CASE WHEN closed_at = 0 THEN ', open, ' ELSE ', over, ' END || CAST(exhausted AS text) FROM outages ORDER BY id`)
}

// The first failure opens an outage with its cause, and a success ends it.
func TestFailuresAreAnOutage(t *testing.T) {
	r, g := steppedHarness(t), newGate(t)
	r.partner(1, g.ServeHTTP)
	r.license(1, 1, 2, 3)
	for id := range int64(3) {
		r.event(r.out, id+1)
	}
	out := r.manual(settings{schedule: hourly})
	callers := g.callers(3)
	answer(500, callers[0])
	r.until("answered", func() bool { return out.Dispatcher.Answers() == 1 })
	answer(404, callers[1])
	r.until("answered", func() bool { return out.Dispatcher.Answers() == 2 })
	out.Dispatcher.Record(t.Context())
	same(t, "outages", r.outages(), []string{"it answered 500 Internal Server Error, open, 0"})
	r.recordAll(out, 200, callers[2])
	same(t, "outages", r.outages(), []string{"it answered 500 Internal Server Error, over, 0"})
}

// Given-up deliveries count even if the endpoint accepts others.
func TestWhatIsGivenUpCounts(t *testing.T) {
	r, g := steppedHarness(t), newGate(t)
	r.partner(1, g.ServeHTTP)
	r.license(1, 1, 2, 3)
	for id := range int64(3) {
		r.event(r.out, id+1)
	}
	out := r.manual(settings{schedule: webhook.Schedule{}})
	callers := g.callers(3)
	for i, status := range []int{500, 500, 200} {
		answer(status, callers[i])
		r.until("answered", func() bool { return out.Dispatcher.Answers() == i+1 })
	}
	out.Dispatcher.Record(t.Context())
	same(t, "given up", r.count(`SELECT sum(exhausted) FROM outages`), 2)
	same(t, "open", r.count(`SELECT count(*) FROM outages WHERE closed_at = 0`), 0)
}

// For a healthy endpoint, an outage opened elsewhere is checked for every ten seconds.
func TestAnOutageOfAnEndpointThatIsWell(t *testing.T) {
	r, g := steppedHarness(t), newGate(t)
	r.partner(1, g.ServeHTTP)
	r.license(1, 1)
	out := r.manual(settings{})
	send := func() {
		t.Helper()
		r.event(out, 1)
		r.recordAll(out, 200, g.next())
	}
	send()
	r.write(func(tx *sqldb.Tx) {
		tx.Queue(`INSERT INTO outages (partner_id, opened_at, cause, told_at, tellings, exhausted, exhausted_told, exhausted_told_at, closed_at, settled_at)
			VALUES (1, $1, 'x', 0, 0, 0, 0, 0, 0, 0)`, start)
	})
	r.clock.step(9 * time.Second)
	send()
	same(t, "outages", r.outages(), []string{"x, open, 0"})
	r.clock.step(2 * time.Second)
	send()
	same(t, "outages", r.outages(), []string{"x, over, 0"})
}
