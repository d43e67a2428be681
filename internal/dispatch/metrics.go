package dispatch

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// Metrics counts attempts.
type Metrics struct {
	attempts   *prometheus.CounterVec
	duration   prometheus.Histogram
	superseded prometheus.Counter
}

// NewMetrics creates and registers the metrics.
func NewMetrics(r prometheus.Registerer) *Metrics {
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
		Name: "claviger_webhook_superseded_total", Help: "Events that were refused again and again, or waited " +
			"behind one, and made way for a newer event of their license.",
	})
	r.MustRegister(m.attempts, m.duration, m.superseded)
	return m
}

// attempt counts an attempt. A nil Metrics counts nothing.
func (m *Metrics) attempt(outcome string, took time.Duration) {
	if m == nil {
		return
	}
	m.attempts.WithLabelValues(outcome).Inc()
	m.duration.Observe(took.Seconds())
}

// supersede counts a superseded event. A nil Metrics counts nothing.
func (m *Metrics) supersede() {
	if m != nil {
		m.superseded.Inc()
	}
}
