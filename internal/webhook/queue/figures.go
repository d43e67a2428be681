// Package queue exports metrics of waiting deliveries. It counts rows of webhook's outbox and
// changes none of them.
package queue

import (
	"context"
	"fmt"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"claviger/internal/sqldb"
	"claviger/internal/webhook"
)

// Figures exports the number of deliveries in each state and the age of the oldest, as stored by
// Counter. A scrape costs the same for any number of deliveries.
type Figures struct {
	DB  *sqldb.DB
	Now func() time.Time
}

var (
	depthDesc = prometheus.NewDesc(
		"claviger_webhook_deliveries",
		"Deliveries that wait, by state: due, later (a retry or behind one), parked, exhausted, superseded.",
		[]string{"state"},
		nil,
	)
	ageDesc = prometheus.NewDesc(
		"claviger_webhook_oldest_seconds",
		"Age of the oldest delivery that waits, by state.",
		[]string{"state"},
		nil,
	)
	countedDesc = prometheus.NewDesc(
		"claviger_webhook_counted_seconds",
		"How long ago the deliveries that wait were counted.",
		nil,
		nil,
	)
	readableDesc = prometheus.NewDesc(
		"claviger_figures_readable",
		"1 if this scrape could read these figures, 0 if they are missing from it.",
		nil,
		prometheus.Labels{"figures": "webhook_deliveries"},
	)
)

// Describe implements prometheus.Collector.
func (f *Figures) Describe(ch chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{depthDesc, ageDesc, countedDesc, readableDesc} {
		ch <- d
	}
}

// scrapeTime limits the database time of a scrape.
const scrapeTime = 2 * time.Second

// Collect implements prometheus.Collector. If the database does not answer, or nothing was counted
// yet, it omits the figures and sets readable to 0.
func (f *Figures) Collect(ch chan<- prometheus.Metric) {
	ctx, cancel := context.WithTimeout(context.Background(), scrapeTime)
	defer cancel()
	gauge := func(d *prometheus.Desc, value float64, labels ...string) {
		ch <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, value, labels...)
	}
	list, err := sqldb.All(
		ctx,
		f.DB,
		func(r *sqldb.Row, c *count) error { return r.Scan(&c.state, &c.n, &c.oldest, &c.at) },
		`SELECT state, deliveries, oldest_at, counted_at FROM outbox_counts`,
	)
	if err != nil || len(list) == 0 {
		gauge(readableDesc, 0)
		return
	}
	now := f.Now()
	for _, c := range list {
		age := 0.0
		if c.n > 0 {
			age = now.Sub(c.oldest).Seconds()
		}
		gauge(depthDesc, float64(c.n), c.state)
		gauge(ageDesc, age, c.state)
	}
	gauge(countedDesc, now.Sub(list[0].at).Seconds())
	gauge(readableDesc, 1)
}

// count is the number of deliveries in a state.
type count struct {
	state  string
	n      int64
	oldest time.Time
	at     time.Time // when they were counted
}

func (c *count) add(n int64, oldest time.Time) {
	if c.n == 0 || oldest.Before(c.oldest) {
		c.oldest = oldest
	}
	c.n += n
}

// states lists the states of the metric.
var states = []string{"due", "later", "parked", "exhausted", "superseded"}

// countSlice is the number of rows that one statement counts, so that each is quick.
const countSlice = 50_000

// Count counts the deliveries and stores the result. It reads each outbox row once, slice by slice.
// A delivery that changes meanwhile counts with its state at that time. Because each count is
// complete, no writer maintains a counter.
func (f *Figures) Count(ctx context.Context) error {
	now := f.Now()
	parked, err := sqldb.All(ctx, f.DB, sqldb.Value[int64], `SELECT partner_id FROM endpoints WHERE parked_at <> 0`)
	if err != nil {
		return fmt.Errorf("read parked endpoints: %w", err)
	}
	t := &tally{counts: map[string]*count{}, parked: make(map[int64]bool, len(parked))}
	for _, id := range parked {
		t.parked[id] = true
	}
	for after := int64(0); ; {
		slice, err := sqldb.All(
			ctx,
			f.DB,
			scanSlice,
			`SELECT partner_id, state, due, count(*), min(created_at), max(event_id) FROM (
				SELECT event_id, partner_id, state, CASE WHEN due_at <= $1 THEN 1 ELSE 0 END AS due, created_at
				FROM outbox WHERE event_id > $2 ORDER BY event_id LIMIT $3) AS slice
			GROUP BY partner_id, state, due`,
			now,
			after,
			countSlice,
		)
		if err != nil {
			return fmt.Errorf("count deliveries: %w", err)
		}
		rows := int64(0)
		for _, g := range slice {
			t.add(g)
			rows += g.n
			after = max(after, g.last)
		}
		if rows < countSlice {
			return f.storeCounts(ctx, t, now)
		}
	}
}

// group counts rows of a slice with the same partner and state.
type group struct {
	partnerID int64
	state     int
	due       int64
	n         int64
	oldest    time.Time
	last      int64 // the highest event id
}

func scanSlice(r *sqldb.Row, g *group) error {
	return r.Scan(&g.partnerID, &g.state, &g.due, &g.n, &g.oldest, &g.last)
}

// tally adds up slices.
type tally struct {
	counts map[string]*count
	parked map[int64]bool
}

func (t *tally) add(g group) {
	var state string
	switch {
	case g.state == int(webhook.Exhausted):
		state = "exhausted"
	case g.state != int(webhook.Pending):
		state = "superseded"
	case t.parked[g.partnerID]:
		state = "parked"
	case g.due == 1:
		state = "due"
	default:
		state = "later"
	}
	if t.counts[state] == nil {
		t.counts[state] = &count{}
	}
	t.counts[state].add(g.n, g.oldest)
}

// storeCounts stores the result.
func (f *Figures) storeCounts(ctx context.Context, t *tally, now time.Time) error {
	err := f.DB.Write(ctx, func(tx *sqldb.Tx) error {
		for _, state := range states {
			c := t.counts[state]
			if c == nil {
				c = &count{}
			}
			tx.Queue(`INSERT INTO outbox_counts (state, deliveries, oldest_at, counted_at) VALUES ($1, $2, $3, $4)
				ON CONFLICT (state)
				DO UPDATE SET deliveries = excluded.deliveries, oldest_at = excluded.oldest_at,
				counted_at = excluded.counted_at`,
				state, c.n, c.oldest, now)
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("store how many deliveries wait: %w", err)
	}
	return nil
}
