package webhook

import (
	"context"
	"log/slog"
	"slices"
	"sync"
	"time"

	"claviger/internal/courier"
	"claviger/internal/secret"
	"claviger/internal/sqldb"
)

// The dispatcher's own bounds.
const (
	batchSize = 1024             // answers recorded in one transaction
	pollEvery = time.Second      // the net under the wake-ups
	freshFor  = 3 * time.Second  // how long a lane trusts what it knows of an open endpoint
	closedFor = 30 * time.Second // likewise of one that takes nothing
	usedFor   = time.Minute      // how long after its last delivery a lane is kept ready for the next
	drainTime = 5 * time.Second  // for requests in flight at the end
	bookTime  = 3 * time.Second  // for each of what is written at the end
	askTime   = 10 * time.Second // for each of what is asked of the database
)

// limits are bounds over all lanes.
type limits struct {
	inFlight   int // requests
	held       int // deliveries in memory, past which none are claimed
	unrecorded int // answers that wait to be recorded: past that, nothing is sent
}

var defaultLimits = limits{inFlight: 2048, held: 16384, unrecorded: 2048}

// Endpoint is where a partner's deliveries go, and how it fares.
type Endpoint struct {
	URL      string // "": none saved yet
	Brand    string
	Strict   bool
	Secrets  courier.Secrets
	Proven   bool      // a check or a delivery has shown that the URL works
	ParkedAt time.Time // zero: open
	ProbeAt  time.Time
}

// Dispatcher sends what is due: it leases deliveries, in memory one lane per
// partner, signs and posts them, and records what came of each. Any number of
// nodes share one database.
type Dispatcher struct {
	DB         *sqldb.DB
	Now        func() time.Time
	Log        *slog.Logger
	Client     *courier.Client
	UserAgent  string
	Endpoint   func(ctx context.Context, partnerID int64) (Endpoint, error) // URL, secrets, brand, strict
	Schedule   Schedule
	ParkAfter  time.Duration // of nothing but failures
	ProbeEvery time.Duration // of a parked endpoint
	Supersede  Supersede     // of refused events; none where its Attempts is 0
	Alone      bool          // no other node sends from this database: leases of an earlier run are nobody's; set before Run
	Metrics    *Metrics
	Random     func() float64 // nil: random
	Started    func()         // called by Run once it sends; may be nil

	node   string
	limits limits
	drain  time.Duration
	wake   chan struct{}   // something is in wants, or search is set
	told   chan struct{}   // an answer waits
	flying sync.WaitGroup  // requests in flight
	apart  sync.WaitGroup  // records that wait for what somebody else holds
	ctx    context.Context //nolint:containedctx // of requests, which may outlive that of Run
	cut    context.CancelFunc
	books  context.Context //nolint:containedctx // of records, which may outlive requests
	shut   context.CancelFunc
	last   int64 // partner that was served last in a search; Run's own

	mu         sync.Mutex
	lanes      map[int64]*lane
	ring       []*lane          // lanes that can send, each once, the next first
	held       map[int64]*item  // deliveries in memory, until they are recorded or given back
	leases     map[int64]*lease // that the node has, by their ids
	busy       map[int64]int    // licenses, by how many deliveries of each are in memory
	left       map[int64]bool   // licenses of which one was let go while something is looked for; nil: nothing is
	returned   []int64          // given back, which the database does not know yet
	answers    []*result        // not recorded yet, nor being so
	wants      map[int64]bool   // partners that something is due for
	search     bool             // something is due for somebody
	alarms     map[int64]bool   // set, by the time they go off
	troubles   map[string]time.Time
	supersedes superseding
	inFlight   int
	unrecorded int
	started    bool
	stopping   bool
	closed     bool // no more answers come
}

// Prepare makes the parts that Enqueue and Run share. It is called once, before
// either.
func (d *Dispatcher) Prepare() *Dispatcher {
	d.node = secret.UUID()[:13] // enough to tell nodes apart, and it stands in every row that one has leased
	d.limits, d.drain = defaultLimits, drainTime
	d.wake, d.told = make(chan struct{}, 1), make(chan struct{}, 1)
	d.lanes, d.held, d.leases = map[int64]*lane{}, map[int64]*item{}, map[int64]*lease{}
	d.busy, d.wants = map[int64]int{}, map[int64]bool{}
	d.alarms, d.troubles = map[int64]bool{}, map[string]time.Time{}
	d.ctx, d.cut = context.WithCancel(context.Background())
	d.books, d.shut = context.WithCancel(context.Background())
	if d.Random == nil {
		d.Random = random
	}
	return d
}

// Run sends until ctx is over, then lets requests in flight end, and hands back
// what it did not get to without a counted attempt.
func (d *Dispatcher) Run(ctx context.Context) error {
	if err := d.start(ctx); err != nil {
		return err
	}
	if d.Started != nil {
		d.Started()
	}
	recorded := make(chan struct{})
	go func() { d.keepRecords(); close(recorded) }()

	poll, leases := time.NewTicker(pollEvery), time.NewTicker(renewEvery)
	defer poll.Stop()
	defer leases.Stop()
	for {
		select {
		case <-ctx.Done():
			d.stop(recorded)
			return nil
		case <-leases.C:
			d.note(ctx, "renew the leases of webhooks", d.renew(ctx))
			continue
		case <-d.wake:
		case <-poll.C:
			d.refresh(ctx)
			d.note(ctx, "trim the leases of webhooks", d.trim(ctx))
			d.nudge()
		}
		d.note(ctx, "look for due webhooks", d.round(ctx))
	}
}

