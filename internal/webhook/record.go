package webhook

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"claviger/internal/sqldb"
)

// The sizes of batches. While many requests are in flight, answers wait for one another
// before they are recorded: a transaction for each few costs more than the requests do.
const (
	batchSize    = 1024
	gatherFrom   = 16 // requests in flight; fewer may all be of one lane that hangs
	gatherEnough = 256
	gatherTime   = 5 * time.Millisecond
	lockedRetry  = 10 * time.Millisecond // until answers are tried again whose endpoint somebody else has locked
)

// recorder writes answers in batches, as many at once as wait.
type recorder struct {
	d    *Dispatcher
	wake chan struct{}

	mu      sync.Mutex
	answers []*result
}

// add takes answers to be recorded.
func (c *recorder) add(answers ...*result) {
	c.mu.Lock()
	c.answers = append(c.answers, answers...)
	c.mu.Unlock()
	signal(c.wake)
}

// run records until ctx is over.
func (c *recorder) run(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-c.wake:
		}
		for batch := c.next(ctx); len(batch) > 0; batch = c.next(ctx) {
			c.recordWithRetry(ctx, batch, false)
		}
	}
}

// next takes the answers that wait, after it gave them the time to become many.
func (c *recorder) next(ctx context.Context) []*result {
	c.mu.Lock()
	n := len(c.answers)
	c.mu.Unlock()
	if n > 0 && n < gatherEnough && c.d.limits.inFlight.Load() >= gatherFrom {
		pause(ctx, gatherTime)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	n = min(len(c.answers), batchSize)
	batch := c.answers[:n:n]
	if c.answers = c.answers[n:]; len(c.answers) == 0 {
		c.answers = nil
	}
	return batch
}

func pause(ctx context.Context, wait time.Duration) {
	select {
	case <-time.After(wait):
	case <-ctx.Done():
	}
}

// recordWithRetry records a batch, and does not give up while there is hope: an answer
// that is not recorded is a delivery made twice. While the database cannot be written, it
// waits. What cannot be written though the database can is tried in halves, down to the
// one answer that is at fault, which then drops what may be the reason: one must not hold
// up all others.
func (c *recorder) recordWithRetry(ctx context.Context, batch []*result, again bool) {
	const doing = "record the answers to webhooks"
	for wait := 10 * time.Millisecond; ctx.Err() == nil; wait = min(2*wait, time.Second) {
		rec, err := c.record(ctx, batch, again)
		if err == nil {
			c.d.note(ctx, doing, nil)
			c.finish(ctx, rec)
			return
		}
		again = true
		switch {
		case sqldb.IsUnavailable(err) || c.d.DB.Ping(ctx) != nil:
			c.d.note(ctx, doing, err)
			pause(ctx, wait)
		case len(batch) > 1:
			half := len(batch) / 2
			c.recordWithRetry(ctx, batch[:half], true)
			c.recordWithRetry(ctx, batch[half:], true)
			return
		case !batch[0].dropDetails():
			c.d.Log.Error("a webhook attempt cannot be recorded; the event will be sent again", "event_id", batch[0].eventID, "err", err)
			c.finish(ctx, &batchRecord{moved: batch}) // nobody looks at it before the next poll, or it would be sent without a pause
			return
		}
	}
}

// dropDetails drops from an answer that the database does not take first the texts that
// came from outside, then the public record as such: the delivery matters more. False
// means that nothing is left to drop.
func (r *result) dropDetails() bool {
	r.dropped++
	if r.dropped == 1 {
		r.header, r.answer, r.diagnosis = "", "The answer could not be stored.", ""
	}
	return r.dropped <= 2
}

// batchRecord is what became of a batch.
type batchRecord struct {
	now    time.Time
	moved  []*result // their deliveries moved on
	stale  []*result // attempts only: the claim is lost, or the delivery was redelivered or moved before
	locked []*result // attempts only: somebody else has the endpoint, and they are tried again

	rows       map[int64]head   // open deliveries of the batch
	next       map[int64]*head  // of each license whose head is settled
	health     map[int64]health // of endpoints: before, and then after
	superseded map[int64]bool   // licenses
}

// record writes a batch in one transaction: each attempt, whatever became of the claim;
// then, under the locks of shards and endpoints, where each attempt leaves its delivery,
// how the endpoints do, and which deliveries come next. The transaction of a batch that is
// recorded again may have been committed the time before.
func (c *recorder) record(ctx context.Context, batch []*result, again bool) (*batchRecord, error) {
	ctx, cancel := context.WithTimeout(ctx, queryTime)
	defer cancel()
	var rec *batchRecord
	err := c.d.DB.Write(ctx, func(tx *sqldb.Tx) error {
		rec = &batchRecord{now: c.d.Now()}
		unlogged := slices.DeleteFunc(slices.Clone(batch), func(r *result) bool { return r.logged || r.dropped > 1 })
		if again {
			var err error
			if unlogged, err = missing(ctx, tx, unlogged); err != nil {
				return err
			}
		}
		recordAttempts(tx, unlogged, rec.now)
		if err := c.lock(ctx, tx, batch, rec); err != nil {
			return err
		}
		return c.move(ctx, tx, rec)
	})
	if err != nil {
		return nil, fmt.Errorf("record %d attempts: %w", len(batch), err)
	}
	return rec, nil
}

// missing returns the attempts that are not on record.
func missing(ctx context.Context, tx *sqldb.Tx, batch []*result) ([]*result, error) {
	type attempt struct {
		event int64
		at    int64
	}
	there, err := sqldb.All(ctx, tx, func(r *sqldb.Row, a *attempt) error { return r.Scan(&a.event, &a.at) },
		`SELECT event_id, created_at FROM webhook_responses WHERE event_id = ANY($1)`, eventIDs(batch))
	return slices.DeleteFunc(batch, func(r *result) bool { return slices.Contains(there, attempt{r.eventID, r.at.UnixNano()}) }), err
}

var attemptColumns = []string{
	"event_id", "request_header", "response_status", "response_body", "response_time", "url", "success", "diagnosis", "created_at", "updated_at",
}

// recordAttempts writes the public record of each attempt.
func recordAttempts(tx *sqldb.Tx, batch []*result, now time.Time) {
	rows := make([][]any, 0, len(batch))
	for _, r := range batch {
		rows = append(rows, []any{r.eventID, r.header, r.status, r.answer, r.took.Milliseconds(), r.url, r.ok, r.diagnosis, r.at, now})
	}
	tx.Insert("webhook_responses", attemptColumns, rows)
}

// finish tells lanes what is recorded, and logs it.
func (c *recorder) finish(ctx context.Context, rec *batchRecord) {
	for _, r := range rec.locked {
		r.logged = true
	}
	if len(rec.locked) > 0 {
		time.AfterFunc(lockedRetry, func() { c.add(rec.locked...) })
	}
	told := map[*lane][]*recorded{}
	for _, r := range rec.moved {
		done := &recorded{item: r.Item, again: rec.superseded[r.licenseID]}
		if h := rec.next[r.licenseID]; h != nil {
			done.next = &h.Item
		}
		if h, ok := rec.health[r.partnerID]; ok {
			done.health = &h
		}
		if !r.finished {
			done.retry = r.next.wait
		}
		told[r.lane] = append(told[r.lane], done)
	}
	for _, r := range rec.stale {
		told[r.lane] = append(told[r.lane], &recorded{item: r.Item, again: true})
	}
	c.d.limits.requests.give(len(rec.moved) + len(rec.stale))
	for l, list := range told {
		l.box.post(func(m *mail) { m.recorded = append(m.recorded, list...) })
	}
	for _, r := range slices.Concat(rec.moved, rec.stale) {
		c.d.logAttempt(ctx, r)
	}
}

// recorded is what a lane is told of an answer that is on record.
type recorded struct {
	item   *Item
	next   *Item         // of the license; nil: none is open, or it waits
	again  bool          // look at the license
	retry  time.Duration // until the next attempt; 0: there is none
	health *health       // of the endpoint
}

func eventIDs(batch []*result) []int64 {
	list := make([]int64, len(batch))
	for i, r := range batch {
		list[i] = r.eventID
	}
	return list
}
