package webhook_test

import (
	"fmt"
	"testing"

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
