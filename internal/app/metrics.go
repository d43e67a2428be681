package app

import (
	"context"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"claviger/internal/backups"
	"claviger/internal/job"
	"claviger/internal/mail"
	"claviger/internal/payment"
	"claviger/internal/sqldb"
)

// buildMetric reports the version of this program; its value is always 1.
func buildMetric() prometheus.Collector {
	b := ThisBuild()
	g := prometheus.NewGauge(prometheus.GaugeOpts{
		Name: "claviger_build_info", Help: "1, with the version of the program, its commit and its version of Go.",
		ConstLabels: prometheus.Labels{"version": b.Version, "commit": b.Commit, "go": b.Go},
	})
	g.Set(1)
	return g
}

// databaseMetrics reports writes, busy connections, and on SQLite how well transactions share
// commits.
func databaseMetrics(db *sqldb.DB) []prometheus.Collector {
	return []prometheus.Collector{
		prometheus.NewCounterFunc(prometheus.CounterOpts{
			Name: "claviger_database_transactions_total", Help: "Transactions that were written.",
		}, func() float64 { n, _ := db.Counts(); return float64(n) }),
		prometheus.NewCounterFunc(prometheus.CounterOpts{
			Name: "claviger_database_commits_total", Help: "Commits that put them on disk; on SQLite those that " +
				"wait together share one.",
		}, func() float64 { _, n := db.Counts(); return float64(n) }),
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Name: "claviger_database_connections_in_use", Help: "Connections that work at this moment; of SQLite, " +
				"those that read.",
		}, func() float64 { return float64(db.InUse()) }),
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Name: "claviger_database_connections_max", Help: "Connections that there can be.",
		}, func() float64 { return float64(db.Readers()) }),
	}
}

// laneMetrics reports the deliveries that this node has to send.
func (a *App) laneMetrics() []prometheus.Collector {
	gauge := func(name, help string, value func() int) prometheus.Collector {
		return prometheus.NewGaugeFunc(
			prometheus.GaugeOpts{Name: name, Help: help},
			func() float64 { return float64(value()) },
		)
	}
	return []prometheus.Collector{
		gauge(
			"claviger_webhook_shards",
			"Shards of partners that this node sends for.",
			func() int { return a.dispatcher.Work().Shards },
		),
		gauge(
			"claviger_webhook_lanes",
			"Partners for whom this node has something to send.",
			func() int { return a.dispatcher.Work().Lanes },
		),
		gauge(
			"claviger_webhook_requests_in_flight",
			"Webhooks on their way at this moment.",
			func() int { return a.dispatcher.Work().InFlight },
		),
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Name: "claviger_clock_off_seconds", Help: "How far the clock of this node is ahead of the database's; " +
				"more than 120 either way, and it prunes nothing.",
		}, func() float64 { return a.node.ClockOff().Seconds() }),
	}
}

// backlog reports at each scrape the waiting work in the database: emails, payments and jobs.
type backlog struct {
	db  *sqldb.DB
	now func() time.Time
}

var (
	mailsDesc = prometheus.NewDesc(
		"claviger_mails",
		"Mails that are not sent, by state: waiting, given_up.",
		[]string{"state"},
		nil,
	)
	mailAgeDesc  = prometheus.NewDesc("claviger_mail_oldest_seconds", "Age of the oldest mail that waits.", nil, nil)
	paymentsDesc = prometheus.NewDesc(
		"claviger_payments",
		"Payments that are not settled: checkouts, refunds, disputes, lookups, and problems, which need a person.",
		[]string{"kind"},
		nil,
	)
	unansweredDesc = prometheus.NewDesc(
		"claviger_disputes_unanswered",
		"Open disputes and inquiries for which no evidence was submitted.",
		nil,
		nil,
	)
	deadlineDesc = prometheus.NewDesc(
		"claviger_dispute_deadline_seconds",
		"Time until the nearest deadline of these; missing if there is none.",
		nil,
		nil,
	)
	successDesc = prometheus.NewDesc(
		"claviger_job_last_success_timestamp_seconds",
		"When a job last ended well.",
		[]string{"task"},
		nil,
	)
	failingDesc = prometheus.NewDesc(
		"claviger_job_failing",
		"1 if the last run of a job failed.",
		[]string{"task"},
		nil,
	)
	backupDesc = prometheus.NewDesc(
		"claviger_backup_age_seconds",
		"Age of the last good backup; missing if none is known.",
		nil,
		nil,
	)
	readableDesc = map[string]*prometheus.Desc{
		"mails":    readable("mails"),
		"payments": readable("payments"),
		"jobs":     readable("jobs"),
		"backup":   readable("backup"),
	}
	lateDesc = prometheus.NewDesc(
		"claviger_job_late",
		"1 if the next run of a job is missing.",
		[]string{"task"},
		nil,
	)
)

