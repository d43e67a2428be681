package dispatch

import (
	"context"
	"testing"
	"time"

	"claviger/internal/webhook"
)

// Owned is how many shards the dispatcher sends for.
func (d *Dispatcher) Owned() int {
	d.lanes.mu.Lock()
	defer d.lanes.mu.Unlock()
	return len(d.lanes.claims)
}

// Idle polls, and reports whether nothing is due and nothing is on its way.
func (d *Dispatcher) Idle(ctx context.Context) (bool, error) {
	if err := d.poll(ctx); err != nil {
		return false, err
	}
	due, err := d.Store.DuePartners(ctx)
	d.limits.requests.mu.Lock()
	defer d.limits.requests.mu.Unlock()
	return len(due) == 0 && d.limits.requests.used == 0, err
}

// Poll looks for what is due.
func (d *Dispatcher) Poll(ctx context.Context) error { return d.poll(ctx) }

// Load is how busy the node and a lane are.
type Load struct {
	Lane, Node int
	Spare      bool
	Most       int
}

// Adapt is how many requests a lane may have in flight after an answer, and the least time
// that one took since the endpoint last failed.
func Adapt(limit float64, best time.Duration, ok bool, took time.Duration, l Load) (float64, time.Duration) {
	p := pace{limit: limit, minLatency: best}
	p.adapt(ok, took, load{lane: l.Lane, node: l.Node, spare: l.Spare, most: l.Most})
	return p.limit, p.minLatency
}

// The bounds of a lane.
const (
	FirstInFlight = firstInFlight
	PerRequest    = perRequest
	UsualInFlight = usualInFlight
	SlowInFlight  = slowInFlight
	Slow          = slow
	Prompt        = prompt
	Crowd         = crowd
)

// Limit sets other bounds over all lanes.
func (d *Dispatcher) Limit(requests, memory int) {
	d.limits.requests.limit, d.limits.memory.limit = requests, memory
}

// Counted is how many deliveries are in memory, and how many requests in flight.
type Counted struct{ Held, InFlight int }

// Counts counts what is under way.
func (d *Dispatcher) Counts() Counted {
	d.limits.memory.mu.Lock()
	defer d.limits.memory.mu.Unlock()
	return Counted{d.limits.memory.used, int(d.limits.inFlight.Load())}
}

// Lanes is how many lanes there are.
func (d *Dispatcher) Lanes() int {
	d.lanes.mu.Lock()
	defer d.lanes.mu.Unlock()
	return len(d.lanes.lanes)
}

// Answers is how many answers wait to be recorded.
func (d *Dispatcher) Answers() int {
	d.recorder.mu.Lock()
	defer d.recorder.mu.Unlock()
	return len(d.recorder.answers)
}

// Record records the answers that wait.
func (d *Dispatcher) Record(ctx context.Context) {
	d.recorder.recordWithRetry(ctx, d.recorder.next(ctx))
}

// CutOff has the answers that wait recorded by a transaction whose end nobody hears of.
func (d *Dispatcher) CutOff(ctx context.Context) {
	over, cancel := context.WithCancel(ctx)
	cancel()
	batch := d.recorder.next(ctx)
	if _, err := d.recorder.record(over, batch); err == nil {
		panic("a transaction that is over before it begins was committed")
	}
	d.recorder.add(batch...)
}

// RecordTwice records the answers that wait, calls between, and records them again.
func (d *Dispatcher) RecordTwice(ctx context.Context, between func()) error {
	d.CutOff(ctx)
	batch := d.recorder.next(ctx)
	if _, err := d.recorder.record(ctx, batch); err != nil {
		return err
	}
	between()
	list, err := d.recorder.record(ctx, batch)
	if err == nil {
		d.recorder.finish(ctx, batch, list)
	}
	return err
}

// IdleAfter sets after how long a lane without deliveries ends.
func (d *Dispatcher) IdleAfter(t time.Duration) { d.limits.idle = t }

