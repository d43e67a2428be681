package webhook

import (
	"context"
	"fmt"
	"slices"
	"time"

	"claviger/internal/courier"
	"claviger/internal/outage"
	"claviger/internal/sqldb"
)

// Supersede says when an event that its endpoint keeps refusing makes way for a
// newer event of the same license.
type Supersede struct {
	After    time.Duration // since the first refusal, at least
	Attempts int           // that were refused, at least
}

// refusals is what is known of an event that was refused.
type refusals struct {
	eventID   int64
	partnerID int64
	licenseID int64
	n         int
	since     time.Time // of the first
	alone     bool      // it was refused although another event had been taken since the first refusal
	newest    int64     // open event of the license
}

// applies reports whether the event ends as superseded: it was refused often enough
// over a long enough time, while the endpoint took others, and a newer event of the
// license waits behind it. Where nothing is taken, the endpoint is out of order, and
// all events wait.
func (s Supersede) applies(r refusals, now time.Time) bool {
	return r.n >= s.Attempts && !r.since.IsZero() && now.Sub(r.since) >= s.After && r.alone && r.newest > r.eventID
}

// refuses reports whether an answer that did not take an event refuses it as such:
// one that says no, or an error of the request that does not only ask to wait.
func refuses(status int, body string) bool {
	switch {
	case status == 408, status == gone, status == 425, status == 429:
		return false
	case status >= 400 && status < 500:
		return true
	}
	return status >= 200 && status < 300 && courier.Success(body) == courier.SaysNo
}

// superseding is which licenses to look at for refused events; guarded by the
// dispatcher's lock but for the time, which is the round's own.
type superseding struct {
	licenses map[int64]bool
	all      bool
	at       time.Time // when all were looked at
}

const (
	supersedeEvery = 10 * time.Second // all are looked at
	mostLicenses   = 1000             // looked at by name, and how many events at a time
)

// reconsider has the dispatcher see whether a refused event of a license makes way.
func (d *Dispatcher) reconsider(licenseID int64) {
	if d == nil || d.wake == nil {
		return
	}
	d.mu.Lock()
	if s := &d.supersedes; len(s.licenses) < mostLicenses {
		if s.licenses == nil {
			s.licenses = map[int64]bool{}
		}
		s.licenses[licenseID] = true
	} else {
		s.all = true
	}
	d.mu.Unlock()
	signal(d.wake)
}

// supersede ends the refused events that make way: of the licenses that were named,
// and now and then of all, since whoever named one may have ended before it was seen to.
func (d *Dispatcher) supersede(ctx context.Context) error {
	now := d.Now()
	d.mu.Lock()
	named, all := keys(d.supersedes.licenses), d.supersedes.all
	d.supersedes.licenses, d.supersedes.all = nil, false
	d.mu.Unlock()
	if since := now.Sub(d.supersedes.at); all || since >= supersedeEvery || since < 0 {
		d.supersedes.at, all = now, true
	}
	if len(named) == 0 && !all || d.Supersede.Attempts <= 0 {
		return nil
	}
	found, err := d.refused(ctx, named, all)
	if err != nil {
		return fmt.Errorf("look for refused events: %w", err)
	}
	found = slices.DeleteFunc(found, func(r refusals) bool { return !d.Supersede.applies(r, now) })
	if len(found) == 0 {
		return nil
	}
	if err := d.makeWay(ctx, now, found); err != nil {
		return fmt.Errorf("supersede refused events: %w", err)
	}
	return nil
}

// refused reads what is known of refused events.
func (d *Dispatcher) refused(ctx context.Context, licenses []int64, all bool) ([]refusals, error) {
	which, args := ` AND h.license_id = ANY($1)`, []any{licenses}
	if all {
		which, args = ``, nil
	}
	return sqldb.All(ctx, d.DB, func(r *sqldb.Row, v *refusals) error {
		return r.Scan(&v.eventID, &v.partnerID, &v.licenseID, &v.n, &v.since, &v.alone, &v.newest)
	}, `SELECT event_id, partner_id, license_id, refusals, refused_since, refused_alone, newest FROM (
			SELECT h.event_id, h.partner_id, h.license_id, h.refusals, h.refused_since, h.refused_alone,
				(SELECT max(n.event_id) FROM outbox AS n WHERE n.license_id = h.license_id AND n.state = 1) AS newest
			FROM outbox AS h WHERE h.state = 1 AND h.refused_alone = TRUE`+which+`) AS r
		WHERE newest > event_id ORDER BY refused_since LIMIT 1000`, args...)
}

