// Package dispatch sends deliveries from the memory of the node that owns them. It owns
// the lanes, how many requests are in flight, and the queue of answers that are to be
// recorded. It has no tables and no SQL: webhook finds what is to be sent and records
// what came of it, courier signs and posts, and cluster says which node sends for a
// partner.
//
// # Lanes
//
// Only the owner of a partner's shard sends for it. It has a lane for each partner that
// has something to send: a goroutine with the deliveries in memory. What a lane has is a
// copy; the outbox is the truth, and a lane can end at any time. Nobody waits for a lane:
// it is told things through a mailbox.
//
// A lane hears of new deliveries from this node's own transactions after their commit,
// of those of other nodes by hints, and of everything else by a poll each second.
//
// How many requests a lane has in flight follows how the endpoint answers. All lanes
// share what the node may have in flight and in memory.
//
// # Answers
//
// A recorder has answers recorded in batches. While the database cannot be written,
// answers wait in memory, and soon nothing more is sent.
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

// The dispatcher's own bounds.
const (
	maxRequests  = 4096             // begun and not recorded, over all lanes
	maxHeld      = 16384            // deliveries in memory
	pollEvery    = time.Second      // the net under messages
	pollShare    = 20               // a poll takes at most this part of the time
	queryTime    = 10 * time.Second // for each thing asked of the database
	recordTime   = 3 * time.Second  // for answers that are not recorded when a shard is handed over
	cutRetry     = 10 * time.Second // until what was cut off is tried again
	mostInFlight = 256              // requests of one lane, where no setting says otherwise
)

// Dispatcher sends the deliveries of the partners whose shards this node owns.
type Dispatcher struct {
	Store     webhook.Store // without Superseded
	Log       *slog.Logger
	Client    *courier.Client
	UserAgent string
	Metrics   *Metrics
	Tracer    trace.Tracer     // nil: attempts are not traced
	Random    func() float64   // nil: random
	SignNow   func() time.Time // the clock of signatures, which servers compare with their own; nil: that of Store

	lanes    registry
	recorder recorder
	hinter   hinter
	poller   poller
	limits   limits
}

// limits are bounds over all lanes, and what goes on in them.
type limits struct {
	requests budget        // begun and not recorded
	memory   budget        // deliveries
	inFlight atomic.Int64  // requests
	idle     time.Duration // how long a lane without deliveries stays ready for the next
	work     sync.WaitGroup
	troubles troubles
}

// Prepare makes the parts that Enqueue and Run share and has the node tell which shards
// it owns. It is called once, before either.
func (d *Dispatcher) Prepare() *Dispatcher {
	if d.Random == nil {
		d.Random = random
	}
	d.lanes = registry{lanes: map[int64]*lane{}, claims: map[int]cluster.Claim{}}
	d.recorder = recorder{d: d, wake: make(chan struct{}, 1), enough: make(chan struct{}, 1)}
	d.hinter = hinter{wake: make(chan struct{}, 1)}
	d.poller.wake, d.poller.every = make(chan struct{}, 1), pollEvery
	d.limits.requests.limit, d.limits.requests.fair = maxRequests, 1
	d.limits.memory.limit, d.limits.memory.fair = maxHeld, 16
	d.limits.idle = idleTime
	d.limits.troubles = troubles{since: map[string]time.Time{}}
	d.Store.Superseded = d.logSuperseded
	n := d.Store.Node
	n.Gained, n.Release, n.Lost, n.Cut = d.gained, d.release, d.lost, d.cut
	return d
}

// random is a field's default: tests have their own.
func random() float64 { return rand.Float64() } //nolint:gosec // spreads load, keeps no secret

// Run has the node take part in the cluster, and sends for the shards that it owns, until
// ctx is over. What was sent is recorded before it returns; an error is the node's.
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

// runParts runs what serves the lanes until ctx is over.
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

// registry is the lanes of this node and the claims that they work under.
type registry struct {
	mu     sync.Mutex
	lanes  map[int64]*lane
	claims map[int]cluster.Claim
}

