package dispatch

import (
	"context"
	"log/slog"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/otel/trace"

	"claviger/internal/cluster"
	"claviger/internal/courier"
	"claviger/internal/webhook"
)

// Limits of the dispatcher.
const (
	maxRequests  = 4096             // started and not recorded, over all lanes
	maxHeld      = 16384            // deliveries in memory
	pollEvery    = time.Second      // fallback poll, in case a notification was lost
	pollShare    = 20               // a poll uses at most this fraction of the time
	queryTime    = 10 * time.Second // per database query
	recordTime   = 3 * time.Second  // for unrecorded answers when a shard is handed over
	cutRetry     = 10 * time.Second // delay of deliveries that were cut off
	mostInFlight = 256              // requests of one lane, without a setting
)

// Dispatcher sends the deliveries of partners in shards that this node owns.
type Dispatcher struct {
	Store     webhook.Store // without Superseded
	Log       *slog.Logger
	Client    *courier.Client
	UserAgent string
	Metrics   *Metrics
	Tracer    trace.Tracer     // nil: attempts are not traced
	Random    func() float64   // nil: random
	SignNow   func() time.Time // clock of signatures, which servers check; nil: the clock of Store

	lanes    registry
	recorder recorder
	hinter   hinter
	poller   poller
	limits   limits
}

// limits contains limits over all lanes and their current use.
type limits struct {
	requests budget        // started and not recorded
	memory   budget        // deliveries
	inFlight atomic.Int64  // requests
	idle     time.Duration // how long a lane without deliveries stays
	work     sync.WaitGroup
	troubles troubles
}

// Prepare initializes the parts shared by Enqueue and Run, and registers for changes of the node's
// shards. Call it once, before either.
func (d *Dispatcher) Prepare() *Dispatcher {
	if d.Random == nil {
		d.Random = random
	}
	d.lanes = registry{lanes: map[int64]*lane{}, claims: map[int]cluster.Claim{}}
	d.recorder = recorder{d: d, wake: make(chan struct{}, 1), enough: make(chan struct{}, 1)}
	d.hinter = hinter{wake: make(chan struct{}, 1)}
	d.poller.wake = make(chan struct{}, 1)
	d.poller.every = pollEvery
	d.limits.requests.limit = maxRequests
	d.limits.requests.fair = 1
	d.limits.memory.limit = maxHeld
	d.limits.memory.fair = 16
	d.limits.idle = idleTime
	d.limits.troubles = troubles{since: map[string]time.Time{}}
	d.Store.Superseded = d.logSuperseded
	n := d.Store.Node
	n.Gained = d.gained
	n.Release = d.release
	n.Lost = d.lost
	n.Cut = d.cut
	return d
}

// random returns a number from [0,1). It is the default of Random; tests set their own.
func random() float64 { return rand.Float64() } //nolint:gosec // spreads load, protects no secret

// Run joins the cluster and sends for the node's shards until ctx is done. It records all answers
// before it returns. An error comes from the node.
func (d *Dispatcher) Run(ctx context.Context) error {
	parts, end := context.WithCancel(context.WithoutCancel(ctx))
	var running sync.WaitGroup
	running.Go(func() { d.runParts(parts) })
	err := d.Store.Node.Run(ctx)
	end()
	running.Wait()
	d.limits.work.Wait()
	return err
}

// runParts runs the recorder, hints and polls for the lanes until ctx is done.
func (d *Dispatcher) runParts(ctx context.Context) {
	var parts sync.WaitGroup
	parts.Go(func() { d.recorder.run(ctx) })
	parts.Go(func() { d.sendHints(ctx) })
	parts.Go(func() { d.pollOften(ctx) })
	parts.Go(func() {
		if err := d.Store.DB.Listen(ctx, channel, d.hear); err != nil && ctx.Err() == nil {
			d.Log.Error("hints of new webhooks are not heard; the poll finds them", "err", err)
		}
	})
	parts.Wait()
}

// registry contains the lanes of this node and their claims.
type registry struct {
	mu     sync.Mutex
	lanes  map[int64]*lane
	claims map[int]cluster.Claim
}

// Work is the current load of a node.
type Work struct {
	Shards   int // owned shards
	Lanes    int // partners with something to send
	InFlight int // requests
}

// Work returns the current load.
func (d *Dispatcher) Work() Work {
	d.lanes.mu.Lock()
	defer d.lanes.mu.Unlock()
	return Work{Shards: len(d.lanes.claims), Lanes: len(d.lanes.lanes), InFlight: int(d.limits.inFlight.Load())}
}