// hasRoom is whether a new delivery may be born leased to this node. A nil or
// stopped dispatcher has none; neither has a lane whose endpoint is not known to
// be open.
func (d *Dispatcher) hasRoom(partnerID int64) bool {
	if d == nil {
		return false
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	l := d.lanes[partnerID]
	return d.started && !d.stopping && l != nil && l.open() && l.room() > 0 && l.knownFor(d.Now(), 2*freshFor)
}

// accept takes deliveries that are leased to this node. One that it holds
// already, as when it slept past its own lease, is not taken twice.
func (d *Dispatcher) accept(items ...*item) {
	if len(items) == 0 {
		return
	}
	d.mu.Lock()
	d.take(d.Now(), items)
	late := d.closed
	d.mu.Unlock()
	if late { // what was held may have been handed back before; answers of others may wait to be recorded
		ctx, cancel := context.WithTimeout(context.Background(), bookTime)
		defer cancel()
		named := slices.DeleteFunc(slices.Clone(items), func(it *item) bool { return it.kept })
		d.note(ctx, "hand back webhooks", release(ctx, d.DB, d.node, eventIDs(named)))
	}
}

// take puts deliveries into their lanes; the lock is held.
func (d *Dispatcher) take(now time.Time, items []*item) {
	for _, it := range items {
		had := d.held[it.eventID]
		switch {
		case had != nil:
			had.leaseUntil, had.again = it.leaseUntil, !it.kept
			continue
		case it.kept && d.busy[it.licenseID] > 0:
			continue // its turn comes when that is settled
		case it.lease != nil && (d.leases[it.lease.id] != it.lease || !it.lease.covers(it.licenseID)):
			d.lane(it.partnerID).after = place{} // it has to be found again
			d.wants[it.partnerID] = true
			signal(d.wake)
			continue
		}
		l := d.lane(it.partnerID)
		d.hold(l, it)
		l.usedAt = now
		l.queue = append(l.queue, it)
		d.line(l)
		if l.loadedAt.IsZero() {
			d.wants[it.partnerID] = true
			signal(d.wake)
		}
	}
	d.pump()
}

// giveBack lets go of a delivery without an attempt; the lock is held. Whether or
// not the database gets to know, the lease is not renewed any more.
func (d *Dispatcher) giveBack(it *item) {
	d.letGo(it)
	if !it.kept {
		d.returned = append(d.returned, it.eventID)
	}
}

// want makes the dispatcher see to a partner soon.
func (d *Dispatcher) want(partnerID int64) {
	if d == nil || d.wake == nil {
		return
	}
	d.mu.Lock()
	d.wants[partnerID] = true
	d.mu.Unlock()
	signal(d.wake)
}

// nudge makes the dispatcher look for due deliveries of any partner soon.
func (d *Dispatcher) nudge() {
	if d == nil || d.wake == nil {
		return
	}
	d.mu.Lock()
	d.search = true
	d.mu.Unlock()
	signal(d.wake)
}

// InvalidateEndpoint makes the dispatcher look at the partner's endpoint anew before it
// sends anything more there. Called after a change of URL, secrets, brand or
// strictness; other nodes notice within seconds by themselves.
func (d *Dispatcher) InvalidateEndpoint(partnerID int64) {
	if d == nil || d.wake == nil {
		return
	}
	d.mu.Lock()
	if l := d.lanes[partnerID]; l != nil {
		l.loadedAt = time.Time{}
		l.forgotten++
	}
	d.mu.Unlock()
	d.want(partnerID)
}

// remind makes the dispatcher look for due deliveries after a wait too short to
// leave it to the poll. Many at once are one.
func (d *Dispatcher) remind(wait time.Duration) {
	const step = 20 * time.Millisecond
	if wait >= time.Minute {
		return
	}
	wait = wait.Truncate(step) + step
	at := time.Now().Add(wait).UnixNano() / int64(step)
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.alarms[at] || d.stopping {
		return
	}
	d.alarms[at] = true
	time.AfterFunc(wait, func() {
		d.mu.Lock()
		delete(d.alarms, at)
		d.mu.Unlock()
		d.nudge()
	})
}

// note logs a trouble of the background when it begins and when it is over, and
// not each time in between: nobody asked, and a database that is away for an
// hour is one piece of news.
func (d *Dispatcher) note(ctx context.Context, doing string, err error) {
	d.mu.Lock()
	since := d.troubles[doing]
	switch {
	case err == nil:
		delete(d.troubles, doing)
	case since.IsZero() && ctx.Err() == nil:
		d.troubles[doing] = d.Now()
	}
	d.mu.Unlock()
	switch {
	case err == nil && !since.IsZero():
		d.Log.InfoContext(ctx, "webhook trouble is over", "doing", doing, "lasted", d.Now().Sub(since))
	case err != nil && since.IsZero() && ctx.Err() == nil:
		d.Log.ErrorContext(ctx, "webhook trouble; tried again until it is over", "doing", doing, "error", err)
	}
}

// signal says that there is something to see to, unless that was said already.
func signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// keys returns the sorted keys of a map: rows are locked in the same order by
// everybody.
func keys[V any](m map[int64]V) []int64 {
	ids := make([]int64, 0, len(m))
	for id := range m {
		ids = append(ids, id)
	}
	slices.Sort(ids)
	return ids
}
