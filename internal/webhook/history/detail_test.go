package history_test

import (
	"fmt"
	"testing"
	"time"

	"claviger/internal/audit"
	"claviger/internal/courier"
	"claviger/internal/fault"
	"claviger/internal/sqldb"
	"claviger/internal/sqldb/sqldbtest"
	"claviger/internal/webhook"
	"claviger/internal/webhook/history"
	"claviger/internal/webhook/webhooktest"
)

// person is a member who sends by hand.
var person = audit.Actor{Kind: audit.ByUser, ID: 7}

// TestExchange: an attempt is found only for its delivery's partner, and links to the previous and
// next ones.
func TestExchange(t *testing.T) {
	o := mixed(t)
	d, last, err := read(o).Exchange(t.Context(), 1, 2, 0)
	if err != nil || last.Number != 2 || last.Status != 200 || last.NextID != 0 || last.PreviousID == 0 || len(d.Tries) != 2 || d.Body == "" {
		t.Fatalf("the last one: %+v of %+v, %v", last, d, err)
	}
	_, first, err := read(o).Exchange(t.Context(), 1, 2, last.PreviousID)
	if err != nil || first.Number != 1 || first.Status != 500 || first.NextID != last.ID || first.PreviousID != 0 {
		t.Errorf("the first one: %+v, %v", first, err)
	}
	if d, e, err := read(o).Exchange(t.Context(), 1, 8, 0); err != nil || e.ID != 0 || d.Earlier != 7 || d.State != history.Waiting {
		t.Errorf("one that was not tried: %+v, %+v, %v", d, e, err)
	}
	for name, c := range map[string]struct{ partner, event, id int64 }{
		"of another partner": {2, 2, 0}, "unknown": {1, 99, 0}, "none": {1, 0, 0}, "negative": {1, -1, 0},
		"attempt of another event": {1, 1, last.ID}, "unknown attempt": {1, 2, 999},
	} {
		if _, _, err := read(o).Exchange(t.Context(), c.partner, c.event, c.id); !fault.Is(err, "unknown_event") && !fault.Is(err, "unknown_attempt") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestTiming: each part of an attempt is read as recorded.
func TestTiming(t *testing.T) {
	o := mixed(t)
	store := &webhook.Store{DB: o.DB, Now: o.Now} // it owns no shard, so only the attempt is recorded
	took := courier.Timing{DNS: 1 * time.Millisecond, Connect: 2 * time.Millisecond, TLS: 3 * time.Millisecond, FirstByte: 4 * time.Millisecond}
	for _, want := range []courier.Timing{took, {FirstByte: time.Microsecond, Reused: true}, {}} {
		a := &webhook.Attempt{Item: &webhook.Item{EventID: 4, PartnerID: 1, LicenseID: 4}, At: o.Now(), Timing: want}
		if _, err := store.Record(t.Context(), []*webhook.Attempt{a}); err != nil {
			t.Fatal(err)
		}
		if _, e, err := read(o).Exchange(t.Context(), 1, 4, 0); err != nil || e.Timing != want || e.Measured != (want != courier.Timing{}) {
			t.Errorf("recorded %+v, read %+v, measured %v, %v", want, e.Timing, e.Measured, err)
		}
	}
}

// TestManualSend: a manually requested attempt names the person and the replaced schedule; the
// retries after it do not.
func TestManualSend(t *testing.T) {
	o := mixed(t)
	if err := o.Redeliver(t.Context(), person, 1, 4); err != nil {
		t.Fatal(err)
	}
	d, err := read(o).Delivery(t.Context(), 1, 4)
	if err != nil || d.Manual.By != person || d.Manual.JobID != 0 || !d.Manual.ScheduledAt.IsZero() {
		// It was due in the past already, so nothing else was scheduled.
		t.Errorf("before it is sent: %+v, %v", d.Manual, err)
	}
	webhooktest.Write(t, o, func(tx *sqldb.Tx) {
		tx.Queue(`UPDATE outbox SET due_at = $1 WHERE event_id = 4`, o.Now().Add(time.Hour))
	})
	o.Now = func() time.Time { return webhooktest.Start.Add(25 * time.Hour).Add(-time.Minute) }
	if err := o.Redeliver(t.Context(), person, 1, 4); err != nil {
		t.Fatal(err)
	}
	scheduled := webhooktest.Start.Add(25 * time.Hour)
	webhooktest.Write(t, o, func(tx *sqldb.Tx) {
		for range 2 {
			tx.Queue(`INSERT INTO webhook_responses (event_id, request_header, response_status, response_body, response_time, url, success, diagnosis, created_at, updated_at, generation)
				VALUES (4, '', 500, '', 1, '', $1, '', $2, $2, (SELECT generation FROM outbox WHERE event_id = 4))`, false, o.Now())
		}
	})
	d, err = read(o).Delivery(t.Context(), 1, 4)
	if err != nil || len(d.Tries) != 3 || !d.Manual.IsZero() {
		t.Fatalf("after it was sent: %+v, %v", d, err)
	}
	if m := d.Tries[1].Manual; m.By != person || !m.ScheduledAt.Equal(scheduled) || !d.Tries[0].Manual.IsZero() || !d.Tries[2].Manual.IsZero() {
		t.Errorf("the attempts: %+v", d.Tries)
	}
}

// TestNewAttempts: pages get the attempts of their partners after an id.
func TestNewAttempts(t *testing.T) {
	o := mixed(t)
	list, upTo, lost, err := read(o).AttemptsAfter(t.Context(), []int64{1}, 0, 100)
	if err != nil || lost || len(list) != 11 || upTo != 12 {
		t.Fatalf("%d attempts up to %d, %v, %v", len(list), upTo, lost, err)
	}
	if f := list[0]; f.EventID != 1 || f.PartnerID != 1 || f.State != history.Delivered || f.Last.Status != 200 {
		t.Errorf("the first: %+v", f)
	}
	for name, c := range map[string]struct {
		after  int64
		filter history.Filter
		want   string
	}{
		"failing":    {0, history.Filter{State: history.Failing}, "[4 7 7]"},
		"no answer":  {0, history.Filter{Codes: codes(t, "none")}, "[7 7]"},
		"a license":  {0, history.Filter{LicenseID: 4}, "[4]"},
		"after some": {10, history.Filter{}, "[9 10]"},
	} {
		list, _, _, err := read(o).AttemptsAfter(t.Context(), []int64{1}, c.after, 100)
		var got []int64
		for _, f := range list {
			if c.filter.Means(f.Delivery) {
				got = append(got, f.EventID)
			}
		}
		if err != nil || fmt.Sprint(got) != c.want {
			t.Errorf("%s: %v, %v; want %s", name, got, err, c.want)
		}
	}
	if list, upTo, lost, err := read(o).AttemptsAfter(t.Context(), []int64{1}, 0, 3); len(list) != 3 || upTo != list[2].ID || lost || err != nil {
		t.Errorf("a few: %d up to %d, %v, %v", len(list), upTo, lost, err)
	}
	if list, upTo, lost, err := read(o).AttemptsAfter(t.Context(), []int64{1}, -30_000, 3); len(list) != 0 || upTo != 12 || !lost || err != nil {
		t.Errorf("too many: %d up to %d, %v, %v", len(list), upTo, lost, err)
	}
}

// TestNewAttemptsInCommitOrder: an attempt is held back while another node may still record one
// with a lower id.
func TestNewAttemptsInCommitOrder(t *testing.T) {
	if !sqldbtest.Postgres() {
		t.Skip("on SQLite nothing runs side by side")
	}
	o := mixed(t)
	insert := func(tx *sqldb.Tx, event int64) error {
		sqldb.MarkRows(tx, "webhook_responses")
		recordAnswer(tx, event, 500)
		_, err := tx.Exec(t.Context(), `SELECT 1`) // flushes the queue
		return err
	}
	err := o.DB.Write(t.Context(), func(slow *sqldb.Tx) error {
		if err := insert(slow, 3); err != nil {
			return err
		}
		if err := o.DB.Write(t.Context(), func(tx *sqldb.Tx) error { return insert(tx, 4) }); err != nil {
			return err
		}
		if list, upTo, _, err := read(o).AttemptsAfter(t.Context(), []int64{1}, 12, 100); len(list) != 0 || upTo != 12 || err != nil {
			t.Errorf("while a lower one is not committed: %+v up to %d, %v", list, upTo, err)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if list, _, _, err := read(o).AttemptsAfter(t.Context(), []int64{1}, 12, 100); len(list) != 2 || err != nil {
		t.Errorf("then: %+v, %v", list, err)
	}
}
