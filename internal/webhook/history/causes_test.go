package history_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"claviger/internal/diagnose"
	"claviger/internal/sqldb"
	"claviger/internal/webhook"
	"claviger/internal/webhook/history"
	"claviger/internal/webhook/webhooktest"
)

// failed adds failed deliveries of partner 1 to the outbox of mixed, a minute apart, from event 11
// on. Each has one attempt a day later with the given result.
func failed(t *testing.T, o *webhook.Outbox, met ...string) {
	t.Helper()
	webhooktest.Write(t, o, func(tx *sqldb.Tx) {
		for i, body := range met {
			id := int64(11 + i)
			at := webhooktest.Start.Add(time.Duration(id) * time.Minute)
			o.Enqueue(tx, notice(id, 1, id, at))
			tx.Queue(`UPDATE outbox SET attempts = 1 WHERE event_id = $1`, id)
			status := 0
			if body == "401" {
				status = 401
			}
			tx.Queue(`INSERT INTO webhook_responses (event_id, request_header, response_status, response_body, response_time, url, success, diagnosis, created_at, updated_at)
				VALUES ($1, '', $2, $3, 12, '', $4, $5, $6, $6)`, id, status, body, false, "diagnosis of "+body, at.Add(24*time.Hour))
		}
	})
}

// TestCauses: failed deliveries of every state are grouped by the result of their last attempt.
// Equivalent texts are one cause, with the text of the last attempt. Waiting and delivered ones and
// those of other partners do not count.
func TestCauses(t *testing.T) {
	o := mixed(t)
	refused := "the connection was refused by 192.0.2.1"
	silent := "there was no answer within 10s"
	failed(t, o, "401", refused, "401", "there was no answer within 20s", silent)
	got, more, err := read(o).Causes(t.Context(), 1)
	if err != nil || more {
		t.Fatalf("%v, more %v", err, more)
	}
	at := func(minutes int) time.Time { return webhooktest.Start.Add(time.Duration(minutes) * time.Minute) }
	day := 24 * 60
	cause := func(status int, cause diagnose.Cause, text string, n, oldest, newest int) history.Cause {
		return history.Cause{Status: status, Cause: cause, Text: text, Deliveries: n, Oldest: at(oldest), Newest: at(newest), LastAt: at(0)}
	}
	unauthorized := cause(401, "", "", 3, 4, 13)
	unauthorized.Diagnosis, unauthorized.LastAt = "diagnosis of 401", at(day+13)
	none := cause(0, diagnose.CauseRefused, refused, 2, 7, 12)
	none.Diagnosis, none.LastAt = "diagnosis of "+refused, at(day+12)
	late := cause(0, diagnose.CauseTimeout, silent, 2, 14, 15)
	late.Diagnosis, late.LastAt = "diagnosis of "+silent, at(day+15)
	want := []history.Cause{unauthorized, late, none, cause(422, "", "", 1, 6, 6), cause(500, "", "", 1, 3, 3)}
	if diff := cmp.Diff(want, got, cmpopts.IgnoreUnexported(history.Cause{})); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	if got, _, err := read(o).Causes(t.Context(), 3); err != nil || len(got) != 0 {
		t.Errorf("nothing failed: %v, %v", got, err)
	}
}

// TestCausesAreBounded: only the newest are examined, and more is set.
func TestCausesAreBounded(t *testing.T) {
	o := mixed(t)
	met := make([]string, history.MaxCauses)
	for i := range met {
		met[i] = "401"
	}
	failed(t, o, met...)
	got, more, err := read(o).Causes(t.Context(), 1)
	if err != nil || !more || len(got) != 1 || got[0].Deliveries != history.MaxCauses {
		t.Errorf("%+v, more %v, %v", got, more, err)
	}
}

// causesPlan: indexes find the newest failures and no other rows are read, however many failed.
func causesPlan(t *testing.T, o *webhook.Outbox) {
	t.Helper()
	wantIndexes(t, o, "causes", []history.Statement{history.StatementOfCauses(51)}, []string{"outbox_failing", "outbox_given_up", "webhook_responses_event"})
}
