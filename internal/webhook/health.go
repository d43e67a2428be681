package webhook

import (
	"context"
	"fmt"
	"time"

	"claviger/internal/outage"
	"claviger/internal/profile"
	"claviger/internal/sqldb"
)

// ParkAttempts is the minimum number of failed attempts before an endpoint is parked.
const ParkAttempts = 5

// An endpoint with at least outAttempts failures in a row over outTime had an outage: after its
// first success, waiting retries are sent early. An endpoint that fails occasionally keeps its
// schedule.
const (
	outAttempts = 5
	outTime     = 30 * time.Second
)

// takenEvery is how often the time of a success is stored while the endpoint is healthy. Every
// batch would be too often for an endpoint that accepts a thousand events a second.
const takenEvery = 10 * time.Second

// drain selects the deliveries that a lane sends early.
type drain int

const (
	drainNothing drain = iota
	drainWaiting       // retries, except those the endpoint asked to delay
	drainAll           // those too: the URL changed
)

// Health is the stored health of an endpoint.
type Health struct {
	Changed      int64 // incremented by each change of the endpoint
	partnerID    int64
	urlVersion   int64 // incremented by each change that makes earlier answers irrelevant
	failingSince time.Time
	failures     int
	parkedAt     time.Time // zero: open
	probeAt      time.Time
	probed       int64 // license of the last probe
	takenAt      time.Time
	errorAt      time.Time
	error        string
	draining     drain
	closed       bool // accepts nothing: no URL, or the partner is paused
}

// selectHealth reads the rows of endpoints; the condition on the partner follows.
const selectHealth = `SELECT partner_id, changed, url_version, failing_since, failures, parked_at, probe_at, probed,
	last_taken_at, last_error_at, last_error, draining, closed FROM endpoints WHERE partner_id `

// Parked reports whether the endpoint gets only probes.
func (h *Health) Parked() bool { return !h.parkedAt.IsZero() }

// Draining reports whether waiting retries are sent early.
func (h *Health) Draining() bool { return h.draining != drainNothing }

// out reports whether the endpoint had an outage, including a batch's failures before its first
// success.
func (h *Health) out(more streak, now time.Time) bool {
	since := h.failingSince
	last := h.errorAt
	if since.IsZero() {
		since = more.since
	}
	if more.n > 0 {
		last = now
	}
	return h.failures+more.n >= outAttempts && last.Sub(since) >= outTime
}

func scanHealth(r *sqldb.Row, h *Health) error {
	return r.Scan(&h.partnerID, &h.Changed, &h.urlVersion, &h.failingSince, &h.failures, &h.parkedAt, &h.probeAt,
		&h.probed, &h.takenAt, &h.errorAt, &h.error, &h.draining, &h.closed)
}

// streak counts failures in a row.
type streak struct {
	n     int
	since time.Time // time of the first request
}

// tally summarizes a batch of answers for one endpoint.
type tally struct {
	succeeded bool      // at least once
	url       string    // of the last success
	unproven  bool      // that URL was not yet known to work
	takenAt   time.Time // when the last success was answered
	before    streak    // failures before the first success
	relapsed  bool      // it failed between two successes
	failures  streak    // since the last success
	gone      bool      // asked to stop since the last success
	cause     string    // of the batch's first failure
	last      string    // of its last one
	exhausted int       // deliveries
	probed    int64     // license of a probe

	certificate time.Time // expiry of the last certificate seen
	shownBy     string    // URL that presented it
}

// add counts one more attempt.
func (t *tally) add(a *Attempt) {
	if a.Probe {
		t.probed = a.LicenseID
	}
	if !a.CertificateUntil.IsZero() {
		t.certificate = a.CertificateUntil
		t.shownBy = a.URL
	}
	if a.OK {
		at := a.At.Add(a.Took)
		if t.takenAt.After(at) {
			at = t.takenAt
		}
		if t.succeeded {
			t.relapsed = t.relapsed || t.failures.n > 0
		} else {
			t.before = t.failures
		}
		t.succeeded = true
		t.url = a.URL
		t.unproven = !a.To.Proven
		t.takenAt = at
		t.failures = streak{}
		t.gone = false
		t.last = ""
		return
	}
	if t.failures.n++; t.failures.n == 1 {
		t.failures.since = a.At
	}
	t.last = a.Cause()
	if t.cause == "" {
		t.cause = t.last
	}
	t.gone = t.gone || a.gone()
	if a.Finished {
		t.exhausted++
	}
}

