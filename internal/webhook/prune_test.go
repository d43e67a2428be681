package webhook_test

import (
	"fmt"
	"testing"
	"time"

	"claviger/internal/paging"
	"claviger/internal/prune"
	"claviger/internal/sqldb"
	"claviger/internal/webhook"
	"claviger/internal/webhook/history"
	"claviger/internal/webhook/webhooktest"
)

func TestKeeperForgetsOldResponses(t *testing.T) {
	o := box(t)
	const old, keep = 2345, 30 * 24 * time.Hour
	respond(t, o, 1, old+10)
	write(t, o, func(tx *sqldb.Tx) {
		tx.Queue(`UPDATE webhook_responses SET created_at = $1`, start.Add(-time.Nanosecond))
		// exactly at the age limit, and newer
		tx.Queue(`UPDATE webhook_responses SET created_at = $1 WHERE response_status >= $2`, start, old)
		tx.Queue(`UPDATE webhook_responses SET created_at = $1 WHERE response_status > $2`, start.Add(time.Hour), old)
	})
	for _, want := range []int64{old, 0} {
		if n, err := prune.Rows(t.Context(), o.DB, start.Add(keep), webhook.Expiring(keep)); n != want || err != nil {
			t.Errorf("Prune = %d, %v; want %d", n, err, want)
		}
	}
	list, err := history.Reader{DB: o.DB}.Responses(t.Context(), 1, nil, paging.First())
	if err != nil || list.Total != 10 {
		t.Errorf("%d are left (%v), want 10", list.Total, err)
	}
	webhooktest.Same(t, "deliveries", len(due(t, o)), 4)
}

// TestOddAttemptsDoNotEndPruning: attempts with the lowest ids and the time of a wrong clock do not
// protect old attempts behind them.
func TestOddAttemptsDoNotEndPruning(t *testing.T) {
	for name, odd := range map[string]int64{"one": 1, "as many as a batch has": 1000} {
		t.Run(name, func(t *testing.T) {
			o := box(t)
			const keep = 30 * 24 * time.Hour
			respond(t, o, 1, 5000)
			write(t, o, func(tx *sqldb.Tx) {
				tx.Queue(`UPDATE webhook_responses SET created_at = $1`, start.Add(-time.Hour))
				tx.Queue(`UPDATE webhook_responses SET created_at = $1 WHERE id IN (SELECT id FROM webhook_responses ORDER BY id LIMIT $2)`, start.Add(400*24*time.Hour), odd)
			})
			if n, err := prune.Rows(t.Context(), o.DB, start.Add(keep), webhook.Expiring(keep)); n != 5000-odd || err != nil {
				t.Errorf("pruned %d, %v; want %d", n, err, 5000-odd)
			}
		})
	}
}

// TestSurplusAttemptsArePruned: for an event that was redelivered many times, and for the newest
// event sent after it, only the newest attempts stay.
func TestSurplusAttemptsArePruned(t *testing.T) {
	o := box(t)
	settle(t, o, 2, 2, 2, 2)
	respond(t, o, 1, 2345)
	respond(t, o, 2, webhook.MaxAttempts)
	respond(t, o, 3, webhook.MaxAttempts+1)
	respond(t, o, 4, webhook.MaxAttempts+1) // never redelivered, so not examined
	pruned := func(want int64) {
		t.Helper()
		if n, err := prune.Rows(t.Context(), o.DB, o.Now(), webhook.Expiring(100*365*24*time.Hour)); n != want || err != nil {
			t.Errorf("pruned %d, %v; want %d", n, err, want)
		}
	}
	pruned(0)
	for _, id := range []int64{1, 2} { // 3 is the newest after 1
		if err := o.Redeliver(t.Context(), tester, 1, id); err != nil {
			t.Fatal(err)
		}
	}
	pruned(2345 - webhook.MaxAttempts + 1)
	list, err := history.Reader{DB: o.DB}.Responses(t.Context(), 1, nil, paging.Page{Number: 1, Limit: 1, Order: paging.OldestFirst})
	if err != nil || fmt.Sprint(list.Total, list.Responses[0].ResponseStatus) != fmt.Sprint(3*webhook.MaxAttempts, 2345-webhook.MaxAttempts) {
		t.Errorf("%d are left, the oldest %+v, %v", list.Total, list.Responses, err)
	}
	// Attempts after the pruning are pruned too, without another redelivery.
	respond(t, o, 1, 5)
	pruned(5)
	settle(t, o, 2, 2, 2, 2)
	respond(t, o, 1, 5)
	pruned(5)
	left, err := sqldb.One(t.Context(), o.DB, sqldb.Value[int64], `SELECT count(*) FROM redelivered`)
	if err != nil || left != 0 {
		t.Errorf("%d events are still to be looked at, %v", left, err)
	}
}
