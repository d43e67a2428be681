package dispatch

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/otel/trace"

	"claviger/internal/sqldb"
	"claviger/internal/webhook"
)

// The sizes of batches. Answers wait for others if more are expected soon or many requests are in
// flight: a transaction for every few answers costs more than the requests. Answers that come soon
// after a batch of several also wait, because a partner that sells set after set would cause a
// transaction for each. A single answer is recorded immediately.
const (
	batchSize    = 1024
	gatherFrom   = 16 // requests in flight, however slow; fewer may all be of one hanging lane
	gatherEnough = 384
	gatherTime   = 5 * time.Millisecond
	recordEvery  = 10 * time.Millisecond // at most, after a batch of several
	lockedRetry  = 10 * time.Millisecond // until answers with a locked endpoint are retried
)

// recorder writes answers in batches.
type recorder struct {
	d      *Dispatcher
	wake   chan struct{}
	enough chan struct{} // waiting answers do not wait for more
	soon   atomic.Int64  // requests with an answer expected soon
	after  time.Time     // answers wait for others until then, after the last batch; used only by run

	mu      sync.Mutex
	answers []*answer
}

// answer is the result of a request, for its lane.
type answer struct {
	webhook.Attempt
	lane *lane
	span trace.SpanContext // invalid: not traced
}

// add queues answers to be recorded.
func (c *recorder) add(answers ...*answer) {
	c.mu.Lock()
	c.answers = append(c.answers, answers...)
	n := len(c.answers)
	c.mu.Unlock()
	signal(c.wake)
	if n >= gatherEnough || c.soon.Load() == 0 {
		signal(c.enough)
	}
}

// run records until ctx is done.
func (c *recorder) run(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-c.wake:
		}
		for batch := c.next(ctx); len(batch) > 0; batch = c.next(ctx) {
			c.recordWithRetry(ctx, batch)
		}
	}
}

// next returns the next batch of answers, after giving them time to become many.
func (c *recorder) next(ctx context.Context) []*answer {
	if c.gathers() {
		c.gather(ctx)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	n := min(len(c.answers), batchSize)
	if n > 1 {
		c.after = time.Now().Add(recordEvery)
	}
	batch := c.answers[:n:n]
	if c.answers = c.answers[n:]; len(c.answers) == 0 {
		c.answers = nil // mutate: equivalent because it only frees memory
	}
	return batch
}

// gathers reports whether the waiting answers should wait for more.
func (c *recorder) gathers() bool {
	c.mu.Lock()
	n := len(c.answers)
	c.mu.Unlock()
	return n > 0 && n < gatherEnough &&
		(c.soon.Load() > 0 || c.d.limits.inFlight.Load() >= gatherFrom || time.Now().Before(c.after))
}

// gather waits a moment for more answers, only while some are expected.
func (c *recorder) gather(ctx context.Context) {
	over := time.After(max(gatherTime, time.Until(c.after)))
	for c.gathers() {
		select {
		case <-c.enough:
		case <-over:
			return
		case <-ctx.Done():
			return
		}
	}
}

func pause(ctx context.Context, wait time.Duration) {
	select {
	case <-time.After(wait):
	case <-ctx.Done():
	}
}

// recordWithRetry records a batch, with retries: an unrecorded answer means a second delivery.
// While the database cannot be written, it waits. If only the batch fails, it is split in halves
// down to the one faulty answer, which then drops its details: one answer must not delay all
// others.
func (c *recorder) recordWithRetry(ctx context.Context, batch []*answer) {
	const doing = "record the answers to webhooks"
	for wait := 10 * time.Millisecond; ctx.Err() == nil; wait = min(2*wait, time.Second) {
		list, err := c.record(ctx, batch)
		if err == nil {
			c.d.note(ctx, doing, nil)
			c.finish(ctx, batch, list)
			return
		}
		switch {
		case sqldb.IsUnavailable(err) || c.d.Store.DB.Ping(ctx) != nil:
			c.d.note(ctx, doing, err)
			pause(ctx, wait)
		case len(batch) > 1:
			half := len(batch) / 2
			c.recordWithRetry(ctx, batch[:half])
			c.recordWithRetry(ctx, batch[half:])
			return
		case !batch[0].DropDetails():
			c.d.Log.Error("a webhook attempt cannot be recorded; the event will be sent again",
				"event_id", batch[0].EventID, "err", err)
			// Checked at the next poll, or it would be sent without a pause.
			c.finish(ctx, batch, make([]webhook.Recorded, len(batch)))
			return
		}
	}
}

// record writes a batch, and returns the result of each answer.
func (c *recorder) record(ctx context.Context, batch []*answer) ([]webhook.Recorded, error) {
	ctx, cancel := context.WithTimeout(ctx, queryTime)
	defer cancel() // mutate: equivalent because it only frees the timer
	attempts := make([]*webhook.Attempt, len(batch))
	for i, a := range batch {
		attempts[i] = &a.Attempt
	}
	return c.d.Store.Record(ctx, attempts)
}

// recorded tells a lane that an answer is recorded.
type recorded struct {
	answer *answer
	webhook.Recorded
}

// finish tells the lanes the results, and logs the attempts.
func (c *recorder) finish(ctx context.Context, batch []*answer, list []webhook.Recorded) {
	var locked []*answer
	told := map[*lane][]recorded{}
	for i, a := range batch {
		if list[i].Locked {
			locked = append(locked, a)
		} else {
			told[a.lane] = append(told[a.lane], recorded{a, list[i]})
		}
	}
	if len(locked) > 0 {
		time.AfterFunc(lockedRetry, func() { c.add(locked...) })
	}
	c.d.limits.requests.give(len(batch) - len(locked))
	for l, done := range told {
		l.box.post(func(m *mail) { m.recorded = append(m.recorded, done...) })
	}
	for i, a := range batch {
		if !list[i].Locked {
			c.d.logAttempt(trace.ContextWithSpanContext(ctx, a.span), &a.Attempt)
		}
	}
}
