package webhook

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"claviger/internal/cluster"
	"claviger/internal/courier"
	"claviger/internal/outage"
	"claviger/internal/sqldb"
)

// Supersede defines when a newer event of the same license replaces an event that its endpoint
// keeps refusing.
type Supersede struct {
	After    time.Duration // minimum time since the first refusal
	Attempts int           // minimum number of refusals
}

// refusals counts the refusals of a pending event.
type refusals struct {
	n      int
	since  time.Time // of the first
	alone  bool      // refused although another event was accepted since the first refusal
	newest int64     // newest pending event of the license
}

// after counts one more refusal by an endpoint that last accepted an event at takenAt. Events
// accepted after this request was sent are ignored; the time known when it was sent counts.
func (r refusals) after(refused *Attempt, takenAt time.Time) refusals {
	if takenAt.After(refused.At) {
		takenAt = refused.To.takenAt
	}
	r.n++
	r.alone = r.alone || !r.since.IsZero() && takenAt.After(r.since)
	if r.since.IsZero() {
		r.since = refused.At.Add(refused.Took)
	}
	return r
}

// applies reports whether the event is superseded: it was refused often and long enough while the
// endpoint accepted others, and a newer event of the license waits. If the endpoint accepts
// nothing, it is broken and all events wait.
func (s Supersede) applies(h head, now time.Time) bool {
	return s.Attempts > 0 && h.n >= s.Attempts && !h.since.IsZero() && now.Sub(h.since) >= s.After && h.alone &&
		h.newest > h.EventID
}

// Refuses reports whether an unsuccessful answer rejects this particular event: a body that says
// no, or a 4xx status that does not only ask to wait.
func Refuses(status int, body string) bool {
	switch {
	case status == 408, status == statusGone, status == 425, status == 429:
		return false
	case status >= 400 && status < 500:
		return true
	}
	return status >= 200 && status < 300 && courier.Success(body) == courier.SaysNo
}

// supersede ends refused events that qualify, and the events between each and the newest of its
// license. The newest is due now: it contains the complete state of the license. The endpoints must
// be locked. A redelivery since the read wins: that event is sent first. It returns the licenses.
func (s *Store) supersede(ctx context.Context, tx *sqldb.Tx, refused []head, now time.Time) (map[int64]bool, error) {
	refused = slices.DeleteFunc(refused, func(h head) bool { return h.n < s.Policy.Supersede.Attempts || !h.alone })
	if len(refused) == 0 || s.Policy.Supersede.Attempts <= 0 {
		return nil, nil
	}
	generation := make(map[int64]int64, len(refused))
	for _, h := range refused {
		generation[h.EventID] = h.Generation
	}
	heads, err := sqldb.All(ctx, tx, scanHead, `SELECT `+headColumns+`, `+newestOpen+` FROM outbox AS h
		WHERE h.event_id = ANY($1) AND h.`+IsPending+` AND `+isFirst, slices.Sorted(maps.Keys(generation)))
	if err != nil {
		return nil, fmt.Errorf("look for newer events: %w", err)
	}
	licenses := map[int64]bool{}
	for _, h := range heads {
		if h.Generation == generation[h.EventID] && s.Policy.Supersede.applies(h, now) {
			licenses[h.LicenseID] = true
		}
	}
	if len(licenses) == 0 {
		return nil, nil
	}
	return licenses, s.makeWay(ctx, tx, slices.Sorted(maps.Keys(licenses)), now)
}

// makeWay ends all but the newest pending event of licenses.
func (s *Store) makeWay(ctx context.Context, tx *sqldb.Tx, licenses []int64, now time.Time) error {
	type ended struct{ eventID, partnerID int64 }
	list, err := sqldb.All(ctx, tx, func(r *sqldb.Row, e *ended) error { return r.Scan(&e.eventID, &e.partnerID) },
		`UPDATE outbox SET state = $3, updated_at = $2 WHERE license_id = ANY($1) AND `+IsPending+`
			AND event_id < (SELECT max(n.event_id) FROM outbox AS n
			WHERE n.license_id = outbox.license_id AND n.`+IsPending+`)
		RETURNING event_id, partner_id`, licenses, now, int(Superseded))
	if err != nil {
		return fmt.Errorf("supersede refused events: %w", err)
	}
	tx.Queue(`UPDATE outbox SET due_at = $2 WHERE license_id = ANY($1) AND `+IsPending+`
		AND due_at > $2`, licenses, now)
	partners := map[int64]int{}
	for _, e := range list {
		partners[e.partnerID]++
	}
	for _, id := range slices.Sorted(maps.Keys(partners)) {
		outage.Superseded(tx, id, now, partners[id])
	}
	tx.AfterCommit(func() {
		for _, e := range list {
			s.Superseded(e.eventID, e.partnerID)
		}
	})
	return nil
}

// supersedeWaiting ends refused events with a newer one behind them. None of them is in flight,
// because their lane makes the call.
func (s *Store) supersedeWaiting(ctx context.Context, claim cluster.Claim, refused []head, now time.Time) error {
	return s.DB.Write(ctx, func(tx *sqldb.Tx) error {
		fence := s.Node.Fence(tx, []cluster.Claim{claim})
		tx.Queue(`UPDATE endpoints SET updated_at = $2 WHERE partner_id = $1`, refused[0].PartnerID, now) // locks it
		held, err := fence.Held(ctx)
		if err != nil || !held(claim) {
			return err
		}
		_, err = s.supersede(ctx, tx, refused, now)
		return err
	})
}
