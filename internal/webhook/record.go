package webhook

import (
	"context"
	"fmt"
	"slices"
	"time"

	"claviger/internal/sqldb"
)

// Recorded is the result of recording an attempt.
type Recorded struct {
	Stale      bool    // stored, without effect: the claim is lost, or the delivery was redelivered or moved before
	Locked     bool    // not stored, another transaction has locked the endpoint: record it again
	Next       *Item   // delivery of the license to send now; nil: none is pending, or it waits
	Superseded bool    // the newest event of the license superseded its refused events
	Health     *Health // of the endpoint after the whole batch
}

// batch is a set of attempts recorded together, with their effects.
type batch struct {
	now      time.Time
	attempts []*Attempt
	recorded []Recorded // of each attempt

	rows       map[int64]head    // open deliveries of the batch
	next       map[int64]*head   // by license with a settled head
	health     map[int64]*Health // of endpoints: first before, then after the batch
	superseded map[int64]bool    // licenses
}

// Record writes attempts in one transaction, under the locks of shards and endpoints. It always
// stores the attempts themselves. It updates the deliveries, the health of the endpoints and the
// next due deliveries only if the claim still holds. It returns a result per attempt.
func (s *Store) Record(ctx context.Context, attempts []*Attempt) ([]Recorded, error) {
	var b *batch
	err := s.DB.Write(ctx, func(tx *sqldb.Tx) error {
		b = &batch{now: s.Now(), attempts: attempts, recorded: make([]Recorded, len(attempts))}
		tx.PlanOnce()
		if err := s.lock(ctx, tx, b); err != nil {
			return err
		}
		unwritten, err := b.unwritten(ctx, tx)
		if err != nil {
			return err
		}
		writeAttempts(tx, unwritten, b.now)
		return s.move(ctx, tx, b)
	})
	if err != nil {
		for _, a := range attempts {
			a.unsure = true
		}
		return nil, fmt.Errorf("record %d attempts: %w", len(attempts), err)
	}
	b.complete()
	return b.recorded, nil
}

// complete fills in the results after the commit.
func (b *batch) complete() {
	for i, a := range b.attempts {
		if r := &b.recorded[i]; !r.Stale && !r.Locked {
			r.Superseded = b.superseded[a.LicenseID]
			r.Health = b.health[a.PartnerID]
			if h := b.next[a.LicenseID]; h != nil {
				r.Next = &h.Item
			}
		}
	}
}

// moved returns the attempts that change their deliveries.
func (b *batch) moved() (list []*Attempt) {
	for i, a := range b.attempts {
		if r := b.recorded[i]; !r.Stale && !r.Locked {
			list = append(list, a)
		}
	}
	return list
}

// unwritten returns the attempts to write now. An earlier transaction may have committed them, or
// may still be running. It holds the locks until it ends. So an attempt that is locked and not
// found here is not stored.
func (b *batch) unwritten(ctx context.Context, tx *sqldb.Tx) (list []*Attempt, err error) {
	for i, a := range b.attempts {
		if !b.recorded[i].Locked && a.dropped <= 1 {
			list = append(list, a)
		}
	}
	if !slices.ContainsFunc(list, func(a *Attempt) bool { return a.unsure }) {
		return list, nil
	}
	type attempt struct{ event, at int64 }
	there, err := sqldb.All(ctx, tx, func(r *sqldb.Row, a *attempt) error { return r.Scan(&a.event, &a.at) },
		`SELECT event_id, created_at FROM webhook_responses WHERE event_id = ANY($1)`, eventIDs(list))
	return slices.DeleteFunc(list, func(a *Attempt) bool {
		return slices.Contains(there, attempt{a.EventID, a.At.UnixNano()})
	}), err
}

var attemptColumns = []string{
	"event_id", "request_header", "response_status", "response_body", "response_time", "url", "success", "diagnosis",
	"created_at", "updated_at", "dns_us", "connect_us", "tls_us", "first_byte_us", "generation",
}

// writeAttempts writes the public record of each attempt.
func writeAttempts(tx *sqldb.Tx, attempts []*Attempt, now time.Time) {
	rows := make([][]any, 0, len(attempts))
	for _, a := range attempts {
		rows = append(rows, []any{
			a.EventID, a.Header, a.Status, a.Answer, a.Took.Milliseconds(), a.URL, a.OK, a.Diagnosis, a.At, now,
			a.Timing.DNS.Microseconds(), a.Timing.Connect.Microseconds(), a.Timing.TLS.Microseconds(),
			a.Timing.FirstByte.Microseconds(), a.Generation,
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
