package redelivery_test

import (
	"testing"
	"time"

	"claviger/internal/redelivery"
	"claviger/internal/sqldb"
	"claviger/internal/webhook/history"
)

// refuse makes the partner refuse events now; they are due again in two days.
func (h *harness) refuse(ids ...int64) {
	h.Helper()
	h.write(func(tx *sqldb.Tx) {
		tx.Queue(`INSERT INTO webhook_responses (event_id, request_header, response_status, response_body, response_time, url, success, created_at, updated_at, generation)
			SELECT event_id, '', 500, '', 3, '', $2, $3, $3, generation FROM outbox WHERE event_id = ANY($1)`, ids, false, h.now)
		tx.Queue(`UPDATE outbox SET attempts = attempts + 1, due_at = $2 WHERE event_id = ANY($1)`, ids, h.now.Add(48*time.Hour))
	})
}

func (h *harness) wantOutcome(j redelivery.Job, want history.Outcome, wantKnown bool) {
	h.Helper()
	if got, known, err := h.jobs.Outcome(h.Context(), j); err != nil || got != want || known != wantKnown {
		h.Errorf("got %+v, known %t, %v; want %+v, known %t", got, known, err, want, wantKnown)
	}
}

// TestOutcome: a job reports the results of its own sends only.
func TestOutcome(t *testing.T) {
	h := newHarness(t)
	h.partner(1, 1, 50)
	h.partner(2, 101, 50)
	h.exhaust(10, 20, 30, 40, 110)
	j := h.begin(tester, 1, history.Filter{State: history.Failed}, redelivery.DefaultRate)
	h.begin(tester, 2, history.Filter{State: history.Failed}, redelivery.DefaultRate)
	h.wantOutcome(j, history.Outcome{Waiting: 4}, true)
	h.now = h.now.Add(time.Second)
	h.refuse(10, 20, 30, 110)
	h.deliver(40)
	h.wantOutcome(j, history.Outcome{Taken: 1, Failed: 3}, true)
	h.now = h.now.Add(time.Hour)
	h.deliver(30) // by the schedule
	h.wantOutcome(j, history.Outcome{Taken: 2, Failed: 2}, true)
	h.begin(tester, 1, history.Filter{State: history.Failed}, redelivery.DefaultRate)
	h.deliver(10, 20) // by the second job
	h.wantOutcome(j, history.Outcome{Taken: 2, Failed: 2}, true)
	h.wantOutcome(h.last(1), history.Outcome{Taken: 2}, true)
	h.write(func(tx *sqldb.Tx) { tx.Queue(`DELETE FROM manual_sends WHERE event_id = 10`) }) // pruned
	h.wantOutcome(j, history.Outcome{Taken: 2, Failed: 1}, false)
}
