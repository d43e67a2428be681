package webhook

import (
	"context"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"claviger/internal/sqldb"
)

// Queue tells at each scrape how many deliveries are in each state and how long the
// oldest has been there.
type Queue struct {
	DB  *sqldb.DB
	Now func() time.Time
}

var (
	depthDesc = prometheus.NewDesc("claviger_webhook_deliveries", "Deliveries that wait, by state: due, later (a retry or behind one), parked, exhausted, superseded.", []string{"state"}, nil)
	ageDesc   = prometheus.NewDesc("claviger_webhook_oldest_seconds", "Age of the oldest delivery that waits, by state.", []string{"state"}, nil)
)

// Describe implements prometheus.Collector.
func (q *Queue) Describe(ch chan<- *prometheus.Desc) { ch <- depthDesc; ch <- ageDesc }

// scrapeTime bounds what a scrape may ask of the database.
const scrapeTime = 2 * time.Second

// Collect implements prometheus.Collector. A database that does not answer
// leaves the figures out; that it does not is told elsewhere.
func (q *Queue) Collect(ch chan<- prometheus.Metric) {
	ctx, cancel := context.WithTimeout(context.Background(), scrapeTime)
	defer cancel()
	type row struct {
		state  string
		n      int64
		oldest time.Time
	}
	rows, err := sqldb.All(ctx, q.DB, func(r *sqldb.Row, v *row) error { return r.Scan(&v.state, &v.n, &v.oldest) },
		`SELECT CASE WHEN e.parked_at <> 0 THEN 'parked' WHEN d.due_at <= $1 THEN 'due' ELSE 'later' END AS s, count(*), min(d.created_at)
		FROM outbox AS d LEFT JOIN endpoints AS e ON e.partner_id = d.partner_id WHERE d.`+IsPending+` GROUP BY s
		UNION ALL SELECT CASE WHEN state = $2 THEN 'exhausted' ELSE 'superseded' END AS s, count(*), coalesce(min(created_at), 0)
		FROM outbox WHERE `+IsGivenUp+` GROUP BY s`, q.Now(), int(Exhausted))
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
			age = q.Now().Sub(r.oldest).Seconds()
		}
		ch <- prometheus.MustNewConstMetric(depthDesc, prometheus.GaugeValue, float64(r.n), state)
		ch <- prometheus.MustNewConstMetric(ageDesc, prometheus.GaugeValue, age, state)
	}
}
