package dispatch_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"claviger/internal/sqldb"
)

// count queries a number.
func (r *harness) count(sql string, args ...any) int64 {
	r.Helper()
	n, err := sqldb.One(context.Background(), r.db, sqldb.Value[int64], sql, args...)
	if err != nil {
		r.Fatal(err)
	}
	return n
}

// open returns the number of pending deliveries.
func (r *harness) open() int64 {
	r.Helper()
	return r.count(`SELECT count(*) FROM outbox WHERE state = 1`)
}

// list queries texts.
func (r *harness) list(scan func(*sqldb.Row, *string) error, sql string) []string {
	r.Helper()
	list, err := sqldb.All(context.Background(), r.db, scan, sql)
	if err != nil {
		r.Fatal(err)
	}
	return list
}

// states returns the state of each delivery with the number of attempts: since it was queued, or in
// total if it is delivered.
func (r *harness) states() []string {
	r.Helper()
	return r.list(func(row *sqldb.Row, s *string) error {
		var id, state, attempts int
		err := row.Scan(&id, &state, &attempts)
		*s = fmt.Sprintf("%d %s after %d", id, []string{"", "pending", "delivered", "exhausted", "superseded"}[state], attempts)
		return err
	}, `SELECT d.event_id, coalesce(o.state, 2), coalesce(o.attempts, (SELECT count(*) FROM webhook_responses AS r WHERE r.event_id = d.event_id))
		FROM deliveries AS d LEFT JOIN outbox AS o ON o.event_id = d.event_id ORDER BY d.event_id`)
}

// waits returns the remaining wait of each pending delivery by the harness's clock.
func (r *harness) waits() []string {
	r.Helper()
	return r.list(func(row *sqldb.Row, s *string) error {
		var id int
		var due time.Time
		err := row.Scan(&id, &due)
		*s = fmt.Sprintf("%d in %v", id, max(due.Sub(r.clock.now()), 0))
		return err
	}, `SELECT event_id, due_at FROM outbox WHERE state = 1 ORDER BY event_id`)
}

// record returns the result of each attempt, in order.
func (r *harness) record() []string {
	r.Helper()
	return r.list(func(row *sqldb.Row, s *string) error {
		var id, status int
		var success bool
		err := row.Scan(&id, &status, &success)
		*s = fmt.Sprintf("%d: %d %v", id, status, success)
		return err
	}, `SELECT event_id, response_status, success FROM webhook_responses ORDER BY id`)
}

func same[T any](t testing.TB, what string, got, want T) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s (-want +got)\n%s", what, diff)
	}
}

// got returns the event id of a request.
func got(t testing.TB, req *http.Request) int64 {
	var b struct {
		EventID int64 `json:"event_id"`
	}
	if err := json.NewDecoder(req.Body).Decode(&b); err != nil {
		t.Error(err)
	}
	return b.EventID
}
