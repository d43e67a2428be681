package history

import (
	"context"
	"fmt"
	"time"

	"claviger/internal/courier"
	"claviger/internal/sqldb"
)

// AttemptFact is what package stats counts of an attempt.
type AttemptFact struct {
	ID        int64
	PartnerID int64
	At        time.Time
	Success   bool
	Status    int // 0: no HTTP answer
	Took      time.Duration
}

// StableAttempts returns up to which id the attempts are all there, whatever other
// transactions still write.
func StableAttempts(ctx context.Context, db *sqldb.DB) (int64, error) {
	id, err := db.StableRows(ctx, "webhook_responses")
	if err != nil {
		return 0, fmt.Errorf("read up to which id attempts are stable: %w", err)
	}
	return id, nil
}

// AttemptFacts returns attempts for all partners after an id and up to another, in the
// order of their ids, limit of them at most.
func AttemptFacts(ctx context.Context, r sqldb.Reader, after, upTo int64, limit int) ([]AttemptFact, error) {
	list, err := sqldb.All(ctx, r, func(r *sqldb.Row, f *AttemptFact) error {
		var ms int64
		err := r.Scan(&f.ID, &f.PartnerID, &f.At, &f.Success, &f.Status, &ms)
		f.Took = time.Duration(ms) * time.Millisecond
		return err
	}, `SELECT r.id, d.partner_id, r.created_at, r.success, r.response_status, r.response_time
		FROM (SELECT id, event_id, created_at, success, response_status, response_time FROM webhook_responses
			WHERE id > $1 AND id <= $2 ORDER BY id LIMIT $3) AS r
		JOIN deliveries AS d ON d.event_id = r.event_id ORDER BY r.id`, after, upTo, limit)
	if err != nil {
		return nil, fmt.Errorf("read what attempts met: %w", err)
	}
	return list, nil
}

// MaxCauses is how many failed deliveries Causes looks at.
const MaxCauses = 1000

// Cause is what stands in the way of deliveries: those whose last attempt met the same.
type Cause struct {
	Status     int           // 0: no HTTP answer
	Cause      courier.Cause // where there was no answer
	Text       string        // that in words, of the newest of them
	Diagnosis  string        // the likely mistake, of the newest of them; may be ""
	Deliveries int           // failing, exhausted or superseded
	Oldest     time.Time
	Newest     time.Time // of their events
	LastAt     time.Time // of the last attempt of all
}

// Causes groups the failed deliveries of a partner by what their last attempt met, the
// largest group first. It looks at the newest MaxCauses; more says that there are others.
func (r Reader) Causes(ctx context.Context, partnerID int64) (causes []Cause, more bool, err error) {
	err = r.DB.Read(ctx, func(tx *sqldb.Tx) error {
		causes = nil
		w, err := newWalk(ctx, tx, partnerID, Filter{State: Failed}, Key{})
		if err != nil {
			return err
		}
		rows, err := w.next(ctx, MaxCauses)
		if err != nil {
			return err
		}
		more = !w.ended
		if err := w.addAttempts(ctx, rows); err != nil {
			return err
		}
		causes = grouped(rows)
		return nil
	})
	if err != nil {
		return nil, false, fmt.Errorf("group failed deliveries: %w", err)
	}
	return causes, more, nil
}

// grouped groups deliveries, which are the newest first.
func grouped(rows []Delivery) []Cause {
	type key struct {
		status int
		cause  courier.Cause
	}
	at := map[key]int{}
	var causes []Cause
	for _, d := range rows {
		if d.Last.ID == 0 {
			continue // its attempts are not on record any more
		}
		k := key{status: d.Last.Status}
		if k.status == 0 {
			k.cause = courier.CauseOf(d.Last.Cause)
		}
		i, ok := at[k]
		if !ok {
			i = len(causes)
			at[k] = i
			causes = append(causes, Cause{Status: k.status, Cause: k.cause, Text: d.Last.Cause, Newest: d.CreatedAt})
		}
		c := &causes[i]
		c.Deliveries++
		c.Oldest = d.CreatedAt
		if d.Last.At.After(c.LastAt) {
			c.LastAt, c.Diagnosis = d.Last.At, d.Last.Diagnosis
		}
	}
	return causes
}
