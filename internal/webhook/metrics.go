package webhook

import (
	"context"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"claviger/internal/sqldb"
)

// Metrics counts attempts and, when asked, what waits.
type Metrics struct {
	attempts   *prometheus.CounterVec
	duration   prometheus.Histogram
	superseded prometheus.Counter
}

// NewMetrics makes the metrics and registers them.
func NewMetrics(r prometheus.Registerer, db *sqldb.DB, now func() time.Time) *Metrics {
	m := &Metrics{
		attempts: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "claviger_webhook_attempts_total", Help: "Attempts to deliver an event, by outcome.",
		}, []string{"outcome"}),
		duration: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "claviger_webhook_attempt_seconds", Help: "How long partners took to answer.",
			Buckets: []float64{.005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10},
		}),
	}
	m.superseded = prometheus.NewCounter(prometheus.CounterOpts{
		Name: "claviger_webhook_superseded_total", Help: "Events that were refused again and again, or waited behind one, and made way for a newer event of their license.",
	})
	r.MustRegister(m.attempts, m.duration, m.superseded, &queue{db: db, now: now})
	return m
}

// attempt counts one. A nil Metrics counts nothing.
func (m *Metrics) attempt(outcome string, took time.Duration) {
	if m == nil {
		return
	}
	m.attempts.WithLabelValues(outcome).Inc()
	m.duration.Observe(took.Seconds())
}

// supersede counts an event that made way. A nil Metrics counts nothing.
func (m *Metrics) supersede() {
	if m != nil {
		m.superseded.Inc()
	}
}

// queue tells at each scrape how many deliveries are in each state and how long
// the oldest has been there.
type queue struct {
	db  *sqldb.DB
	now func() time.Time
}

var (
	depthDesc = prometheus.NewDesc("claviger_webhook_deliveries", "Deliveries that wait, by state: due, later (a retry or behind one), parked, exhausted, superseded.", []string{"state"}, nil)
	ageDesc   = prometheus.NewDesc("claviger_webhook_oldest_seconds", "Age of the oldest delivery that waits, by state.", []string{"state"}, nil)
)

// Describe implements prometheus.Collector.
func (q *queue) Describe(ch chan<- *prometheus.Desc) { ch <- depthDesc; ch <- ageDesc }

// scrapeTime bounds what a scrape may ask of the database.
const scrapeTime = 2 * time.Second

// Collect implements prometheus.Collector. A database that does not answer
// leaves the figures out; that it does not is told elsewhere.
func (q *queue) Collect(ch chan<- prometheus.Metric) {
	ctx, cancel := context.WithTimeout(context.Background(), scrapeTime)
	defer cancel()
	type row struct {
		state  string
		n      int64
		oldest time.Time
	}
	rows, err := sqldb.All(ctx, q.db, func(r *sqldb.Row, v *row) error { return r.Scan(&v.state, &v.n, &v.oldest) },
		`SELECT CASE WHEN e.parked_at <> 0 THEN 'parked' WHEN d.due_at <= $1 THEN 'due' ELSE 'later' END AS s, count(*), min(d.created_at)
		FROM outbox AS d LEFT JOIN endpoints AS e ON e.partner_id = d.partner_id WHERE d.`+isPending+` GROUP BY s
		UNION ALL SELECT CASE WHEN state = $2 THEN 'exhausted' ELSE 'superseded' END AS s, count(*), coalesce(min(created_at), 0)
		FROM outbox WHERE `+isGivenUp+` GROUP BY s`, q.now(), int(exhausted))
	if err != nil {
		return
	}
	seen := map[string]row{}
	for _, r := range rows {
		seen[r.state] = r
	}
	for _, state := range []string{"due", "later", "parked", "exhausted", "superseded"} {
		r, age := seen[state], 0.0
		if r.n > 0 {
			age = q.now().Sub(r.oldest).Seconds()
		}
		ch <- prometheus.MustNewConstMetric(depthDesc, prometheus.GaugeValue, float64(r.n), state)
		ch <- prometheus.MustNewConstMetric(ageDesc, prometheus.GaugeValue, age, state)
	}
}
