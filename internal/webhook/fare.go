package webhook

import (
	"context"
	"time"

	"claviger/internal/outage"
	"claviger/internal/profile"
	"claviger/internal/sqldb"
)

// parkAttempts is how many attempts an endpoint has at least before it is
// parked for its failures.
const parkAttempts = 5

// tally is how an endpoint fared in a batch.
type tally struct {
	succeeded bool      // at some time
	url       string    // that did, the last time
	failures  int       // since then
	gone      bool      // likewise
	since     time.Time // of the first of those failures
	exhausted int       // over the whole batch
	cause     string    // of the batch's first failure
	last      string    // the cause of its last one
	failed    bool      // at some time
	taken     time.Time // when the last success was answered
}

// add takes one more attempt into account.
func (t *tally) add(r *result) {
	if r.ok {
		at := r.at.Add(r.took)
		if t.taken.After(at) {
			at = t.taken
		}
		*t = tally{succeeded: true, url: r.url, exhausted: t.exhausted, cause: t.cause, failed: t.failed, taken: at}
		return
	}
	t.failed = true
	if t.failures++; t.failures == 1 {
		t.since = r.at
	}
	t.last = r.cause()
	if t.cause == "" {
		t.cause = t.last
	}
	t.gone = t.gone || r.gone
	if r.finished {
		t.exhausted++
	}
}

// fortunes is what a batch changes of endpoints, known once it is committed.
type fortunes struct {
	tallies map[int64]*tally
	parked  map[int64]*sqldb.Result[time.Time]
}

// fare writes how the endpoints of a batch fare: a success ends what was
// failing, and nothing but failures for long enough parks the endpoint.
func (d *Dispatcher) fare(tx *sqldb.Tx, batch []*result, now time.Time) *fortunes {
	f := &fortunes{tallies: map[int64]*tally{}, parked: map[int64]*sqldb.Result[time.Time]{}}
	for _, r := range batch {
		t := f.tallies[r.partnerID]
		if t == nil {
			t = &tally{}
			f.tallies[r.partnerID] = t
		}
		t.add(r)
	}
	for _, id := range keys(f.tallies) {
		t := f.tallies[id]
		news := t.succeeded && d.ailing(id)
		if news {
			revive(tx, id, now)
		}
		if t.succeeded {
			d.prove(tx, id, t.url, now)
			d.noteSuccess(tx, id, news, now)
		}
		if t.failures > 0 {
			f.parked[id] = d.suffer(tx, id, t, now)
		}
		if t.succeeded && (news || t.failed) {
			noteTaken(tx, id, t.taken)
		}
		if news || t.failures > 0 || t.exhausted > 0 {
			outage.Note(tx, outage.Notice{PartnerID: id, At: now, Failed: !t.succeeded, Exhausted: t.exhausted, Cause: t.cause})
		}
	}
	return f
}

// prove notes that a URL which nobody has checked works: a delivery reached it. The
// lane may have another one by now.
func (d *Dispatcher) prove(tx *sqldb.Tx, partnerID int64, url string, now time.Time) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if l := d.lanes[partnerID]; l == nil || l.endpoint.URL != url || !l.endpoint.Proven {
		profile.Worked(tx, partnerID, url, now)
	}
}

// ailing is whether a success of the endpoint is news: unless it is known, as of
// a moment ago, that nothing was wrong with it.
func (d *Dispatcher) ailing(partnerID int64) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	l := d.lanes[partnerID]
	return l == nil || l.failing || !l.knownFor(d.Now(), 2*freshFor)
}

// apply tells lanes what became of their endpoints.
func (d *Dispatcher) apply(ctx context.Context, f *fortunes) {
	now := d.Now()
	d.mu.Lock()
	defer d.mu.Unlock()
	for id, t := range f.tallies {
		l := d.lanes[id]
		if l == nil {
			continue
		}
		l.failing = t.failures > 0
		l.endpoint.Proven = l.endpoint.Proven || t.succeeded && t.url == l.endpoint.URL
		e := l.endpoint
		if t.succeeded {
			e.ParkedAt = time.Time{}
		}
		if a := f.parked[id]; a != nil {
			if at, err := a.One(ctx); err == nil {
				e.ParkedAt, e.ProbeAt = at, now.Add(d.ProbeEvery)
			}
		}
		if e.ParkedAt != l.endpoint.ParkedAt {
			d.learn(l, e)
			d.wants[id] = true // what waited is due
			signal(d.wake)
		}
	}
	d.pump()
}

// revive ends a failing endpoint's trouble: it is open again, and what waited
// for a later time is due now.
func revive(tx *sqldb.Tx, partnerID int64, now time.Time) {
	tx.Queue(`UPDATE outbox SET due_at = $2 WHERE partner_id = $1 AND state = 1 AND due_at > $2
		AND EXISTS (SELECT 1 FROM endpoints WHERE partner_id = $1 AND parked_at <> 0)`, partnerID, now)
	tx.Queue(`UPDATE endpoints SET failing_since = 0, failures = 0, parked_at = 0, probe_at = 0, updated_at = $2
		WHERE partner_id = $1 AND failing_since <> 0`, partnerID, now)
}

// Revive opens a parked endpoint and makes what waits for a later time due, as a
// success would: called in the transaction that saves another webhook URL, since
// what the old one did says nothing of the new.
func (o *Outbox) Revive(tx *sqldb.Tx, partnerID int64) {
	now := o.Now()
	tx.Queue(`UPDATE outbox SET due_at = $2 WHERE partner_id = $1 AND state = 1 AND due_at > $2`, partnerID, now)
	revive(tx, partnerID, now)
	forgetRefusals(tx, partnerID)
	tx.AfterCommit(func() { o.Dispatcher.InvalidateEndpoint(partnerID) })
}

// suffer counts failures and parks the endpoint when it is time; it answers
// since when it is parked, if that is from now on.
func (d *Dispatcher) suffer(tx *sqldb.Tx, partnerID int64, t *tally, now time.Time) *sqldb.Result[time.Time] {
	tx.Queue(`INSERT INTO endpoints (partner_id, failing_since, failures, parked_at, probe_at, probed, updated_at, last_error_at, last_error)
		VALUES ($1, $2, $3, 0, 0, 0, $4, $4, $5)
		ON CONFLICT (partner_id) DO UPDATE SET failures = endpoints.failures + excluded.failures, updated_at = excluded.updated_at,
			last_error_at = excluded.last_error_at, last_error = excluded.last_error,
			failing_since = CASE WHEN endpoints.failing_since = 0 THEN excluded.failing_since ELSE endpoints.failing_since END`,
		partnerID, t.since, t.failures, now, t.last)
	return sqldb.QueueQuery(tx, sqldb.Value[time.Time], `UPDATE endpoints SET parked_at = $2, probe_at = $3 WHERE partner_id = $1 AND parked_at = 0
		AND ($4 OR failures >= $5 AND failing_since <= $6) RETURNING parked_at`,
		partnerID, now, now.Add(d.ProbeEvery), t.gone, parkAttempts, now.Add(-d.ParkAfter))
}
