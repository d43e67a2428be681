package queue_test

import (
	"fmt"
	"maps"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"

	"claviger/internal/sqldb"
	"claviger/internal/webhook/queue"
	"claviger/internal/webhook/webhooktest"
)

// scrape returns the figures of a queue by name and state.
func scrape(t *testing.T, q *queue.Figures) map[string]float64 {
	t.Helper()
	registry := prometheus.NewRegistry()
	registry.MustRegister(q)
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]float64{}
	for _, f := range families {
		for _, m := range f.GetMetric() {
			name := f.GetName()
			for _, l := range m.GetLabel() {
				name += " " + l.GetValue()
			}
			seen[name] = m.GetGauge().GetValue()
		}
	}
	return seen
}

// TestQueueIsCounted: the figures equal a count of the outbox over several slices, and follow every
// write to it.
func TestQueueIsCounted(t *testing.T) {
	o := webhooktest.Box(t)
	const rows = 110_000
	now := webhooktest.Start.Add(time.Hour)
	webhooktest.Write(t, o, func(tx *sqldb.Tx) {
		tx.Queue(`DELETE FROM outbox`)
		tx.Queue(`INSERT INTO partners (id, name, brand, client_id, strict, single_key, created_at, updated_at) VALUES (2, '', '', 'two', $1, $1, 0, 0)`, false)
		tx.Queue(`INSERT INTO endpoints (partner_id, failing_since, failures, parked_at, probe_at, probed, updated_at) VALUES (2, 1, 1, 1, 1, 1, 1)
			ON CONFLICT (partner_id) DO UPDATE SET parked_at = 1`)
		list := make([][]any, rows)
		for i := range list {
			due := now.Add(time.Duration(i%3-1) * time.Minute) // before, now, and after
			at := webhooktest.Start.Add(time.Duration(i) * time.Millisecond)
			list[i] = []any{int64(i + 100), int64(1 + i%2), int64(i + 100), []int64{1, 1, 1, 1, 3, 4, 1}[i%7], int64(0), due, at, at}
		}
		tx.Copy("outbox", []string{"event_id", "partner_id", "license_id", "state", "attempts", "due_at", "created_at", "updated_at"}, list)
	})
	q := &queue.Figures{DB: o.DB, Now: func() time.Time { return now }}
	if got := scrape(t, q); !maps.Equal(got, map[string]float64{"claviger_figures_readable webhook_deliveries": 0}) {
		t.Errorf("before the first count: %v", got)
	}
	for _, change := range []string{``, `DELETE FROM outbox WHERE event_id % 5 = 0`, `UPDATE outbox SET state = 3 WHERE event_id % 4 = 0`, `DELETE FROM outbox`} {
		if change != "" {
			webhooktest.Write(t, o, func(tx *sqldb.Tx) { tx.Queue(change) })
		}
		if err := q.Count(t.Context()); err != nil {
			t.Fatal(err)
		}
		want := map[string]float64{"claviger_figures_readable webhook_deliveries": 1, "claviger_webhook_counted_seconds": 0}
		for state, condition := range map[string]string{
			"due": `state = 1 AND partner_id <> 2 AND due_at <= $1`, "later": `state = 1 AND partner_id <> 2 AND due_at > $1`,
			"parked": `state = 1 AND partner_id = 2 AND CAST($1 AS bigint) > 0`, "exhausted": `state = 3 AND CAST($1 AS bigint) > 0`, "superseded": `state = 4 AND CAST($1 AS bigint) > 0`,
		} {
			type figures struct {
				n      int64
				oldest time.Time
			}
			f, err := sqldb.One(t.Context(), o.DB, func(r *sqldb.Row, f *figures) error { return r.Scan(&f.n, &f.oldest) },
				`SELECT count(*), coalesce(min(created_at), 0) FROM outbox WHERE `+condition, now)
			if err != nil {
				t.Fatal(err)
			}
			want["claviger_webhook_deliveries "+state] = float64(f.n)
			want["claviger_webhook_oldest_seconds "+state] = 0
			if f.n > 0 {
				want["claviger_webhook_oldest_seconds "+state] = now.Sub(f.oldest).Seconds()
			}
		}
		if diff := cmp.Diff(want, scrape(t, q)); diff != "" {
			t.Errorf("after %q (-counted +scraped):\n%s", change, diff)
		}
	}
}

// TestScrapeDoesNotReadTheOutbox: a scrape reports the last count and its age. It reports an
// unreachable database as unreadable.
func TestScrapeDoesNotReadTheOutbox(t *testing.T) {
	o := webhooktest.Box(t)
	now := webhooktest.Start
	q := &queue.Figures{DB: o.DB, Now: func() time.Time { return now }}
	if err := q.Count(t.Context()); err != nil {
		t.Fatal(err)
	}
	before := scrape(t, q)
	webhooktest.Write(t, o, func(tx *sqldb.Tx) { tx.Queue(`DELETE FROM outbox`) })
	now = now.Add(time.Minute)
	after := scrape(t, q)
	for _, state := range []string{"due", "later", "parked", "exhausted", "superseded"} {
		name := "claviger_webhook_deliveries " + state
		if before[name] != after[name] {
			t.Errorf("%s was %v and is %v without a count", name, before[name], after[name])
		}
	}
	if fmt.Sprint(before["claviger_webhook_counted_seconds"], after["claviger_webhook_counted_seconds"]) != "0 60" {
		t.Errorf("before %v, after %v", before, after)
	}
	webhooktest.Write(t, o, func(tx *sqldb.Tx) { tx.Queue(`DROP TABLE outbox_counts`) })
	if got := scrape(t, q); !maps.Equal(got, map[string]float64{"claviger_figures_readable webhook_deliveries": 0}) {
		t.Errorf("without an answer of the database: %v", got)
	}
}
