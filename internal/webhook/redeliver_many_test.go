package webhook_test

import (
	"testing"
	"time"

	"claviger/internal/sqldb"
	"claviger/internal/webhook"
	"claviger/internal/webhook/history"
	"claviger/internal/webhook/webhooktest"
)

// redeliverMany resends the matches of a filter and returns the number made due.
func redeliverMany(t *testing.T, o *webhook.Outbox, f history.Filter) int {
	t.Helper()
	n, _, _ := candidates(t, o, f)
	return n
}

// candidates does the same, and also returns the numbers skipped before and meanwhile.
func candidates(t *testing.T, o *webhook.Outbox, f history.Filter) (sent, skipped, meanwhile int) {
	t.Helper()
	err := o.DB.Write(t.Context(), func(tx *sqldb.Tx) error {
		c, err := f.Candidates(t.Context(), tx, 1, history.JobAt{}, 250)
		if err != nil {
			return err
		}
		n, late, err := o.RedeliverMany(t.Context(), tx, webhook.Sender{By: tester}, 1, c.EventIDs, f.OnlyFailures())
		sent, skipped, meanwhile = int(n), int(c.Skipped), int(late)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return sent, skipped, meanwhile
}

func TestRedeliverMany(t *testing.T) {
	for name, c := range map[string]struct {
		from, to time.Duration
		outcome  history.State
		want     []string
	}{
		"all":                          {0, 24 * time.Hour, "", []string{"1 after 0", "2 after 0", "3 after 0", "4 after 0"}},
		"half open":                    {2 * time.Hour, 3 * time.Hour, "", []string{"3 after 0"}},
		"only failures":                {3 * time.Hour, 24 * time.Hour, history.Failed, []string{"4 after 0"}},
		"only delivered":               {0, 24 * time.Hour, history.Delivered, []string{"1 after 0", "3 after 0"}},
		"the newest follows":           {0, time.Hour, "", []string{"1 after 0", "3 after 0"}},
		"the newest follows a failure": {0, 24 * time.Hour, history.Failed, []string{"2 after 0", "3 after 0", "4 after 0"}},
		"nothing to do":                {0, time.Hour, history.Failed, []string{}},
	} {
		t.Run(name, func(t *testing.T) {
			o := box(t)
			settle(t, o, 2, 3, 2, 3)
			n := redeliverMany(t, o, history.Filter{State: c.outcome, From: start.Add(c.from), To: start.Add(c.to)})
			webhooktest.Same(t, "count", n, len(c.want))
			webhooktest.Same(t, "due", due(t, o), c.want)
		})
	}
}

// TestRedeliverManyBringsForward: a waiting retry is due now and keeps its attempts, and so do the events
// before it. Events already due do not change.
func TestRedeliverManyBringsForward(t *testing.T) {
	o := box(t)
	settle(t, o, 2, 1, 1, 1)
	write(t, o, func(tx *sqldb.Tx) {
		tx.Queue(`UPDATE outbox SET due_at = $1 WHERE event_id <> 4`, start.Add(30*time.Hour))
	})
	webhooktest.Same(t, "sent", redeliverMany(t, o, history.Filter{State: history.Failing, From: start.Add(2 * time.Hour)}), 1)
	webhooktest.Same(t, "due", due(t, o), []string{"2 after 5", "3 after 5", "4 after 5"})
	n, err := sqldb.One(t.Context(), o.DB, sqldb.Value[int64], `SELECT count(*) FROM outbox WHERE due_at > $1`, o.Now())
	if err != nil || n != 0 {
		t.Errorf("%d are due later, %v", n, err)
	}
}

// TestRedeliverManySkipsDelivered: failed events that were delivered since are counted and not sent,
// even if delivered after the search.
func TestRedeliverManySkipsDelivered(t *testing.T) {
	o := box(t)
	settle(t, o, 2, 3, 2, 2)
	respond(t, o, 1, 2) // a success and a failure with 1
	respond(t, o, 4, 1) // a success
	sent, skipped, _ := candidates(t, o, history.Filter{State: history.Failed})
	webhooktest.Same(t, "sent with the newest of its license", sent, 2)
	webhooktest.Same(t, "skipped", skipped, 1)
	webhooktest.Same(t, "due", due(t, o), []string{"2 after 0", "3 after 0"})

	settle(t, o, 2, 3, 2, 2)
	write(t, o, func(tx *sqldb.Tx) {
		c, err := history.Filter{State: history.Failed}.Candidates(t.Context(), tx, 1, history.JobAt{}, 250)
		if err != nil || len(c.EventIDs) != 1 {
			t.Fatal(c, err)
		}
		tx.Queue(`DELETE FROM outbox WHERE event_id = 2`)
		n, late, err := o.RedeliverMany(t.Context(), tx, webhook.Sender{By: tester}, 1, c.EventIDs, true)
		if n != 0 || late != 1 || err != nil {
			t.Errorf("delivered meanwhile: sent %d, skipped %d, %v", n, late, err)
		}
	})
}

// TestRedeliverManyKnowsItsPartner: an id of another partner is unknown.
func TestRedeliverManyKnowsItsPartner(t *testing.T) {
	o := box(t)
	settle(t, o, 2, 3, 2, 3)
	write(t, o, func(tx *sqldb.Tx) {
		if n, _, err := o.RedeliverMany(t.Context(), tx, webhook.Sender{By: tester}, 2, []int64{1, 2}, false); n != 0 || err != nil {
			t.Errorf("sent %d, %v", n, err)
		}
	})
	webhooktest.Same(t, "due", due(t, o), []string{})
}
