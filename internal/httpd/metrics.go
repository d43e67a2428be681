package httpd

import (
	"cmp"
	"errors"
	"log/slog"
	"net/http"
	"net/http/pprof"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"claviger/internal/wire"
)

// meter counts requests. All label values come from us (route patterns, known methods, status
// classes), so clients cannot add any.
type meter struct {
	total    *prometheus.CounterVec
	duration *prometheus.HistogramVec
	inFlight prometheus.Gauge
}

func newMeter(reg prometheus.Registerer) (*meter, error) {
	m := &meter{
		total: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "claviger_http_requests_total",
			Help: "Requests answered, by route pattern, method and class of status.",
		}, []string{"route", "method", "class"}),
		duration: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name:    "claviger_http_request_duration_seconds",
			Help:    "Time from the request header to the end of the answer.",
			Buckets: []float64{.0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30},
		}, []string{"route", "method"}),
		inFlight: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "claviger_http_requests_in_flight",
			Help: "Requests being served at this moment.",
		}),
	}
	return m, errors.Join(reg.Register(m.total), reg.Register(m.duration), reg.Register(m.inFlight))
}

// observe counts a request. The duration of a stream says nothing about speed, so it is not
// counted.
func (m *meter) observe(note *wire.RequestLog, method string, status int, took time.Duration) {
	route := cmp.Or(note.Route, "none")
	switch method {
	case http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete,
		http.MethodOptions:
	default:
		method = "other"
	}
	m.total.WithLabelValues(route, method, strconv.Itoa(status/100)+"xx").Inc()
	if note.Stream {
		return
	}
	m.duration.WithLabelValues(route, method).Observe(took.Seconds())
}

// newAdmin returns the server of the admin listener, which only operators and their monitoring
// should reach.
func (s *Server) newAdmin() *http.Server {
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", promhttp.HandlerFor(s.Metrics, promhttp.HandlerOpts{Registry: s.Metrics}))
	mux.Handle("/", s.healthMux())
	return s.newInner(mux)
}

// newPprof returns the server of profiles. Monitoring needs none of them, and they show what is in
// memory, so they have an address of their own.
func (s *Server) newPprof() *http.Server {
	mux := http.NewServeMux()
	mux.HandleFunc("/debug/pprof/", pprof.Index)
	mux.HandleFunc("/debug/pprof/cmdline", pprof.Cmdline)
	mux.HandleFunc("/debug/pprof/profile", pprof.Profile)
	mux.HandleFunc("/debug/pprof/symbol", pprof.Symbol)
	mux.HandleFunc("/debug/pprof/trace", pprof.Trace)
	return s.newInner(mux)
}

// newInner returns a server for operators. A profile takes as long as requested, so there is no
// write timeout.
func (s *Server) newInner(mux *http.ServeMux) *http.Server {
	return &http.Server{
		Handler:           s.ownHost(mux),
		ReadHeaderTimeout: s.times.Header,
		ReadTimeout:       s.times.Read,
		IdleTimeout:       s.times.Idle,
		MaxHeaderBytes:    DefaultMaxHeaderBytes,
		ErrorLog:          slog.NewLogLogger(s.Log.Handler(), slog.LevelWarn),
	}
}
