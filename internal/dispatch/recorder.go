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

// The sizes of batches. While answers are on their way that will be here in a moment, or
// many requests are in flight, answers wait for one another before they are recorded: a
// transaction for each few costs more than the requests do. So do those that come soon
// after a batch of several: where a partner sells set after set, each would be followed by
// a record of its own. One that comes alone is recorded at once.
const (
	batchSize    = 1024
	gatherFrom   = 16 // requests in flight, however slow; fewer may all be of one lane that hangs
	gatherEnough = 384
	gatherTime   = 5 * time.Millisecond
	recordEvery  = 10 * time.Millisecond // at most, behind a batch of several
	lockedRetry  = 10 * time.Millisecond // until answers are tried again whose endpoint somebody else has locked
)

// recorder writes answers in batches, as many at once as wait.
type recorder struct {
	d      *Dispatcher
	wake   chan struct{}
	enough chan struct{} // the answers that wait need not wait for others
	soon   atomic.Int64  // requests whose answers are expected in a moment
	after  time.Time     // until when answers wait for others behind the last batch; of run alone

	mu      sync.Mutex
	answers []*answer
}

// answer is what came of a request, for the lane that made it.
type answer struct {
	webhook.Attempt
	lane *lane
	span trace.SpanContext // of its trace; invalid: none
}

// add takes answers to be recorded.
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

// run records until ctx is over.
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

// next takes the answers that wait, after it gave them the time to become many.
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

// gathers reports whether the answers that wait should wait for others.
func (c *recorder) gathers() bool {
	c.mu.Lock()
	n := len(c.answers)
	c.mu.Unlock()
	return n > 0 && n < gatherEnough && (c.soon.Load() > 0 || c.d.limits.inFlight.Load() >= gatherFrom || time.Now().Before(c.after))
}

// gather waits a moment for others, and no longer than there are some to wait for.
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

// recordWithRetry records a batch, and does not give up while there is hope: an answer
// that is not recorded is a delivery made twice. While the database cannot be written, it
// waits. What cannot be written though the database can is tried in halves, down to the
// one answer that is at fault, which then drops what may be the reason: one must not hold
// up all others.
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
			c.d.Log.Error("a webhook attempt cannot be recorded; the event will be sent again", "event_id", batch[0].EventID, "err", err)
			c.finish(ctx, batch, make([]webhook.Recorded, len(batch))) // nobody looks at it before the next poll, or it would be sent without a pause
			return
		}
	}
}

// record writes a batch, and returns what became of each answer.
func (c *recorder) record(ctx context.Context, batch []*answer) ([]webhook.Recorded, error) {
	ctx, cancel := context.WithTimeout(ctx, queryTime)
	defer cancel() // mutate: equivalent because it only frees the timer
	attempts := make([]*webhook.Attempt, len(batch))
	for i, a := range batch {
		attempts[i] = &a.Attempt
	}
	return c.d.Store.Record(ctx, attempts)
}

// recorded is what a lane is told of an answer that is on record.
type recorded struct {
	answer *answer
	webhook.Recorded
}

// finish tells lanes what is recorded, and logs it.
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
