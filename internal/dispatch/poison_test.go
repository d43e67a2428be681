package dispatch_test

import (
	"strings"
	"sync"
	"testing"
	"time"

	"claviger/internal/dispatch"
	"claviger/internal/sqldb"
)

// journal is a log that can be read while it is written.
type journal struct {
	mu   sync.Mutex
	text strings.Builder
}

func (j *journal) Write(p []byte) (int, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.text.Write(p)
}

// lines returns the log lines that contain all of these texts.
func (j *journal) lines(with ...string) (list []string) {
	j.mu.Lock()
	defer j.mu.Unlock()
	for line := range strings.Lines(j.text.String()) {
		has := true
		for _, text := range with {
			has = has && strings.Contains(line, text)
		}
		if has {
			list = append(list, line)
		}
	}
	return list
}

// manual creates a dispatcher that polls and records only when the test calls for it.
func (r *harness) manual(s settings) *outbox {
	r.Helper()
	s.times = hasty
	if s.now == nil && r.out.Now().Equal(r.clock.now()) {
		s.now = r.clock.now
	}
	out := r.node(s)
	r.runNode(out)
	r.poll(out)
	return out
}

// recordAll answers requests in order and records the answers.
func (r *harness) recordAll(out *outbox, status int, callers ...*caller) {
	r.Helper()
	for i, c := range callers {
		answer(status, c)
		r.until("answered", func() bool { return out.Dispatcher.Answers() == i+1 })
	}
	out.Dispatcher.Record(r.Context())
}

// One answer that the database rejects does not delay others. First it loses its texts, then its
// public record. If it is still rejected, the delivery stays pending and is not sent again before
// the next poll.
func TestAnswersThatTheDatabaseDoesNotTake(t *testing.T) {
	r, g, log := steppedHarness(t), newGate(t), &journal{}
	r.partner(1, g.ServeHTTP)
	for id := range int64(6) {
		r.license(1, id+1)
		r.event(r.out, id+1)
	}
	r.write(func(tx *sqldb.Tx) {
		for _, id := range []int{2, 3} {
			tx.Queue(`INSERT INTO webhook_responses (event_id, request_header, response_status, response_body, response_time, url, success, created_at, updated_at)
				VALUES ($1, '', 0, '', 0, '', FALSE, 0, 0)`, id)
		}
		tx.Queue(`UPDATE outbox SET attempts = 1, due_at = $1 WHERE event_id = 6`, start.Add(24*time.Hour))
		tx.Queue(`CREATE UNIQUE INDEX no_text ON webhook_responses (event_id, response_body) WHERE event_id = 2`)
		tx.Queue(`CREATE UNIQUE INDEX no_attempt ON webhook_responses (event_id) WHERE event_id = 3`)
		tx.Queue(`CREATE UNIQUE INDEX no_move ON outbox (attempts) WHERE attempts = 1 AND event_id IN (4, 6)`)
	})
	out := r.manual(settings{schedule: hourly, log: log})
	r.recordAll(out, 500, g.callers(5)...)
	same(t, "states", r.states(), []string{
		"1 pending after 1", "2 pending after 1", "3 pending after 1", "4 pending after 0", "5 pending after 1", "6 pending after 1",
	})
	texts := r.list(func(row *sqldb.Row, s *string) error { return row.Scan(s) },
		`SELECT CAST(event_id AS text) || ':' || response_body FROM webhook_responses WHERE created_at > 0 ORDER BY event_id`)
	same(t, "attempts", texts, []string{"1:", "2:The answer could not be stored.", "5:"})
	same(t, "errors", len(log.lines("level=ERROR")), 1)
	same(t, "errors of event 4", len(log.lines("level=ERROR", "event_id=4 ")), 1)
	r.until("nothing is in memory", func() bool { return out.Dispatcher.Counts() == dispatch.Counted{} })
	g.nobody("before the next poll")
	r.poll(out)
	same(t, "sent again", g.next().id, 4)
}

// A database outage over many polls logs one line at its start and one at its end.
func TestAnOutageOfTheDatabaseIsOneLine(t *testing.T) {
	r, log := newHarness(t), &journal{}
	var mu sync.Mutex
	polls := 0 // each calls now once, while nothing else runs
	r.running(settings{log: log, now: func() time.Time {
		mu.Lock()
		defer mu.Unlock()
		polls++
		return now()
	}})
	rename := func(from, to string) {
		r.write(func(tx *sqldb.Tx) { tx.Queue(`ALTER TABLE ` + from + ` RENAME TO ` + to) })
	}
	began, over := []string{"webhook trouble; tried", "look for due webhooks"}, []string{"webhook trouble is over", "look for due webhooks"}
	for n := range 2 {
		rename("outbox", "away")
		r.until("it is noticed", func() bool { return len(log.lines(began...)) == n+1 })
		mu.Lock()
		polls = 0
		mu.Unlock()
		r.until("it is tried again", func() bool { mu.Lock(); defer mu.Unlock(); return polls >= 2 })
		rename("away", "outbox")
		r.until("it is over", func() bool { return len(log.lines(over...)) == n+1 })
		same(t, "lines", len(log.lines(began...)), n+1)
	}
	same(t, "errors", len(log.lines("level=ERROR")), 2)
}
