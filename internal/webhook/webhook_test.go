package webhook_test

import (
	"fmt"
	"testing"
	"time"

	"go.uber.org/goleak"

	"claviger/internal/audit"
	"claviger/internal/sqldb"
	"claviger/internal/webhook"
	"claviger/internal/webhook/webhooktest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var tester = audit.System("test")

// The fixtures, by short names.
var (
	start   = webhooktest.Start
	box     = webhooktest.Box
	write   = webhooktest.Write
	respond = webhooktest.Respond
)

// settle sets the states of the four deliveries: 1 pending, 2 delivered, 3 exhausted.
func settle(t *testing.T, o *webhook.Outbox, states ...int) {
	t.Helper()
	write(t, o, func(tx *sqldb.Tx) {
		for i, s := range states {
			tx.Queue(`UPDATE outbox SET state = $2, attempts = 5 WHERE event_id = $1`, i+1, s)
			tx.Queue(`DELETE FROM outbox WHERE state = 2`)
		}
	})
}

// due returns the pending events with their attempts.
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

// TestTheFirstEventIsWrittenAsAnyOther: another statement inserts its row.
func TestTheFirstEventIsWrittenAsAnyOther(t *testing.T) {
	o := box(t)
	write(t, o, func(tx *sqldb.Tx) {
		tx.Queue(`DELETE FROM outbox`)
		o.Enqueue(tx,
			webhook.Notice{EventID: 5, PartnerID: 1, LicenseID: 1, CreatedAt: start, First: true},
			webhook.Notice{EventID: 6, PartnerID: 1, LicenseID: 2, CreatedAt: start})
	})
	type row struct {
		Partner, State, Attempts, Uncounted, Refusals, Generation int64
		Due, NotBefore, RefusedSince, Created, Updated            time.Time
		RefusedAlone                                              bool
	}
	rows, err := sqldb.All(t.Context(), o.DB, func(r *sqldb.Row, v *row) error {
		return r.Scan(&v.Partner, &v.State, &v.Attempts, &v.Uncounted, &v.Refusals, &v.Generation, &v.Due, &v.NotBefore, &v.RefusedSince, &v.Created, &v.Updated, &v.RefusedAlone)
	}, `SELECT partner_id, state, attempts, uncounted, refusals, generation, due_at, not_before, refused_since, created_at, updated_at, refused_alone FROM outbox ORDER BY event_id`)
	if err != nil {
		t.Fatal(err)
	}
	want := row{Partner: 1, State: int64(webhook.Pending), Due: o.Now(), Created: start, Updated: start}
	webhooktest.Same(t, "rows", rows, []row{want, want})
}
