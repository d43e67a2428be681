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

// count asks the database for a number.
func (r *harness) count(sql string, args ...any) int64 {
	r.Helper()
	n, err := sqldb.One(context.Background(), r.db, sqldb.Value[int64], sql, args...)
	if err != nil {
		r.Fatal(err)
	}
	return n
}

// open is how many deliveries are not settled.
func (r *harness) open() int64 {
	r.Helper()
	return r.count(`SELECT count(*) FROM outbox WHERE state = 1`)
}

// list asks the database for texts.
func (r *harness) list(scan func(*sqldb.Row, *string) error, sql string) []string {
	r.Helper()
	list, err := sqldb.All(context.Background(), r.db, scan, sql)
	if err != nil {
		r.Fatal(err)
	}
	return list
}

// states is where each delivery stands, and after how many attempts since it was
// opened, or in all when it is delivered.
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

// waits is when each pending delivery is due, from the harness's time on.
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

// record is what came of each attempt, in order.
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

// got is the event id that a request tells of.
func got(t testing.TB, req *http.Request) int64 {
	var b struct {
		EventID int64 `json:"event_id"`
	}
	if err := json.NewDecoder(req.Body).Decode(&b); err != nil {
		t.Error(err)
	}
	return b.EventID
}