// makeWay ends refused events, and with each what waits between it and the newest of
// its license, which is due now: it says all that the license became. One that may be
// on its way is left alone until its answer is recorded: it is due, or another node has it.
func (d *Dispatcher) makeWay(ctx context.Context, now time.Time, found []refusals) error {
	type ended struct{ eventID, partnerID, licenseID int64 }
	scan := func(r *sqldb.Row, e *ended) error { return r.Scan(&e.eventID, &e.partnerID, &e.licenseID) }
	var list []ended
	err := d.DB.Write(ctx, func(tx *sqldb.Tx) error {
		heads, err := unsearched(ctx, tx, found)
		if err != nil {
			return err
		}
		list, err = sqldb.All(ctx, tx, scan, `UPDATE outbox SET state = 4, node = '', lease_until = 0, updated_at = $2
			WHERE event_id = ANY($1) AND state = 1 AND lease_until <= $2 AND due_at > $2
				AND license_id NOT IN (SELECT elements.value FROM leases AS l, `+tx.Unnest("l.licenses")+` WHERE l.partner_id = outbox.partner_id AND l.node <> $3)
			RETURNING event_id, partner_id, license_id`, heads, now, d.node)
		if err != nil || len(list) == 0 {
			return err
		}
		licenses := make([]int64, len(list))
		for i, e := range list {
			licenses[i] = e.licenseID
		}
		between, err := sqldb.All(ctx, tx, scan, `UPDATE outbox SET state = 4, node = '', lease_until = 0, updated_at = $2
			WHERE license_id = ANY($1) AND state = 1 AND lease_until <= $2
				AND event_id < (SELECT max(n.event_id) FROM outbox AS n WHERE n.license_id = outbox.license_id AND n.state = 1)
			RETURNING event_id, partner_id, license_id`, licenses, now)
		if err != nil {
			return err
		}
		list = append(list, between...)
		tx.Queue(`UPDATE outbox SET due_at = $2 WHERE license_id = ANY($1) AND state = 1 AND due_at > $2`, licenses, now)
		partners := map[int64]int{}
		for _, e := range list {
			partners[e.partnerID]++
		}
		for _, id := range keys(partners) {
			outage.Superseded(tx, id, now, partners[id])
		}
		return nil
	})
	if err != nil {
		return err
	}
	for _, e := range list {
		d.Log.Info("webhook superseded by a newer event of its license", "event_id", e.eventID, "partner_id", e.partnerID)
		d.Metrics.supersede()
		d.missed(&item{partnerID: e.partnerID, licenseID: e.licenseID, dueAt: now})
	}
	return nil
}

// unsearched is the events of partners for whom no other node looks for deliveries just
// now, nor will before the transaction ends.
func unsearched(ctx context.Context, tx *sqldb.Tx, found []refusals) ([]int64, error) {
	turns := map[int64]*sqldb.Result[bool]{}
	for _, r := range found {
		if turns[r.partnerID] == nil {
			turns[r.partnerID] = tx.TryLock(searching(r.partnerID))
		}
	}
	var heads []int64
	for _, r := range found {
		ours, err := turns[r.partnerID].One(ctx)
		if err != nil {
			return nil, err
		}
		if ours {
			heads = append(heads, r.eventID)
		}
	}
	return heads, nil
}

// countRefusal counts that an open event was refused, in the transaction that records
// it.
func countRefusal(tx *sqldb.Tx, r *result) {
	tx.Queue(`UPDATE outbox SET refusals = refusals + 1,
			refused_since = CASE WHEN refused_since = 0 THEN $2 ELSE refused_since END,
			refused_alone = refused_alone = TRUE OR refused_since <> 0 AND EXISTS (SELECT 1 FROM endpoints AS e
				WHERE e.partner_id = outbox.partner_id AND e.last_taken_at > outbox.refused_since AND e.last_taken_at <= $3)
		WHERE event_id = $1 AND state = 1`, r.eventID, r.at.Add(r.took), r.at)
}

// noteTaken keeps when an endpoint last took an event, if another that it refused is
// open: that is what it is compared with.
func noteTaken(tx *sqldb.Tx, partnerID int64, at time.Time) {
	tx.Queue(`INSERT INTO endpoints (partner_id, failing_since, failures, parked_at, probe_at, probed, updated_at, last_taken_at)
		SELECT CAST($1 AS bigint), 0, 0, 0, 0, 0, CAST($2 AS bigint), CAST($2 AS bigint)
		WHERE EXISTS (SELECT 1 FROM outbox WHERE partner_id = $1 AND state = 1 AND refusals > 0)
		ON CONFLICT (partner_id) DO UPDATE SET last_taken_at = excluded.last_taken_at WHERE endpoints.last_taken_at < excluded.last_taken_at`, partnerID, at)
}

// forgetRefusals starts the count of refusals anew: those of another URL say nothing.
func forgetRefusals(tx *sqldb.Tx, partnerID int64) {
	tx.Queue(`UPDATE outbox SET refusals = 0, refused_since = 0, refused_alone = FALSE WHERE partner_id = $1 AND state = 1 AND refusals > 0`, partnerID)
}
