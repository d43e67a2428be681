// Package webhook owns the outbox of deliveries to partners and the record of
// what each attempt met: the tables deliveries and webhook_responses. A delivery
// is written in the transaction of its event, so none can be lost. The record
// is public to its partner.
package webhook

import (
	"context"
	"fmt"
	"time"

	"claviger/internal/audit"
	"claviger/internal/fault"
	"claviger/internal/sqldb"
)

// Outbox holds the deliveries that are to be made.
type Outbox struct {
	DB  *sqldb.DB
	Now func() time.Time
}

// state is where a delivery stands.
type state int

const (
	pending   state = iota + 1 // due at its time
	delivered                  // the partner took it
	exhausted                  // every attempt failed; it can be redelivered
)

// Delivery is an event on its way to its partner.
type Delivery struct {
	EventID   int64
	PartnerID int64
	LicenseID int64
}

// Enqueue queues a delivery that is due at once, in the event's transaction.
func Enqueue(tx *sqldb.Tx, d Delivery, at time.Time) {
	tx.Queue(`INSERT INTO deliveries (event_id, partner_id, license_id, state, attempts, due_at, lease_until, created_at, updated_at)
		VALUES ($1, $2, $3, $4, 0, $5, 0, $5, $5)`,
		d.EventID, d.PartnerID, d.LicenseID, int(pending), at)
}

// again puts deliveries back to where a new one begins. When an event is not the
// newest of its license, the newest follows it, so that no partner is left in
// the past: that is the second half of the condition.
const again = `UPDATE deliveries SET state = 1, attempts = 0, due_at = $1, updated_at = $1
	WHERE state <> 1 AND (event_id = $2 OR event_id = (
		SELECT max(newer.event_id) FROM deliveries AS newer
		WHERE newer.license_id = (SELECT license_id FROM deliveries WHERE event_id = $2)))`

// Redeliver makes an event due again, and the newest of its license after it.
// partnerID 0 stands for any partner; another partner's event is as good as
// none. A delivery still under way stays as it is.
func (o *Outbox) Redeliver(ctx context.Context, by audit.Actor, partnerID, eventID int64) error {
	return o.DB.Write(ctx, func(tx *sqldb.Tx) error {
		n, err := sqldb.One(ctx, tx, sqldb.Value[int64],
			`SELECT count(*) FROM deliveries WHERE event_id = $1 AND (partner_id = $2 OR $2 = 0)`, eventID, partnerID)
		if err != nil {
			return fmt.Errorf("find the delivery of event %d: %w", eventID, err)
		}
		if n == 0 {
			return fault.New(fault.Missing, "unknown_event", "There is no event %d; event ids are in the list of events.", eventID)
		}
		tx.Queue(again, o.Now(), eventID)
		audit.Record(tx, o.Now(), by, "event.redeliver", fmt.Sprintf("event:%d", eventID), nil, nil)
		return nil
	})
}

// RedeliverRange makes the partner's events of a time range due again, oldest
// first as ever, and returns how many; onlyFailed leaves out what was delivered.
func (o *Outbox) RedeliverRange(ctx context.Context, by audit.Actor, partnerID int64, from, to time.Time, onlyFailed bool) (int64, error) {
	var n int64
	err := o.DB.Write(ctx, func(tx *sqldb.Tx) error {
		var err error
		n, err = tx.Exec(ctx, `UPDATE deliveries SET state = 1, attempts = 0, due_at = $1, updated_at = $1
			WHERE partner_id = $2 AND created_at >= $3 AND created_at < $4 AND state <> 1 AND (state = 3 OR NOT $5)`,
			o.Now(), partnerID, from, to, onlyFailed)
		if err != nil {
			return fmt.Errorf("redeliver a range: %w", err)
		}
		audit.Record(tx, o.Now(), by, "partner.redeliver", fmt.Sprintf("partner:%d", partnerID), nil, map[string]any{
			"from": from, "to": to, "only_failed": onlyFailed, "count": n,
		})
		return nil
	})
	return n, err
}

// Stats counts deliveries by state.
type Stats struct {
	Pending   int64
	Delivered int64
	Exhausted int64
}

// Stats counts deliveries by state.
func (o *Outbox) Stats(ctx context.Context) (Stats, error) {
	type count struct {
		state state
		n     int64
	}
	counts, err := sqldb.All(ctx, o.DB, func(r *sqldb.Row, c *count) error { return r.Scan(&c.state, &c.n) },
		`SELECT state, count(*) FROM deliveries GROUP BY state`)
	if err != nil {
		return Stats{}, fmt.Errorf("count deliveries: %w", err)
	}
	var s Stats
	for _, c := range counts {
		switch c.state {
		case pending:
			s.Pending = c.n
		case delivered:
			s.Delivered = c.n
		case exhausted:
			s.Exhausted = c.n
		}
	}
	return s, nil
}