// readable describes the metric that reports whether a scrape could read its figures.
func readable(figures string) *prometheus.Desc {
	return prometheus.NewDesc(
		"claviger_figures_readable",
		"1 if this scrape could read these figures, 0 if they are missing from it.",
		nil,
		prometheus.Labels{"figures": figures},
	)
}

// Describe implements prometheus.Collector.
func (b *backlog) Describe(ch chan<- *prometheus.Desc) {
	for _, d := range readableDesc {
		ch <- d
	}
	for _, d := range []*prometheus.Desc{
		mailsDesc, mailAgeDesc, paymentsDesc, unansweredDesc, deadlineDesc,
		successDesc, failingDesc, lateDesc, backupDesc,
	} {
		ch <- d
	}
}

// scrapeTime is the timeout of a scrape's database queries.
const scrapeTime = 2 * time.Second

// Collect implements prometheus.Collector. If the database does not answer, it omits the figures
// and reports that.
func (b *backlog) Collect(ch chan<- prometheus.Metric) {
	ctx, cancel := context.WithTimeout(context.Background(), scrapeTime)
	defer cancel()
	gauge := func(d *prometheus.Desc, value float64, labels ...string) {
		ch <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, value, labels...)
	}
	m, err := mail.ReadDepth(ctx, b.db)
	gauge(readableDesc["mails"], one(err == nil))
	if err == nil {
		gauge(mailsDesc, float64(m.Waiting), "waiting")
		gauge(mailsDesc, float64(m.GivenUp), "given_up")
		age := 0.0
		if m.Waiting > 0 {
			age = b.now().Sub(m.Oldest).Seconds()
		}
		gauge(mailAgeDesc, age)
	}
	p, err := payment.ReadDepth(ctx, b.db, b.now())
	gauge(readableDesc["payments"], one(err == nil))
	if err == nil {
		gauge(paymentsDesc, float64(p.Checkouts), "checkouts")
		gauge(paymentsDesc, float64(p.Refunds), "refunds")
		gauge(paymentsDesc, float64(p.Disputes), "disputes")
		gauge(paymentsDesc, float64(p.Lookups), "lookups")
		gauge(paymentsDesc, float64(p.Problems), "problems")
		gauge(unansweredDesc, float64(p.Unanswered))
		if !p.Deadline.IsZero() {
			gauge(deadlineDesc, p.Deadline.Sub(b.now()).Seconds())
		}
	}
	runs, err := job.Runs(ctx, b.db)
	gauge(readableDesc["jobs"], one(err == nil))
	for _, r := range runs {
		if !r.SucceededAt.IsZero() {
			gauge(successDesc, float64(r.SucceededAt.Unix()), r.Job)
		}
		gauge(failingDesc, one(r.Failed()), r.Job)
		gauge(lateDesc, one(r.Late(b.now())), r.Job)
	}
	made, err := backups.Last(ctx, b.db)
	gauge(readableDesc["backup"], one(err == nil))
	if !made.IsZero() {
		gauge(backupDesc, max(b.now().Sub(made).Seconds(), 0))
	}
}

// one returns 1 for true.
func one(b bool) float64 {
	if b {
		return 1
	}
	return 0
}
