package webhook

import (
	"context"
	"fmt"
	"slices"
	"time"

	"claviger/internal/sqldb"
)

// Recorded is what became of an attempt. Where it is stale or locked, the attempt is on
// record and changed nothing.
type Recorded struct {
	Stale      bool    // the claim is lost, or the delivery was redelivered or moved before
	Locked     bool    // somebody else has the endpoint: record it again
	Next       *Item   // of the license, to be sent now; nil: none is open, or it waits
	Superseded bool    // the license's refused events made way for the newest
	Health     *Health // of the endpoint after all attempts
}

// batch is attempts that are recorded together, and what they change.
type batch struct {
	now      time.Time
	attempts []*Attempt
	recorded []Recorded // of each attempt

	rows       map[int64]head    // open deliveries of the batch
	next       map[int64]*head   // of each license whose head is settled
	health     map[int64]*Health // of endpoints: before, and then after
	superseded map[int64]bool    // licenses
}

// Record writes attempts in one transaction: each as such, whatever became of the claim;
// then, under the locks of shards and endpoints, where each leaves its delivery, how the
// endpoints do, and which deliveries come next. It returns what became of each. Where a
// batch is recorded again, the transaction may have been committed the time before.
func (s *Store) Record(ctx context.Context, attempts []*Attempt, again bool) ([]Recorded, error) {
	var b *batch
	err := s.DB.Write(ctx, func(tx *sqldb.Tx) error {
		b = &batch{now: s.Now(), attempts: attempts, recorded: make([]Recorded, len(attempts))}
		tx.PlanOnce()
		unlogged := slices.DeleteFunc(slices.Clone(attempts), func(a *Attempt) bool { return a.logged || a.dropped > 1 })
		if again {
			var err error
			if unlogged, err = missing(ctx, tx, unlogged); err != nil {
				return err
			}
		}
		writeAttempts(tx, unlogged, b.now)
		if err := s.lock(ctx, tx, b); err != nil {
			return err
		}
		return s.move(ctx, tx, b)
	})
	if err != nil {
		return nil, fmt.Errorf("record %d attempts: %w", len(attempts), err)
	}
	b.complete()
	return b.recorded, nil
}

// complete says what became of attempts after the commit.
func (b *batch) complete() {
	for i, a := range b.attempts {
		switch r := &b.recorded[i]; {
		case r.Locked:
			a.logged = true
		case !r.Stale:
			r.Superseded, r.Health = b.superseded[a.LicenseID], b.health[a.PartnerID]
			if h := b.next[a.LicenseID]; h != nil {
				r.Next = &h.Item
			}
		}
	}
}

// moved returns the attempts that move their deliveries.
func (b *batch) moved() (list []*Attempt) {
	for i, a := range b.attempts {
		if r := b.recorded[i]; !r.Stale && !r.Locked {
			list = append(list, a)
		}
	}
	return list
}

// missing returns the attempts that are not on record.
func missing(ctx context.Context, tx *sqldb.Tx, attempts []*Attempt) ([]*Attempt, error) {
	type attempt struct {
		event int64
		at    int64
	}
	there, err := sqldb.All(ctx, tx, func(r *sqldb.Row, a *attempt) error { return r.Scan(&a.event, &a.at) },
		`SELECT event_id, created_at FROM webhook_responses WHERE event_id = ANY($1)`, eventIDs(attempts))
	return slices.DeleteFunc(attempts, func(a *Attempt) bool { return slices.Contains(there, attempt{a.EventID, a.At.UnixNano()}) }), err
}

var attemptColumns = []string{
	"event_id", "request_header", "response_status", "response_body", "response_time", "url", "success", "diagnosis", "created_at", "updated_at",
	"dns_us", "connect_us", "tls_us", "first_byte_us", "generation",
}

// writeAttempts writes the public record of each attempt.
func writeAttempts(tx *sqldb.Tx, attempts []*Attempt, now time.Time) {
	rows := make([][]any, 0, len(attempts))
	for _, a := range attempts {
		rows = append(rows, []any{
			a.EventID, a.Header, a.Status, a.Answer, a.Took.Milliseconds(), a.URL, a.OK, a.Diagnosis, a.At, now,
			a.Timing.DNS.Microseconds(), a.Timing.Connect.Microseconds(), a.Timing.TLS.Microseconds(), a.Timing.FirstByte.Microseconds(), a.Generation,
		})
	}
	if len(rows) > 0 {
		sqldb.MarkRows(tx, "webhook_responses")
	}
	tx.Copy("webhook_responses", attemptColumns, rows)
}

func eventIDs(attempts []*Attempt) []int64 {
	list := make([]int64, len(attempts))
	for i, a := range attempts {
		list[i] = a.EventID
	}
	return list
}