// failed reports whether the endpoint failed at least once.
func (t *tally) failed() bool { return t.before.n > 0 || t.relapsed || t.failures.n > 0 }

// after returns the health after a batch of answers. A success ends a failing period and opens a
// parked endpoint. Failures only, for long enough, park it.
//
// The first success after an outage or parking starts draining. A failure ends draining, even with
// later successes: the failed delivery would be resent immediately.
func (h Health) after(t *tally, now time.Time, p Policy) Health {
	if t.failed() {
		h.draining = drainNothing
	}
	if t.succeeded {
		if (h.Parked() || h.out(t.before, now)) && !t.relapsed {
			h.draining = drainWaiting
		}
		if age := now.Sub(h.takenAt); t.failed() || !h.failingSince.IsZero() || age < 0 || age >= takenEvery {
			h.takenAt = t.takenAt
		}
		h.failingSince = time.Time{}
		h.failures = 0
		h.parkedAt = time.Time{}
		h.probeAt = time.Time{}
	}
	if t.failures.n > 0 {
		h.draining = drainNothing
		if h.failingSince.IsZero() {
			h.failingSince = t.failures.since
		}
		h.failures += t.failures.n
		h.errorAt = now
		h.error = t.last
		if !h.Parked() && (t.gone || h.failures >= ParkAttempts && !h.failingSince.After(now.Add(-p.ParkAfter))) {
			h.parkedAt, h.probeAt = now, now.Add(p.ProbeEvery)
		}
	}
	if t.probed != 0 {
		h.probed = t.probed
		if h.Parked() {
			h.probeAt = now.Add(p.ProbeEvery)
		}
	}
	return h
}

// writeHealth queues the update of an endpoint that the transaction has locked. It also reports
// failures and successes to outage; a success ends the outage. Successes of a healthy endpoint are
// reported only as often as their time is stored.
func writeHealth(tx *sqldb.Tx, partnerID int64, before, after Health, t *tally, now time.Time) {
	if after != before {
		tx.Queue(`UPDATE endpoints SET failing_since = $2, failures = $3, parked_at = $4, probe_at = $5, probed = $6,
			last_taken_at = $7, last_error_at = $8, last_error = $9, draining = $10, updated_at = $11
			WHERE partner_id = $1`,
			partnerID, after.failingSince, after.failures, after.parkedAt, after.probeAt, after.probed, after.takenAt,
			after.errorAt, after.error, int(after.draining), now)
	}
	taken := t.succeeded && (!before.failingSince.IsZero() || after.takenAt != before.takenAt)
	if taken || t.failures.n > 0 || t.exhausted > 0 {
		outage.Note(tx, outage.Notice{
			PartnerID: partnerID, At: now, Failed: !t.succeeded, Exhausted: t.exhausted, Cause: t.cause,
		})
	}
	if t.succeeded && t.unproven {
		profile.Worked(tx, partnerID, t.url, now)
	}
	if !t.certificate.IsZero() {
		profile.SawCertificate(tx, partnerID, t.shownBy, t.certificate)
	}
}

// MaxCounted is the limit up to which EndpointHealth counts waiting deliveries: enough to see that
// there are many, without reading a million rows.
const MaxCounted = 10_000

// EndpointHealth is the health of a partner's endpoint, for operators.
type EndpointHealth struct {
	FailingSince  time.Time // zero: the last attempt succeeded, or there was none
	ParkedAt      time.Time // zero: not parked
	ProbeAt       time.Time // next probe, if parked
	LastSuccessAt time.Time // accurate to takenEvery
	LastErrorAt   time.Time
	LastError     string // cause of the last failed attempt
	Waiting       int64  // deliveries, up to MaxCounted
	More          bool   // there are more
}

// EndpointHealth returns the health of a partner's endpoint and the number of waiting deliveries.
func (o *Outbox) EndpointHealth(ctx context.Context, partnerID int64) (EndpointHealth, error) {
	all, err := o.EndpointsHealth(ctx, []int64{partnerID}, MaxCounted)
	return all[partnerID], err
}

// EndpointVersions returns a string per partner that changes with the health of its endpoint.
func (o *Outbox) EndpointVersions(ctx context.Context, partnerIDs []int64) (map[int64]string, error) {
	found, err := sqldb.Versions(ctx, o.DB, partnerIDs, 7, `SELECT partner_id, changed, failing_since, failures,
		parked_at, probe_at, last_taken_at, last_error_at FROM endpoints WHERE partner_id = ANY($1)`)
	if err != nil {
		return nil, fmt.Errorf("read the versions of endpoints: %w", err)
	}
	return found, nil
}