// gained starts sending for the partners of a shard.
func (d *Dispatcher) gained(c cluster.Claim) {
	d.lanes.mu.Lock()
	d.lanes.claims[c.Shard] = c
	d.lanes.mu.Unlock()
	d.poller.missed.Store(true)
	signal(d.poller.wake)
}

// disown removes a shard and returns its lanes. After it, no new lane of the shard is created.
func (d *Dispatcher) disown(c cluster.Claim) []*lane {
	d.lanes.mu.Lock()
	defer d.lanes.mu.Unlock()
	delete(d.lanes.claims, c.Shard)
	var list []*lane
	for id, l := range d.lanes.lanes {
		if cluster.ShardOf(id) == c.Shard {
			list = append(list, l)
		}
	}
	return list
}

// release hands a shard over. Running requests may finish until ctx is done; then they are cut off.
// Their answers are recorded.
func (d *Dispatcher) release(ctx context.Context, c cluster.Claim) {
	list := d.disown(c)
	tell(list, orderStop)
	if await(ctx, list) {
		return
	}
	tell(list, orderCut)
	last, cancel := context.WithTimeout(context.WithoutCancel(ctx), recordTime)
	defer cancel()
	if !await(last, list) {
		d.leave(list)
	}
}

// lost ends the lanes of a shard that another node may already own.
func (d *Dispatcher) lost(c cluster.Claim) { d.leave(d.disown(c)) }

// leave ends lanes as soon as none of their requests is in flight.
func (d *Dispatcher) leave(list []*lane) {
	tell(list, orderCut|orderLeave)
	for _, l := range list {
		<-l.done
	}
}

// cut aborts all requests.
func (d *Dispatcher) cut() {
	d.lanes.mu.Lock()
	defer d.lanes.mu.Unlock()
	for _, l := range d.lanes.lanes {
		l.box.post(ordered(orderCut))
	}
}

func tell(list []*lane, o orders) {
	for _, l := range list {
		l.box.post(ordered(o))
	}
}

// await waits for lanes to end, and reports whether all ended before ctx was done.
func await(ctx context.Context, list []*lane) bool {
	for _, l := range list {
		select {
		case <-l.done:
		case <-ctx.Done():
			return false
		}
	}
	return true
}

// post sends a message to the partner's lane if this node owns it. It creates the lane if
// necessary.
func (d *Dispatcher) post(partnerID int64, add func(*mail)) bool {
	d.lanes.mu.Lock()
	defer d.lanes.mu.Unlock()
	claim, ok := d.lanes.claims[cluster.ShardOf(partnerID)]
	if !ok {
		return false
	}
	l := d.lanes.lanes[partnerID]
	if l == nil {
		l = newLane(d, partnerID, claim)
		d.lanes.lanes[partnerID] = l
		d.limits.work.Go(l.run)
	}
	return l.box.post(add)
}

// end removes a lane. A running lane stays if it has a new message.
func (d *Dispatcher) end(l *lane) bool {
	d.lanes.mu.Lock()
	defer d.lanes.mu.Unlock()
	if !l.box.close(l.ending.phase != running) {
		return false
	}
	delete(d.lanes.lanes, l.partnerID)
	return true
}

// Tell listens to webhook.Outbox.Tell of this node. The lane gets the new delivery, checks the
// license for due ones, or reloads the endpoint before it sends anything more. If another node owns
// the lane, that one gets a hint.
func (d *Dispatcher) Tell(n webhook.News) {
	message := func(m *mail) { m.hints = append(m.hints, n.LicenseID) }
	switch {
	case n.Item != nil:
		message = func(m *mail) { m.fresh = append(m.fresh, n.Item) }
	case n.Reload:
		message = ordered(orderReload)
	}
	if !d.post(n.PartnerID, message) {
		d.hintOthers(n.PartnerID, n.LicenseID)
	}
}

// troubles contains current background failures by activity.
type troubles struct {
	mu    sync.Mutex
	since map[string]time.Time
}

// note logs a background failure when it starts and when it ends, not on each repetition: an hour
// without the database is one message.
func (d *Dispatcher) note(ctx context.Context, doing string, err error) {
	t := &d.limits.troubles
	t.mu.Lock()
	defer t.mu.Unlock()
	since, known := t.since[doing]
	switch {
	case err == nil && known:
		delete(t.since, doing)
		d.Log.InfoContext(ctx, "webhook trouble is over", "doing", doing, "lasted", d.Store.Now().Sub(since))
	case err != nil && !known && ctx.Err() == nil:
		t.since[doing] = d.Store.Now()
		d.Log.ErrorContext(ctx, "webhook trouble; tried again until it is over", "doing", doing, "err", err)
	}
}
