package redelivery_test

import (
	"testing"
	"time"

	"claviger/internal/redelivery"
	"claviger/internal/sqldb"
	"claviger/internal/webhook/history"
)

// deliver makes the partner accept events now.
func (h *harness) deliver(ids ...int64) {
	h.Helper()
	h.write(func(tx *sqldb.Tx) {
		tx.Queue(`INSERT INTO webhook_responses (event_id, request_header, response_status, response_body, response_time, url, success, created_at, updated_at, generation)
			SELECT event_id, '', 200, '', 3, '', $2, $3, $3, generation FROM outbox WHERE event_id = ANY($1)`, ids, true, h.now)
		tx.Queue(`DELETE FROM outbox WHERE event_id = ANY($1)`, ids)
	})
}

// TestSkipped: events that failed at the start of the job and were delivered since are counted and
// not sent; those delivered before the start do not count.
func TestSkipped(t *testing.T) {
	h := newHarness(t)
	h.partner(1, 1, 50)
	h.exhaust(10, 20, 30, 40)
	h.deliver(20)
	h.now = h.now.Add(time.Minute)
	j := h.begin(tester, 1, history.Filter{State: history.Failed}, 1)
	if j.Count != 1 || j.Expected != 3 {
		t.Fatalf("got %+v", j)
	}
	h.now = h.now.Add(time.Second)
	h.deliver(40)
	for j.Open() {
		h.once()
		h.now = h.now.Add(time.Second)
		j = h.last(1)
	}
	if j.Count != 2 || j.Skipped != 1 || j.Status() != redelivery.Done || h.open() != 2 {
		t.Errorf("got %+v", j)
	}
}

// TestNotSentAndSkipped: an event that the job sent as the newest of a license is not counted as
// skipped at its turn.
func TestNotSentAndSkipped(t *testing.T) {
	h := newHarness(t)
	h.partner(1, 1, 50)
	h.write(func(tx *sqldb.Tx) { tx.Queue(`UPDATE deliveries SET license_id = 10 WHERE event_id = 20`) })
	h.exhaust(10, 20)
	j := h.begin(tester, 1, history.Filter{State: history.Failed}, 1)
	h.deliver(10, 20)
	for j.Open() {
		h.now = h.now.Add(time.Second)
		h.once()
		j = h.last(1)
	}
	if j.Expected != 2 || j.Count != 2 || j.Skipped != 0 {
		t.Errorf("got %+v", j)
	}
}
