package webhook_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"claviger/internal/audit"
	"claviger/internal/paging"
	"claviger/internal/sqldb"
	"claviger/internal/sqldb/sqldbtest"
	"claviger/internal/webhook"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var (
	tester = audit.System("test")
	start  = time.Date(2026, 11, 15, 0, 0, 0, 0, time.UTC)
)

// box is an outbox with three events of license 1 (ids 1 to 3) and one of
// license 2 (id 4), an hour apart, all of partner 1.
func box(t *testing.T) *webhook.Outbox {
	t.Helper()
	o := &webhook.Outbox{DB: sqldbtest.Open(t), Now: func() time.Time { return start.Add(24 * time.Hour) }}
	write(t, o, func(tx *sqldb.Tx) {
		tx.Queue(`INSERT INTO partners (id, name, brand, client_id, strict, single_key, created_at, updated_at)
			VALUES (1, '', '', '', $1, $1, 0, 0)`, false)
		for id := range 2 {
			tx.Queue(`INSERT INTO licenses (id, partner_id, ord, license_key, redemption_id, status, tier, owner_id, redeemed, released, held,
				erased, epoch, event_ms, created_at, updated_at) VALUES ($1, 1, $1, $2, $2, 1, 1, 0, $3, $3, 0, $3, 0, 0, 0, 0)`,
				id+1, fmt.Sprint("key", id+1), false)
		}
		for i, license := range []int{1, 1, 1, 2} {
			at := start.Add(time.Duration(i) * time.Hour)
			tx.Queue(`INSERT INTO events (id, partner_id, ord, license_id, license_key, kind, tier, previous_tier, reason, event_ms, status, created_at)
				VALUES ($1, 1, $1, $2, '', 1, 1, 0, '', 0, 1, $3)`, i+1, license, at)
			o.Enqueue(tx, webhook.Notice{EventID: int64(i + 1), PartnerID: 1, LicenseID: int64(license), CreatedAt: at})
		}
	})
	return o
}

func write(t *testing.T, o *webhook.Outbox, fn func(tx *sqldb.Tx)) {
	t.Helper()
	if err := o.DB.Write(t.Context(), func(tx *sqldb.Tx) error { fn(tx); return nil }); err != nil {
		t.Fatal(err)
	}
}

func same[T any](t testing.TB, what string, got, want T) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s (-want +got)\n%s", what, diff)
	}
}

var pageOne = paging.First()

// settle sets the states of the four deliveries: 1 pending, 2 delivered, 3
// exhausted.
func settle(t *testing.T, o *webhook.Outbox, states ...int) {
	t.Helper()
	write(t, o, func(tx *sqldb.Tx) {
		for i, s := range states {
			tx.Queue(`UPDATE outbox SET state = $2, attempts = 5 WHERE event_id = $1`, i+1, s)
			tx.Queue(`DELETE FROM outbox WHERE state = 2`)
		}
	})
}

// due is the events that are pending, with the attempts they had.
func due(t *testing.T, o *webhook.Outbox) []string {
	t.Helper()
	got, err := sqldb.All(t.Context(), o.DB, func(r *sqldb.Row, s *string) error {
		var id, attempts int
		err := r.Scan(&id, &attempts)
		*s = fmt.Sprintf("%d after %d", id, attempts)
		return err
	}, `SELECT event_id, attempts FROM outbox WHERE state = 1 ORDER BY event_id`)
	if err != nil {
		t.Fatal(err)
	}
	return got
}

func TestStats(t *testing.T) {
	o := box(t)
	settle(t, o, 1, 2, 2, 3)
	got, err := o.Stats(t.Context())
	if want := (webhook.Stats{Pending: 1, Delivered: 2, Exhausted: 1}); err != nil || got != want {
		t.Errorf("got %+v, %v, want %+v", got, err, want)
	}
}

// respond records n attempts for an event, every third a success.
func respond(t *testing.T, o *webhook.Outbox, event, n int) {
	t.Helper()
	write(t, o, func(tx *sqldb.Tx) {
		for i := range n {
			tx.Queue(`INSERT INTO webhook_responses (event_id, request_header, response_status, response_body, response_time,
				url, success, created_at, updated_at) VALUES ($1, '', $2, '', 0, '', $3, 0, 0)`, event, i, i%3 == 0)
		}
	})
}

func statuses(list []webhook.Response) []int {
	out := []int{}
	for _, r := range list {
		out = append(out, r.ResponseStatus)
	}
	return out
}

func TestResponsesOfEvents(t *testing.T) {
	o := box(t)
	respond(t, o, 1, 12)
	respond(t, o, 3, 2)
	err := o.DB.Read(t.Context(), func(tx *sqldb.Tx) error {
		got, err := webhook.OfEvents(t.Context(), tx, []int64{1, 2, 3})
		if diff := cmp.Diff([]int{11, 10, 9, 8, 7, 6, 5, 4, 3, 2}, statuses(got[1])); diff != "" {
			t.Errorf("the newest ten (-want +got)\n%s", diff)
		}
		if len(got[2]) != 0 || len(got[3]) != 2 {
			t.Errorf("got %d of event 2 and %d of event 3", len(got[2]), len(got[3]))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestResponsesOfALicense(t *testing.T) {
	o := box(t)
	respond(t, o, 1, 7)
	respond(t, o, 4, 3)
	yes, no := true, false
	for name, c := range map[string]struct {
		success *bool
		page    paging.Page
		want    []int
		total   int64
		more    bool
	}{
		"newest first": {nil, paging.Page{Number: 1, Limit: 3}, []int{6, 5, 4}, 7, true},
		"oldest first": {nil, paging.Page{Number: 3, Limit: 3, Order: paging.OldestFirst}, []int{6}, 7, false},
		"past the end": {nil, paging.Page{Number: 9, Limit: 3}, []int{}, 7, false},
		"successes":    {&yes, paging.Page{Number: 1, Limit: 3}, []int{6, 3, 0}, -1, false},
		"failures":     {&no, paging.Page{Number: 1, Limit: 3}, []int{5, 4, 2}, -1, true},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := o.Responses(t.Context(), 1, c.success, c.page)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, statuses(got.Responses)); diff != "" || got.Total != c.total || got.More != c.more {
				t.Errorf("total %d, more %v (-want +got)\n%s", got.Total, got.More, diff)
			}
		})
	}
}
