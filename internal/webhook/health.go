package webhook

import (
	"context"
	"errors"
	"fmt"
	"time"

	"claviger/internal/sqldb"
)

// MaxCounted is how many waiting deliveries EndpointHealth counts: enough to see
// that there are many, without reading a million rows.
const MaxCounted = 10_000

// EndpointHealth is how a partner's endpoint does.
type EndpointHealth struct {
	FailingSince  time.Time // zero: its last attempt succeeded, or there was none
	ParkedAt      time.Time // zero: it is not parked
	LastSuccessAt time.Time // to within successEvery
	LastErrorAt   time.Time
	LastError     string // what the last failed attempt met, in words
	Waiting       int64  // deliveries that wait, up to MaxCounted
	More          bool   // there are more
}

// EndpointHealth tells how a partner's endpoint does and how much waits for it.
func (o *Outbox) EndpointHealth(ctx context.Context, partnerID int64) (EndpointHealth, error) {
	var h EndpointHealth
	err := o.DB.Read(ctx, func(tx *sqldb.Tx) error {
		waiting := sqldb.QueueQuery(tx, sqldb.Value[int64], `SELECT count(*) FROM (
			SELECT 1 FROM outbox WHERE partner_id = $1 AND state = 1 LIMIT $2) AS waiting`, partnerID, MaxCounted+1)
		known, err := sqldb.One(ctx, tx, scanHealth, `SELECT failing_since, parked_at, last_success_at, last_error_at, last_error
			FROM endpoints WHERE partner_id = $1`, partnerID)
		if err != nil && !errors.Is(err, sqldb.ErrNone) {
			return err
		}
		h = known
		n, err := waiting.One(ctx)
		h.Waiting, h.More = min(n, MaxCounted), n > MaxCounted
		return err
	})
	if err != nil {
		return EndpointHealth{}, fmt.Errorf("read how the endpoint of partner %d does: %w", partnerID, err)
	}
	return h, nil
}

func scanHealth(r *sqldb.Row, h *EndpointHealth) error {
	return r.Scan(&h.FailingSince, &h.ParkedAt, &h.LastSuccessAt, &h.LastErrorAt, &h.LastError)
}

// successEvery is how often the time of a success is written: each batch would be
// too often for an endpoint that takes a thousand a second.
const successEvery = 10 * time.Second

// noteSuccess queues that the endpoint took a delivery, unless that was written a
// moment ago and is no news.
func (d *Dispatcher) noteSuccess(tx *sqldb.Tx, partnerID int64, news bool, now time.Time) {
	d.mu.Lock()
	l := d.lanes[partnerID]
	recent := l != nil && now.Sub(l.successAt) < successEvery && !now.Before(l.successAt)
	if l != nil && (news || !recent) {
		l.successAt = now
	}
	d.mu.Unlock()
	if recent && !news {
		return
	}
	tx.Queue(`INSERT INTO endpoints (partner_id, failing_since, failures, parked_at, probe_at, probed, updated_at, last_success_at)
		VALUES ($1, 0, 0, 0, 0, 0, $2, $2) ON CONFLICT (partner_id) DO UPDATE SET last_success_at = excluded.last_success_at`, partnerID, now)
}
