package app

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/url"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"claviger/internal/sqldb"
)

// diskFigures reports the space for the database's files. PostgreSQL has them elsewhere, so there
// it reports nothing.
type diskFigures struct{ db *sqldb.DB }

var (
	diskFreeDesc = prometheus.NewDesc(
		"claviger_database_disk_free_bytes", "Free space for the files of the database; only of SQLite.", nil, nil,
	)
	diskSizeDesc = prometheus.NewDesc(
		"claviger_database_disk_bytes", "Size of the disk with the files of the database; only of SQLite.", nil, nil,
	)
)

// Describe implements prometheus.Collector.
func (f diskFigures) Describe(ch chan<- *prometheus.Desc) {
	ch <- diskFreeDesc
	ch <- diskSizeDesc
}

// Collect implements prometheus.Collector.
func (f diskFigures) Collect(ch chan<- prometheus.Metric) {
	d, known := f.db.Disk()
	if !known {
		return
	}
	ch <- prometheus.MustNewConstMetric(diskFreeDesc, prometheus.GaugeValue, float64(d.Free))
	ch <- prometheus.MustNewConstMetric(diskSizeDesc, prometheus.GaugeValue, float64(d.Total))
}

// Interval and timeout of the check of the certificate.
const (
	certificateEvery = time.Hour
	certificateTime  = 10 * time.Second
)

// certificate reports when the certificate of the public URL expires. It asks only while someone
// scrapes, at most once per certificateEvery, and never during a scrape. If the address stops
// answering, the last expiry is still reported, because it is still true.
type certificate struct {
	host string // host and port; "": the public URL has no certificate
	now  func() time.Time
	log  *slog.Logger
	due  chan struct{} // a scrape found that a check is due

	mu      sync.Mutex
	asked   time.Time // of the last check that a scrape asked for
	expires time.Time // zero: not known yet
}

// newCertificate returns the metric for a public URL.
func newCertificate(publicURL string, now func() time.Time, log *slog.Logger) *certificate {
	c := &certificate{now: now, log: log, due: make(chan struct{}, 1)}
	if u, err := url.Parse(publicURL); err == nil && u.Scheme == "https" {
		c.host = net.JoinHostPort(u.Hostname(), portOf(u))
	}
	return c
}

// portOf returns the port of an http or https URL.
func portOf(u *url.URL) string {
	switch {
	case u.Port() != "":
		return u.Port()
	case u.Scheme == "https":
		return "443"
	}
	return "80"
}

var expiryDesc = prometheus.NewDesc(
	"claviger_certificate_expiry_timestamp_seconds", "When the certificate of the public URL expires.", nil, nil,
)

// Describe implements prometheus.Collector.
func (c *certificate) Describe(ch chan<- *prometheus.Desc) { ch <- expiryDesc }

// Collect implements prometheus.Collector.
func (c *certificate) Collect(ch chan<- prometheus.Metric) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if now := c.now(); c.host != "" && now.Sub(c.asked).Abs() >= certificateEvery {
		c.asked = now
		select {
		case c.due <- struct{}{}:
		default: // the last one was not begun
		}
	}
	if !c.expires.IsZero() {
		ch <- prometheus.MustNewConstMetric(expiryDesc, prometheus.GaugeValue, float64(c.expires.Unix()))
	}
}

// Run makes the checks until ctx ends.
func (c *certificate) Run(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-c.due:
		}
		at, err := expiryAt(ctx, c.host)
		if err != nil {
			c.log.Warn("the certificate of the public URL could not be read from here", "host", c.host, "err", err)
			continue
		}
		c.mu.Lock()
		c.expires = at
		c.mu.Unlock()
	}
}

// expiryAt reads when the certificate at an address expires.
func expiryAt(ctx context.Context, address string) (time.Time, error) {
	ctx, cancel := context.WithTimeout(ctx, certificateTime)
	defer cancel()
	// An expired or wrong certificate must be read, too, and nothing is sent to the server.
	d := tls.Dialer{Config: &tls.Config{InsecureSkipVerify: true}} //nolint:gosec // see above
	conn, err := d.DialContext(ctx, "tcp", address)
	if err != nil {
		return time.Time{}, fmt.Errorf("read the certificate: %w", err)
	}
	defer conn.Close() //nolint:errcheck // nothing was written
	if t, ok := conn.(*tls.Conn); ok && len(t.ConnectionState().PeerCertificates) > 0 {
		return t.ConnectionState().PeerCertificates[0].NotAfter, nil
	}
	return time.Time{}, errors.New("the server has no certificate")
}
