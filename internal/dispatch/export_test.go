package dispatch

import (
	"context"
	"testing"
	"time"

	"claviger/internal/webhook"
)

// Owned returns the number of owned shards.
func (d *Dispatcher) Owned() int {
	d.lanes.mu.Lock()
	defer d.lanes.mu.Unlock()
	return len(d.lanes.claims)
}

// Idle polls, and reports whether nothing is due and nothing is in flight.
func (d *Dispatcher) Idle(ctx context.Context) (bool, error) {
	if err := d.poll(ctx); err != nil {
		return false, err
	}
	due, err := d.Store.DuePartners(ctx)
	d.limits.requests.mu.Lock()
	defer d.limits.requests.mu.Unlock()
	return len(due) == 0 && d.limits.requests.used == 0, err
}

// Poll searches for due deliveries.
func (d *Dispatcher) Poll(ctx context.Context) error { return d.poll(ctx) }

// Load is the load of the node and a lane.
type Load struct {
	Lane, Node int
	Spare      bool
	Most       int
}

// Adapt returns the new limit of requests in flight after an answer, and the lowest latency since
// the endpoint last failed.
func Adapt(limit float64, best time.Duration, ok bool, took time.Duration, l Load) (float64, time.Duration) {
	p := pace{limit: limit, minLatency: best}
	p.adapt(ok, took, load{lane: l.Lane, node: l.Node, spare: l.Spare, most: l.Most})
	return p.limit, p.minLatency
}

// The limits of a lane.
const (
	FirstInFlight = firstInFlight
	PerRequest    = perRequest
	UsualInFlight = usualInFlight
	SlowInFlight  = slowInFlight
	Slow          = slow
	Prompt        = prompt
	BusyNode      = busyNode
)

// Limit sets other limits over all lanes.
func (d *Dispatcher) Limit(requests, memory int) {
	d.limits.requests.limit, d.limits.memory.limit = requests, memory
}

// Counted is the number of deliveries in memory and of requests in flight.
type Counted struct{ Held, InFlight int }

// Counts returns the current numbers.
func (d *Dispatcher) Counts() Counted {
	d.limits.memory.mu.Lock()
	defer d.limits.memory.mu.Unlock()
	return Counted{d.limits.memory.used, int(d.limits.inFlight.Load())}
}

// Lanes returns the number of lanes.
func (d *Dispatcher) Lanes() int {
	d.lanes.mu.Lock()
	defer d.lanes.mu.Unlock()
	return len(d.lanes.lanes)
}

// Answers returns the number of answers that wait to be recorded.
func (d *Dispatcher) Answers() int {
	d.recorder.mu.Lock()
	defer d.recorder.mu.Unlock()
	return len(d.recorder.answers)
}

// Record records the waiting answers.
func (d *Dispatcher) Record(ctx context.Context) {
	d.recorder.recordWithRetry(ctx, d.recorder.next(ctx))
}

// CutOff records the waiting answers in a transaction with an unknown result.
func (d *Dispatcher) CutOff(ctx context.Context) {
	over, cancel := context.WithCancel(ctx)
	cancel()
	batch := d.recorder.next(ctx)
	if _, err := d.recorder.record(over, batch); err == nil {
		panic("a transaction that is over before it begins was committed")
	}
	d.recorder.add(batch...)
}

// RecordTwice records the waiting answers, calls between, and records them again.
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

// IdleAfter sets how long a lane without deliveries stays.
func (d *Dispatcher) IdleAfter(t time.Duration) { d.limits.idle = t }

// Heard reports whether a partner's lane has received all its messages.
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

// Waiting returns the number of lanes that wait for a request, and for space in memory.
func (d *Dispatcher) Waiting() (requests, memory int) {
	count := func(b *budget) int {
		b.mu.Lock()
		defer b.mu.Unlock()
		return len(b.waiting)
	}
	return count(&d.limits.requests), count(&d.limits.memory)
}

// Ended returns a lane's limit of requests in flight after a success at that limit. own and node
// requests are in flight in the lane and in all lanes; begun of mayBegin requests have started.
func Ended(limit, own, node, begun, mayBegin, most int, took time.Duration) float64 {
	d := &Dispatcher{}
	d.Store.Policy.InFlight = most
	d.limits.inFlight.Store(int64(node))
	d.limits.requests.used, d.limits.requests.limit = begun, mayBegin
	l := &lane{d: d, to: &webhook.Destination{}, inFlight: own, pace: pace{limit: float64(limit), minLatency: took}}
	h := &head{state: inFlight}
	a := &answer{}
	a.OK, a.Took = true, took
	l.endRequest(ended{head: h, answer: a})
	return l.pace.limit
}

// PollEvery sets the interval of polls.
func (d *Dispatcher) PollEvery(t time.Duration) { d.poller.every = t }

// PollPause returns the pause after a poll of this duration.
func (d *Dispatcher) PollPause(took time.Duration) time.Duration { return d.poller.pause(took) }

// Begun returns the number of requests that are started and not recorded.
func (d *Dispatcher) Begun() int {
	d.limits.requests.mu.Lock()
	defer d.limits.requests.mu.Unlock()
	return d.limits.requests.used
}

// Hear receives hints of other nodes.
func (d *Dispatcher) Hear(message string) { d.hear(message) }

// Hint makes the owner check a license.
func (d *Dispatcher) Hint(partnerID, licenseID int64) {
	d.Tell(webhook.News{PartnerID: partnerID, LicenseID: licenseID})
}

// RecordThen records the waiting answers, and calls then after the commit, before the lanes are
// told.
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

// RunRecorder runs only the recorder.
func (d *Dispatcher) RunRecorder(ctx context.Context) { d.recorder.run(ctx) }

// Budget is a budget for lanes identified by names.
type Budget struct {
	budget
	lanes map[string]*lane
}

// NewBudget creates a Budget.
func NewBudget(limit, fair int) *Budget {
	return &Budget{budget{limit: limit, fair: fair}, map[string]*lane{}}
}

func (b *Budget) lane(name string) *lane {
	if b.lanes[name] == nil {
		b.lanes[name] = &lane{box: mailbox{wake: make(chan struct{}, 1)}}
	}
	return b.lanes[name]
}

// Take returns the number of units that a lane gets.
func (b *Budget) Take(name string, has, wants int) int { return b.take(b.lane(name), has, wants) }

// Give returns units.
func (b *Budget) Give(n int) { b.give(n) }

// Leave removes a lane from the queue.
func (b *Budget) Leave(name string) { b.leave(b.lane(name)) }

// Half reports whether less than half is used.
func (b *Budget) Half() bool { return b.half() }

// Woken returns the lanes woken since the last call.
func (b *Budget) Woken() (names []string) {
	for name, l := range b.lanes {
		if len(l.box.wake) > 0 {
			names = append(names, name)
			<-l.box.wake
		}
	}
	return names
}