// Work is how much a node has to send at this moment.
type Work struct {
	Shards   int // whose partners it sends for
	Lanes    int // partners with something to send
	InFlight int // requests
}

// Work returns how much is to be sent.
func (d *Dispatcher) Work() Work {
	d.lanes.mu.Lock()
	defer d.lanes.mu.Unlock()
	return Work{Shards: len(d.lanes.claims), Lanes: len(d.lanes.lanes), InFlight: int(d.limits.inFlight.Load())}
}

// gained begins to send for the partners of a shard.
func (d *Dispatcher) gained(c cluster.Claim) {
	d.lanes.mu.Lock()
	d.lanes.claims[c.Shard] = c
	d.lanes.mu.Unlock()
	d.poller.gained.Store(true)
	signal(d.poller.wake)
}

// disown takes a shard from the dispatcher and returns its lanes: no more are made.
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

// release hands a shard over: requests under way end in their own time, or are cut off
// when ctx is over, and what came of them is recorded.
func (d *Dispatcher) release(ctx context.Context, c cluster.Claim) {
	list := d.disown(c)
	tell(list, func(m *mail) { m.stop = true })
	if await(ctx, list) {
		return
	}
	tell(list, func(m *mail) { m.cut = true })
	last, cancel := context.WithTimeout(context.WithoutCancel(ctx), recordTime)
	defer cancel()
	if !await(last, list) {
		d.leave(list)
	}
}

// lost ends the lanes of a shard that another node may own by now.
func (d *Dispatcher) lost(c cluster.Claim) { d.leave(d.disown(c)) }

// leave ends lanes as soon as nothing of them is being sent.
func (d *Dispatcher) leave(list []*lane) {
	tell(list, func(m *mail) { m.stop, m.cut, m.leave = true, true, true })
	for _, l := range list {
		<-l.done
	}
}

// cut aborts all requests.
func (d *Dispatcher) cut() {
	d.lanes.mu.Lock()
	defer d.lanes.mu.Unlock()
	for _, l := range d.lanes.lanes {
		l.box.post(func(m *mail) { m.cut = true })
	}
}

func tell(list []*lane, add func(*mail)) {
	for _, l := range list {
		l.box.post(add)
	}
}

// await waits for lanes to end, and reports whether they all did before ctx was over.
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

// post tells the partner's lane something, if this node owns it. A lane is made where
// there is none.
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

// end removes a lane that has nothing to do, unless it was told something meanwhile.
func (d *Dispatcher) end(l *lane, force bool) bool {
	d.lanes.mu.Lock()
	defer d.lanes.mu.Unlock()
	if !l.box.close(force) {
		return false
	}
	delete(d.lanes.lanes, l.partnerID)
	return true
}

// Tell is how an outbox on this node tells the dispatcher of changes.
func (d *Dispatcher) Tell() webhook.Tell {
	return webhook.Tell{Offer: d.offer, Hint: d.hint, Reload: d.reload}
}

// offer gives a new delivery to its lane, or has its owner look for it.
func (d *Dispatcher) offer(it *webhook.Item) {
	if !d.post(it.PartnerID, func(m *mail) { m.fresh = append(m.fresh, it) }) {
		d.hintOthers(it.PartnerID, it.LicenseID)
	}
}

// hint has the owner of the lane look for what is due of a license.
func (d *Dispatcher) hint(partnerID, licenseID int64) {
	if !d.post(partnerID, func(m *mail) { m.hints = append(m.hints, licenseID) }) {
		d.hintOthers(partnerID, licenseID)
	}
}

// reload has the owner of the lane look at the endpoint before it sends anything more,
// and then for what is due.
func (d *Dispatcher) reload(partnerID int64) {
	if !d.post(partnerID, func(m *mail) { m.reload = true }) {
		d.hintOthers(partnerID, 0)
	}
}

// troubles are what does not work in the background, by what is done.
type troubles struct {
	mu    sync.Mutex
	since map[string]time.Time
}

// note logs a trouble of the background when it begins and when it is over, and not each
// time in between: a database that is away for an hour is one piece of news.
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
