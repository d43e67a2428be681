package stats_test

import (
	"context"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"claviger/internal/apptest"
	"claviger/internal/event"
	"claviger/internal/license"
	"claviger/internal/partner"
	"claviger/internal/profile"
	"claviger/internal/sqldb"
	"claviger/internal/sqldb/sqldbtest"
	"claviger/internal/stats"
	"claviger/internal/webhook/history"
)

// sums returns the counted sales and attempts.
func (h *harness) sums() (sold, attempts int64) {
	h.Helper()
	return h.Count(`SELECT CAST(coalesce(sum(sold), 0) AS bigint) FROM stats_days`),
		h.Count(`SELECT CAST(coalesce(sum(succeeded + failed), 0) AS bigint) FROM stats_hours`)
}

// TestCountedExactlyOnce: several counters run at the same time, while licenses are sold and
// attempts recorded, and some are stopped at any point.
func TestCountedExactlyOnce(t *testing.T) {
	h := newHarness(t)
	const rounds = 20
	done := make(chan struct{})
	go func() {
		defer close(done)
		for range rounds {
			l, err := h.Licenses.Purchase(t.Context(), tester, license.Purchase{PartnerID: h.partner.ID, Tier: 1, Quantity: 3})
			if err != nil {
				t.Error(err)
				return
			}
			h.attempt(l.Licenses[0], 200, time.Millisecond)
		}
	}()
	var counters sync.WaitGroup
	for i := range 3 {
		counters.Go(func() {
			for n := 0; ; n++ {
				select {
				case <-done:
					return
				default:
				}
				ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
				if i == 0 && n%2 == 0 {
					time.AfterFunc(time.Millisecond, cancel)
				}
				_, err := h.Stats.Count(ctx)
				if err != nil && ctx.Err() == nil {
					t.Error(err)
				}
				cancel()
			}
		})
	}
	counters.Wait()
	h.count()
	if sold, attempts := h.sums(); sold != 3*rounds || attempts != rounds {
		t.Errorf("counted %d sales and %d attempts, want %d and %d", sold, attempts, 3*rounds, rounds)
	}
}

// TestLateCommits: an event and an attempt are counted even if their transaction commits after a
// later one.
func TestLateCommits(t *testing.T) {
	if !sqldbtest.Postgres() {
		t.Skip("SQLite has one writer")
	}
	h := newHarness(t)
	l := h.sell(h.partner, 1)
	h.count()
	late := func(write func(*sqldb.Tx) error) (commit func()) {
		written, let, ended := make(chan struct{}), make(chan struct{}), make(chan error)
		go func() {
			ended <- h.DB.Write(t.Context(), func(tx *sqldb.Tx) error {
				if err := write(tx); err != nil {
					return err
				}
				close(written)
				<-let
				return nil
			})
		}()
		<-written
		return func() { close(let); h.Must(<-ended) }
	}
	id := h.Count(`SELECT max(id) FROM events`)
	h.attempt(l, 200, time.Second) // something can be counted
	commit := late(func(tx *sqldb.Tx) error {
		insertAttempt(tx, id, 200, time.Second, noon)
		return flush(t, tx)
	})
	h.attempt(l, 401, time.Second)
	h.count()
	commit()
	h.count()
	if _, attempts := h.sums(); attempts != 3 {
		t.Errorf("%d attempts counted, want 3", attempts)
	}

	other := h.enrol("Other")
	h.sell(other, 1)
	commit = late(func(tx *sqldb.Tx) error {
		ids, err := event.NextIDs(tx, 1).All(t.Context())
		if err != nil {
			return err
		}
		tx.Queue(`INSERT INTO events (id, partner_id, ord, license_id, license_key, kind, tier, previous_tier, reason, event_ms, status, created_at)
			VALUES ($1, $2, 99, 99, 'x', 1, 1, 0, 'purchased', 0, 1, $3)`, ids[0], h.partner.ID, noon)
		return flush(t, tx)
	})
	h.sell(other, 1)
	h.count()
	commit()
	h.count()
	if sold, _ := h.sums(); sold != 4 {
		t.Errorf("%d sales counted, want 4", sold)
	}
}

// flush sends the queued statements.
func flush(t *testing.T, tx *sqldb.Tx) error {
	_, err := sqldb.One(t.Context(), tx, sqldb.Value[int64], `SELECT 1`)
	return err
}

// TestBacklog: a reader adds a bounded part of a large backlog and says so; the job processes it in
// batches, and loses nothing.
func TestBacklog(t *testing.T) {
	h := newHarness(t)
	const sales, each = 25, 100
	for range sales {
		h.clock.Advance(time.Minute)
		h.sell(h.partner, each)
	}
	got := h.read(1, 0)
	if got.Days[0].Sold != 2000 || !got.CountedTo.Equal(noon.Add(20*time.Minute)) {
		t.Errorf("of %d sales %d are shown, up to %v", sales*each, got.Days[0].Sold, got.CountedTo)
	}
	batches := 1
	for ; ; batches++ {
		more, err := h.Stats.Count(t.Context())
		h.Must(err)
		if !more {
			break
		}
	}
	got = h.read(1, 0)
	if got.Days[0].Sold != sales*each || !got.CountedTo.IsZero() || batches != 3 {
		t.Errorf("after %d batches %d sales are shown, up to %v", batches, got.Days[0].Sold, got.CountedTo)
	}
}

// TestCounterRuns: the job counts until it is stopped.
func TestCounterRuns(t *testing.T) {
	h := newHarness(t)
	h.sell(h.partner, 1)
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		(&stats.Counter{Store: h.Stats, Log: slog.New(slog.DiscardHandler)}).Run(ctx)
	}()
	for {
		if sold, _ := h.sums(); sold == 1 {
			break
		}
	}
	stop()
	<-ended
}

// TestRecordedAttemptsWait: while an attempt is being recorded, later ones are not counted.
func TestRecordedAttemptsWait(t *testing.T) {
	if !sqldbtest.Postgres() {
		t.Skip("SQLite has one writer")
	}
	asked, answer := make(chan struct{}), make(chan struct{})
	endpoint := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { close(asked); <-answer }))
	t.Cleanup(endpoint.Close)
	h := &harness{Harness: apptest.Start(t)}
	h.partner, _ = h.Partner("Ours", profile.URLs{Webhook: endpoint.URL})
	h.Plans(h.partner.ID, 2, partner.Plan{})
	h.sell(h.partner, 1)
	<-asked
	h.Must(h.DB.Write(t.Context(), func(tx *sqldb.Tx) error {
		// Recording an attempt first inserts it and then takes its delivery from the outbox.
		if _, err := tx.Exec(t.Context(), `SELECT event_id FROM outbox FOR UPDATE`); err != nil {
			return err
		}
		close(answer)
		for h.Count(`SELECT count(*) FROM pg_locks WHERE NOT granted`) == 0 ||
			h.Count(`SELECT CASE WHEN is_called THEN last_value ELSE 0 END FROM webhook_responses_id_seq`) == 0 {
			if err := t.Context().Err(); err != nil {
				return err
			}
		}
		if id, err := history.StableAttempts(t.Context(), h.DB); id != 0 || err != nil {
			t.Errorf("while the first attempt is recorded, all up to %d are there: %v", id, err)
		}
		return nil
	}))
	for {
		if id, err := history.StableAttempts(t.Context(), h.DB); id == 1 || err != nil {
			break
		}
	}
}
