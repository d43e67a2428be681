package dispatch_test

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"claviger/internal/dispatch"
	"claviger/internal/sqldb"
	"claviger/internal/sqldb/sqldbtest"
)

// Answers wait a moment for others if more are expected, many requests are in flight, or several
// were just recorded, unless there are already many. A single answer, also after another single
// one, does not wait.
func TestAnswersWaitForOneAnother(t *testing.T) {
	const moment = 5 * time.Millisecond
	for name, c := range map[string]struct {
		inFlight, answers, batch int
		waits                    time.Duration
		expected                 int
		each                     time.Duration // interval between those
		before                   int           // answers in the last batch
	}{
		"few requests":             {15, 1, 1, 0, 0, 0, 0},
		"many requests":            {16, 1, 1, moment, 0, 0, 0},
		"not yet many answers":     {16, 383, 383, moment, 0, 0, 0},
		"many answers":             {16, 384, 384, 0, 0, 0, 0},
		"no answer":                {16, 0, 0, 0, 0, 0, 0},
		"as many as fit":           {16, 1024, 1024, 0, 0, 0, 0},
		"more than fit into batch": {16, 1025, 1024, 0, 0, 0, 0},
		"until one is there":       {1, 1, 2, time.Millisecond, 1, time.Millisecond, 0},
		"until all are there":      {1, 1, 4, 3 * time.Millisecond, 3, time.Millisecond, 0},
		"until many are there":     {99, 378, 384, 6 * time.Microsecond, 99, time.Microsecond, 0},
		"and no longer":            {9, 1, 3, moment, 9, 2 * time.Millisecond, 0},
		"those that keep coming":   {16, 1, 4, moment, 3, time.Millisecond, 0},
		"behind one":               {1, 1, 1, 0, 0, 0, 1},
		"behind several":           {1, 1, 1, 9 * time.Millisecond, 0, 0, 2},
		"many behind several":      {1, 384, 384, 0, 0, 0, 8},
		"more behind several":      {1, 1, 5, 9 * time.Millisecond, 5, 2 * time.Millisecond, 8},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				batch, left, waited := dispatch.Gather(t.Context(), c.before, c.inFlight, c.answers, c.expected, c.each)
				same(t, "batch", batch, c.batch)
				same(t, "left", left, c.answers+c.expected-c.batch)
				same(t, "waited", waited, c.waits)
			})
		})
	}
}

// Answers do not wait when the dispatcher ends.
func TestAnswersDoNotWaitAtTheEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		defer cancel()
		batch, _, waited := dispatch.Gather(ctx, 0, 16, 1, 0, 0)
		same(t, "batch", batch, 1)
		same(t, "waited", waited, time.Millisecond)
	})
}

// Answers with an endpoint locked elsewhere keep their requests, are neither passed on nor logged,
// and are retried a moment later. The others are finished.
func TestLockedAnswersWaitAMoment(t *testing.T) {
	const moment = 10 * time.Millisecond
	url := sqldbtest.URL(t)
	for name, c := range map[string]struct {
		locked      []bool
		given, told int
		after       time.Duration
		again       []int64
	}{
		"none":    {[]bool{false, false}, 2, 2, time.Hour, nil},
		"one":     {[]bool{false, true, false}, 2, 2, moment, []int64{2}},
		"several": {[]bool{true, false, true}, 1, 1, moment, []int64{1, 3}},
		"all":     {[]bool{true}, 0, 0, moment, []int64{1}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r, log := harnessAt(t, url), &journal{}
				given, told, after, again := r.node(settings{log: log}).Dispatcher.Finish(t.Context(), c.locked...)
				same(t, "given back", given, c.given)
				same(t, "told", told, c.told)
				same(t, "logged", len(log.lines(`msg="webhook attempt"`)), c.told)
				same(t, "after", after, c.after)
				same(t, "again", again, c.again)
			})
		})
	}
}

// If it is unknown whether an answer is stored, it is looked up before it is written again.
func TestARetriedRecordLooksForTheAttempt(t *testing.T) {
	r, g := steppedHarness(t), newGate(t)
	r.partner(1, g.ServeHTTP)
	r.license(1, 1)
	r.event(r.out, 1)
	r.write(func(tx *sqldb.Tx) { // as if the answer were stored; the first try fails on it
		tx.Queue(`INSERT INTO webhook_responses (event_id, request_header, response_status, response_body, response_time, url, success, created_at, updated_at)
			VALUES (1, '', 200, '', 0, '', TRUE, $1, 0)`, start)
		tx.Queue(`CREATE UNIQUE INDEX once ON webhook_responses (event_id, response_body)`)
	})
	out := r.manual(settings{})
	r.recordAll(out, 200, g.next())
	same(t, "states", r.states(), []string{"1 delivered after 1"})
}

// An answer recorded in halves because of another faulty one is looked up, too.
func TestHalvesLookForTheAttempt(t *testing.T) {
	for name, recorded := range map[string]int64{"the first half": 1, "the second half": 2} {
		t.Run(name, func(t *testing.T) {
			r, g := steppedHarness(t), newGate(t)
			r.partner(1, g.ServeHTTP)
			r.license(1, 1, 2)
			r.event(r.out, 1)
			r.event(r.out, 2)
			const there = `INSERT INTO webhook_responses (event_id, request_header, response_status, response_body, response_time, url, success, created_at, updated_at)
				VALUES ($1, '', 200, '', 0, '', TRUE, $2, 0)`
			r.write(func(tx *sqldb.Tx) {
				tx.Queue(there, recorded, start)
				tx.Queue(there, 3-recorded, start.Add(-time.Hour)) // conflicts with the other answer
				tx.Queue(fmt.Sprintf(`CREATE UNIQUE INDEX once ON webhook_responses (event_id, response_body) WHERE event_id = %d`, 3-recorded))
			})
			out := r.manual(settings{})
			callers := g.callers(2)
			slices.SortFunc(callers, func(a, b *caller) int { return int(a.id - b.id) })
			r.recordAll(out, 200, callers...)
			same(t, "attempts", r.count(`SELECT count(*) FROM webhook_responses WHERE event_id = $1`, recorded), 1)
			same(t, "open", r.open(), 0)
		})
	}
}

// Answers are expected from an endpoint that is known to answer within a moment and does not fail,
// until they arrive or are cut off.
func TestAnswersThatAreExpected(t *testing.T) {
	for best, want := range map[time.Duration]bool{0: false, 1: true, 5 * time.Millisecond: true, 5*time.Millisecond + 1: false} {
		same(t, best.String(), dispatch.AnswersSoon(best), want)
	}
	r, g := newHarness(t), newGate(t)
	r.partner(1, g.ServeHTTP)
	out, stop := r.running(settings{schedule: hourly, times: hasty})
	next := func(license int64) *caller { r.sell(out, license); return g.next() }
	c := next(1)
	same(t, "expected of one that is not known", out.Dispatcher.Expected(), 0)
	license := int64(1)
	expects := func() bool { // once one arrived quickly
		r.finish(200, c)
		license++
		c = next(license)
		return out.Dispatcher.Expected() == 1
	}
	r.until("one is expected", expects)
	r.finish(500, c)
	c = next(license + 1)
	same(t, "expected of one that fails", out.Dispatcher.Expected(), 0)
	license++
	r.until("one is expected", expects)
	stop()
	same(t, "expected at the end", out.Dispatcher.Expected(), 0)
}
