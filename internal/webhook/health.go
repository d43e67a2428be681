package webhook

import (
	"context"
	"fmt"
	"time"

	"claviger/internal/outage"
	"claviger/internal/profile"
	"claviger/internal/sqldb"
)

// ParkAttempts is how many attempts an endpoint has at least before it is parked for its
// failures.
const ParkAttempts = 5

// An endpoint that gave nothing but so many failures, the last so long after the first, was
// out: its first success has what waits for a retry sent early. One that fails now and then
// keeps its schedule.
const (
	outAttempts = 5
	outTime     = 30 * time.Second
)

// takenEvery is how often the time of a success is written when nothing was wrong: each
// batch would be too often for an endpoint that takes a thousand a second.
const takenEvery = 10 * time.Second

// drain is what a lane sends before its time.
type drain int

const (
	drainNothing drain = iota
	drainWaiting       // what waits for a retry, but for what the endpoint asked us to wait with
	drainAll           // that, too: another URL said so
)

// Health is how an endpoint does: its row.
type Health struct {
	Changed      int64 // grows with each act on the endpoint
	partnerID    int64
	urlVersion   int64 // grows with each act that makes earlier answers say nothing
	failingSince time.Time
	failures     int
	parkedAt     time.Time // zero: open
	probeAt      time.Time
	probed       int64 // license of the last probe
	takenAt      time.Time
	errorAt      time.Time
	error        string
	draining     drain
	closed       bool // it takes nothing: no URL, or the partner is paused
}

const healthColumns = `partner_id, changed, url_version, failing_since, failures, parked_at, probe_at, probed, last_taken_at, last_error_at, last_error, draining, closed`

// Parked reports whether the endpoint gets nothing but probes.
func (h *Health) Parked() bool { return !h.parkedAt.IsZero() }

// Draining reports whether what waits for a retry is sent early.
func (h *Health) Draining() bool { return h.draining != drainNothing }

// out reports whether the endpoint was out until now, with the failures that a batch has
// before its first success.
func (h *Health) out(more streak, now time.Time) bool {
	since, last := h.failingSince, h.errorAt
	if since.IsZero() {
		since = more.since
	}
	if more.n > 0 {
		last = now
	}
	return h.failures+more.n >= outAttempts && last.Sub(since) >= outTime
}

func scanHealth(r *sqldb.Row, h *Health) error {
	return r.Scan(&h.partnerID, &h.Changed, &h.urlVersion, &h.failingSince, &h.failures, &h.parkedAt, &h.probeAt, &h.probed,
		&h.takenAt, &h.errorAt, &h.error, &h.draining, &h.closed)
}

// streak is failures in a row.
type streak struct {
	n     int
	since time.Time // when the first request was made
}

// tally is what a batch of answers says of an endpoint.
type tally struct {
	succeeded bool      // at some time
	url       string    // that did, the last time
	unproven  bool      // that URL was not known to work
	takenAt   time.Time // when the last success was answered
	before    streak    // failures before the first success
	relapsed  bool      // it failed between two successes
	failures  streak    // since the last success
	gone      bool      // likewise
	cause     string    // of the batch's first failure
	last      string    // of its last one
	exhausted int       // deliveries
	probed    int64     // license of a probe

	certificate time.Time // until when the last one that was seen is valid
	shownBy     string    // the URL that has it
}

// add takes one more attempt into account.
func (t *tally) add(a *Attempt) {
	if a.Probe {
		t.probed = a.LicenseID
	}
	if !a.CertificateUntil.IsZero() {
		t.certificate, t.shownBy = a.CertificateUntil, a.URL
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
		t.succeeded, t.url, t.unproven, t.takenAt = true, a.URL, !a.To.Proven, at
		t.failures, t.gone, t.last = streak{}, false, ""
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

// failed reports whether the endpoint failed at some time.
func (t *tally) failed() bool { return t.before.n > 0 || t.relapsed || t.failures.n > 0 }

// after is how the endpoint does after a batch of answers: a success ends what was
// failing and opens a parked endpoint, and nothing but failures for long enough parks it.
// The first success of one that was parked or out begins the draining. A failure ends it,
// also one with successes behind it: what failed would be sent again at once.
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
		h.failingSince, h.failures, h.parkedAt, h.probeAt = time.Time{}, 0, time.Time{}, time.Time{}
	}
	if t.failures.n > 0 {
		h.draining = drainNothing
		if h.failingSince.IsZero() {
			h.failingSince = t.failures.since
		}
		h.failures += t.failures.n
		h.errorAt, h.error = now, t.last
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

// writeHealth queues the row of an endpoint that the transaction has locked, and tells
// of its outage, which a success ends. Where an endpoint was well, that is looked at as
// often as the time of a success is written.
func writeHealth(tx *sqldb.Tx, partnerID int64, before, after Health, t *tally, now time.Time) {
	if after != before {
		tx.Queue(`UPDATE endpoints SET failing_since = $2, failures = $3, parked_at = $4, probe_at = $5, probed = $6, last_taken_at = $7,
				last_error_at = $8, last_error = $9, draining = $10, updated_at = $11 WHERE partner_id = $1`,
			partnerID, after.failingSince, after.failures, after.parkedAt, after.probeAt, after.probed, after.takenAt,
			after.errorAt, after.error, int(after.draining), now)
	}
	taken := t.succeeded && (!before.failingSince.IsZero() || after.takenAt != before.takenAt)
	if taken || t.failures.n > 0 || t.exhausted > 0 {
		outage.Note(tx, outage.Notice{PartnerID: partnerID, At: now, Failed: !t.succeeded, Exhausted: t.exhausted, Cause: t.cause})
	}
	if t.succeeded && t.unproven {
		profile.Worked(tx, partnerID, t.url, now)
	}
	if !t.certificate.IsZero() {
		profile.SawCertificate(tx, partnerID, t.shownBy, t.certificate)
	}
}

// MaxCounted is how many waiting deliveries EndpointHealth counts: enough to see that
// there are many, without reading a million rows.
const MaxCounted = 10_000

// EndpointHealth is how a partner's endpoint does, for operators.
type EndpointHealth struct {
	FailingSince  time.Time // zero: its last attempt succeeded, or there was none
	ParkedAt      time.Time // zero: it is not parked
	ProbeAt       time.Time // of a parked one: when it is probed next
	LastSuccessAt time.Time // to within takenEvery
	LastErrorAt   time.Time
	LastError     string // what the last failed attempt met, in words
	Waiting       int64  // deliveries that wait, up to MaxCounted
	More          bool   // there are more
}

// EndpointHealth tells how a partner's endpoint does and how much waits for it.
func (o *Outbox) EndpointHealth(ctx context.Context, partnerID int64) (EndpointHealth, error) {
	all, err := o.EndpointsHealth(ctx, []int64{partnerID}, MaxCounted)
	return all[partnerID], err
}

// EndpointVersions returns a text for each of the partners that changes with how its
// endpoint does.
func (o *Outbox) EndpointVersions(ctx context.Context, partnerIDs []int64) (map[int64]string, error) {
	found, err := sqldb.Versions(ctx, o.DB, partnerIDs, 7, `SELECT partner_id, changed, failing_since, failures, parked_at, probe_at, last_taken_at, last_error_at
		FROM endpoints WHERE partner_id = ANY($1)`)
	if err != nil {
		return nil, fmt.Errorf("read the versions of endpoints: %w", err)
	}
	return found, nil
}
