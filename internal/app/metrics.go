package app

import (
	"github.com/prometheus/client_golang/prometheus"

	"claviger/internal/sqldb"
)

// databaseMetrics tells how much is written, and on SQLite how well transactions
// share commits.
func databaseMetrics(db *sqldb.DB) []prometheus.Collector {
	return []prometheus.Collector{
		prometheus.NewCounterFunc(prometheus.CounterOpts{
			Name: "claviger_database_transactions_total", Help: "Transactions that were written.",
		}, func() float64 { n, _ := db.Counts(); return float64(n) }),
		prometheus.NewCounterFunc(prometheus.CounterOpts{
			Name: "claviger_database_commits_total", Help: "Commits that put them on disk; on SQLite those that wait together share one.",
		}, func() float64 { _, n := db.Counts(); return float64(n) }),
	}
}