// Heard reports whether a partner's lane has taken what it was told so far.
func (d *Dispatcher) Heard(partnerID int64) bool {
	d.lanes.mu.Lock()
	defer d.lanes.mu.Unlock()
	l := d.lanes.lanes[partnerID]
	if l == nil {
		return false
	}
	l.box.mu.Lock()
	defer l.box.mu.Unlock()
	return len(l.box.wake) == 0
}

// Waiting is how many lanes wait until they may begin a request, and until there is space
// in memory.
func (d *Dispatcher) Waiting() (requests, memory int) {
	count := func(b *budget) int {
		b.mu.Lock()
		defer b.mu.Unlock()
		return len(b.waiting)
	}
	return count(&d.limits.requests), count(&d.limits.memory)
}

// Ended is how many requests a lane may have in flight after a success at that limit, when
// so many of its own and of all lanes are, and so many of those that may be begun are.
func Ended(limit, own, node, begun, mayBegin, most int, took time.Duration) float64 {
	d := &Dispatcher{}
	d.Store.Policy.InFlight = most
	d.limits.inFlight.Store(int64(node))
	d.limits.requests.used, d.limits.requests.limit = begun, mayBegin
	l := &lane{d: d, to: &webhook.Destination{}, inFlight: own, pace: pace{limit: float64(limit), minLatency: took}}
	a := &answer{}
	a.OK, a.Took = true, took
	l.endRequest(ended{answer: a})
	return l.pace.limit
}

// PollEvery sets how often the dispatcher polls without being told to.
func (d *Dispatcher) PollEvery(t time.Duration) { d.poller.every = t }

// PollPause is how long the dispatcher waits after a poll that took so long.
func (d *Dispatcher) PollPause(took time.Duration) time.Duration { return d.poller.pause(took) }

// Begun is how many requests are begun and not recorded.
func (d *Dispatcher) Begun() int {
	d.limits.requests.mu.Lock()
	defer d.limits.requests.mu.Unlock()
	return d.limits.requests.used
}

// Hear takes hints of other nodes.
func (d *Dispatcher) Hear(message string) { d.hear(message) }

// Hint has the owner look at a license.
func (d *Dispatcher) Hint(partnerID, licenseID int64) { d.hint(partnerID, licenseID) }

// RecordThen records the answers that wait, and calls then when that is committed, before
// the lanes are told.
func (d *Dispatcher) RecordThen(t testing.TB, then func()) {
	t.Helper()
	batch := d.recorder.next(t.Context())
	list, err := d.recorder.record(t.Context(), batch)
	if err != nil {
		t.Fatal(err)
	}
	then()
	d.recorder.finish(t.Context(), batch, list)
}

// RunRecorder runs the recorder alone.
func (d *Dispatcher) RunRecorder(ctx context.Context) { d.recorder.run(ctx) }

// Budget bounds something over lanes, which here are names.
type Budget struct {
	budget
	lanes map[string]*lane
}

// NewBudget makes one.
func NewBudget(limit, fair int) *Budget {
	return &Budget{budget{limit: limit, fair: fair}, map[string]*lane{}}
}

func (b *Budget) lane(name string) *lane {
	if b.lanes[name] == nil {
		b.lanes[name] = &lane{box: mailbox{wake: make(chan struct{}, 1)}}
	}
	return b.lanes[name]
}

// Take is how many a lane gets.
func (b *Budget) Take(name string, has, wants int) int { return b.take(b.lane(name), has, wants) }

// Give returns some.
func (b *Budget) Give(n int) { b.give(n) }

// Leave says that a lane wants nothing any more.
func (b *Budget) Leave(name string) { b.leave(b.lane(name)) }

// Half is whether less than half is used.
func (b *Budget) Half() bool { return b.half() }

// Woken are the lanes that were woken since this was last asked.
func (b *Budget) Woken() (names []string) {
	for name, l := range b.lanes {
		if len(l.box.wake) > 0 {
			names = append(names, name)
			<-l.box.wake
		}
	}
	return names
}
