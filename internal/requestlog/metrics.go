package requestlog

import "github.com/prometheus/client_golang/prometheus"

// Metrics counts calls that the log could not store.
type Metrics struct {
	dropped prometheus.Counter
	failed  prometheus.Counter
}

// NewMetrics creates and registers the metrics.
func NewMetrics(r prometheus.Registerer) *Metrics {
	m := &Metrics{
		dropped: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "claviger_refused_requests_dropped_total",
			Help: "Refused calls of partners that were only counted, because too many came at the same time.",
		}),
		failed: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "claviger_refused_requests_write_failures_total",
			Help: "Writes of the log of refused calls that failed and are tried again.",
		}),
	}
	r.MustRegister(m.dropped, m.failed)
	return m
}

// drop counts dropped calls. A nil Metrics counts nothing.
func (m *Metrics) drop(n int) {
	if m != nil {
		m.dropped.Add(float64(n))
	}
}

// fail counts a failed write. A nil Metrics counts nothing.
func (m *Metrics) fail() {
	if m != nil {
		m.failed.Inc()
	}
}
