package replay_test

import (
	"testing"
	"time"

	"claviger/internal/replay"
	"claviger/internal/sqldb"
	"claviger/internal/webhook/history"
)

// deliver has the partner take events now.
func (h *harness) deliver(ids ...int64) {
	h.Helper()
	h.write(func(tx *sqldb.Tx) {
		tx.Queue(`INSERT INTO webhook_responses (event_id, request_header, response_status, response_body, response_time, url, success, created_at, updated_at, generation)
			SELECT event_id, '', 200, '', 3, '', $2, $3, $3, generation FROM outbox WHERE event_id = ANY($1)`, ids, true, h.now)
		tx.Queue(`DELETE FROM outbox WHERE event_id = ANY($1)`, ids)
	})
}

// TestSkipped: what failed when the job began and was delivered since is not sent, and
// counted; what was delivered before it began is none of its business.
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
	if j.Count != 2 || j.Skipped != 1 || j.Status() != replay.Done || h.open() != 2 {
		t.Errorf("got %+v", j)
	}
}

// TestNotSentAndSkipped: what the job had sent as the newest event of a license is not
// counted as skipped when its turn comes.
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
