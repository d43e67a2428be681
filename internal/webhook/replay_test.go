package webhook_test

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"testing"
	"time"

	"claviger/internal/fault"
	"claviger/internal/paging"
	"claviger/internal/sqldb"
	"claviger/internal/webhook"
)

// delivered makes a box with so many delivered events, one of each license, an hour
// apart from the second on.
func delivered(t *testing.T, partnerID int64, first, events int) *webhook.Outbox {
	t.Helper()
	r := steppedHarness(t)
	r.partner(partnerID, nil)
	r.write(func(tx *sqldb.Tx) {
		for i := first; i < first+events; i++ {
			insertLicense(tx, int64(i), partnerID)
			insertEvent(tx, r.out.Outbox, notice(int64(i), partnerID, int64(i), start.Add(time.Duration(i)*time.Second)))
		}
		tx.Queue(`DELETE FROM outbox`)
	})
	return r.out.Outbox
}

func open(t *testing.T, o *webhook.Outbox) int64 {
	t.Helper()
	n, err := sqldb.One(t.Context(), o.DB, sqldb.Value[int64], `SELECT count(*) FROM outbox WHERE state = 1`)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// TestReplayIsWorkedOffInBatches: the first batch is done with the request, the others
// by the job; each moves the cursor in its own transaction, so that whoever comes next
// goes on. Meanwhile a second one is refused.
func TestReplayIsWorkedOffInBatches(t *testing.T) {
	const events, batch = 620, 250
	o := delivered(t, 1, 1, events)
	begin := func() (webhook.Replay, error) {
		return o.RedeliverRange(t.Context(), tester, 1, start, start.Add(time.Hour), false)
	}
	r, err := begin()
	if err != nil || !r.Running() || r.Count != batch || open(t, o) != batch {
		t.Fatalf("at first: %+v, %v; %d are open", r, err, open(t, o))
	}
	if _, err := begin(); !fault.Is(err, "redelivery_running") {
		t.Errorf("a second one: %v", err)
	}
	for _, want := range []struct {
		worked  bool
		count   int64
		running bool
	}{{true, 2 * batch, true}, {true, events, false}, {false, events, false}} {
		// Each time another process: nothing is known but what is stored.
		worked, err := (&webhook.Replayer{Outbox: &webhook.Outbox{DB: o.DB, Now: o.Now}}).Once(t.Context())
		last, lerr := o.LastReplay(t.Context(), 1)
		if err != nil || lerr != nil || worked != want.worked || last.Count != want.count || last.Running() != want.running || open(t, o) != want.count {
			t.Errorf("got %v, %v, %+v, %v; want %+v", worked, err, last, lerr, want)
		}
	}
	if r, err := begin(); err != nil || r.Count != 0 || !r.Running() {
		t.Errorf("another one, while all are open: %+v, %v", r, err)
	}
}

// TestReplaysOfPartnersTakeTurns: a long one does not keep another partner's waiting.
func TestReplaysOfPartnersTakeTurns(t *testing.T) {
	o := delivered(t, 1, 1, 1100)
	r := &harness{TB: t, db: o.DB}
	r.write(func(tx *sqldb.Tx) {
		tx.Queue(`INSERT INTO partners (id, name, brand, client_id, strict, single_key, created_at, updated_at) VALUES (2, '', '', '2', $1, $1, 0, 0)`, false)
		for i := int64(2001); i <= 2400; i++ {
			insertLicense(tx, i, 2)
			insertEvent(tx, o, notice(i, 2, i, start.Add(time.Duration(i)*time.Second)))
		}
		tx.Queue(`DELETE FROM outbox`)
	})
	var ticks time.Duration
	o.Now = func() time.Time { ticks += time.Second; return start.Add(24*time.Hour + ticks) }
	for _, id := range []int64{1, 2} {
		if _, err := o.RedeliverRange(t.Context(), tester, id, start, start.Add(time.Hour), false); err != nil {
			t.Fatal(err)
		}
	}
	job := &webhook.Replayer{Outbox: o}
	for range 2 {
		if worked, err := job.Once(t.Context()); !worked || err != nil {
			t.Fatal(worked, err)
		}
	}
	for id, running := range map[int64]bool{1: true, 2: false} {
		if last, err := o.LastReplay(t.Context(), id); err != nil || last.Running() != running {
			t.Errorf("partner %d: %+v, %v; want running: %v", id, last, err, running)
		}
	}
}

// TestReplayRunsOnce: two nodes that work at the same time queue each event once.
func TestReplayRunsOnce(t *testing.T) {
	const events = 1100
	o := delivered(t, 1, 1, events)
	if _, err := o.RedeliverRange(t.Context(), tester, 1, start, start.Add(time.Hour), false); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	var nodes sync.WaitGroup
	for range 3 {
		nodes.Go(func() {
			(&webhook.Replayer{Outbox: o, Every: time.Millisecond, Log: slog.New(slog.DiscardHandler)}).Run(ctx)
		})
	}
	for {
		last, err := o.LastReplay(t.Context(), 1)
		if err != nil {
			t.Fatal(err)
		}
		if !last.Running() {
			same(t, "count", last.Count, int64(events))
			break
		}
	}
	cancel()
	nodes.Wait()
}

// TestSurplusAttemptsArePruned: of an event that was redelivered over and over, and
// of the newest that was sent after it, the newest attempts stay.
func TestSurplusAttemptsArePruned(t *testing.T) {
	o := box(t)
	settle(t, o, 2, 2, 2, 2)
	respond(t, o, 1, 2345)
	respond(t, o, 2, webhook.MaxAttempts)
	respond(t, o, 3, webhook.MaxAttempts+1)
	respond(t, o, 4, webhook.MaxAttempts+1) // was never redelivered, and is not looked at
	k := &webhook.Pruner{DB: o.DB, Now: o.Now, Keep: 100 * 365 * 24 * time.Hour}
	prune := func(want int64) {
		t.Helper()
		if n, err := k.Prune(t.Context()); n != want || err != nil {
			t.Errorf("pruned %d, %v; want %d", n, err, want)
		}
	}
	prune(0)
	for _, id := range []int64{1, 2} { // 3 is the newest after 1
		if err := o.Redeliver(t.Context(), tester, 1, id); err != nil {
			t.Fatal(err)
		}
	}
	prune(2345 - webhook.MaxAttempts + 1)
	list, err := o.Responses(t.Context(), 1, nil, paging.Page{Number: 1, Limit: 1, Order: paging.OldestFirst})
	if err != nil || fmt.Sprint(list.Total, list.Responses[0].ResponseStatus) != fmt.Sprint(3*webhook.MaxAttempts, 2345-webhook.MaxAttempts) {
		t.Errorf("%d are left, the oldest %+v, %v", list.Total, list.Responses, err)
	}
	// What comes after the pruning is pruned too, also when nobody asks for another redelivery.
	respond(t, o, 1, 5)
	prune(5)
	settle(t, o, 2, 2, 2, 2)
	respond(t, o, 1, 5)
	prune(5)
	left, err := sqldb.One(t.Context(), o.DB, sqldb.Value[int64], `SELECT count(*) FROM redelivered`)
	if err != nil || left != 0 {
		t.Errorf("%d events are still to be looked at, %v", left, err)
	}
}
