package dispatch

import (
	"context"
	"slices"
	"time"

	"claviger/internal/cluster"
	"claviger/internal/webhook"
)

// idleTime is how long a lane without deliveries stays ready for the next.
const idleTime = time.Minute

// lane is one partner's deliveries in the memory of the node that sends them: a slow or
// dead partner fills its own lane and no other. Only the mailbox is for others; the rest
// belongs to run.
type lane struct {
	d         *Dispatcher
	partnerID int64
	claim     cluster.Claim
	box       mailbox
	done      chan struct{} // closed when the lane has ended

	to       *webhook.Destination // as far as it is known; replaced, never changed
	known    bool                 // to is; until it is, nothing is sent
	queue    []*webhook.Item      // ready to be sent, the next first
	held     map[int64]*hold      // licenses that have a delivery in memory, until it is recorded
	inFlight int                  // requests
	pace     pace
	look     looking
	requests requests
	alarm    alarm
	ending   ending
}

// hold is a license that has a delivery in memory.
type hold struct {
	item  *webhook.Item // nil: it is recorded, and a search that may have found it is out
	again bool          // something was heard of the license meanwhile
}

// looking is what the lane wants of the database.
type looking struct {
	out    bool           // a search is under way
	passed bool           // since it began, a record told how the endpoint does
	due    bool           // search for what is due
	reload bool           // look at the endpoint before anything is sent
	more   bool           // the last search found more than there was space for
	hints  map[int64]bool // licenses to look at
	after  webhook.Cursor // up to which the searches found everything
}

// requests is the context of requests, which can be cut off, and how many failed.
type requests struct {
	ctx    context.Context //nolint:containedctx // one for many requests
	cancel context.CancelFunc
	failed int // and are not recorded: nothing is sent early meanwhile
}

// cut aborts requests under way.
func (r *requests) cut() {
	if r.cancel != nil {
		r.cancel()
	}
	r.ctx, r.cancel = context.WithCancel(context.Background())
}

// alarm wakes the lane for a retry that comes sooner than the poll would find it.
type alarm struct {
	timer  *time.Timer
	at     time.Time // zero: it is not set
	usedAt time.Time // when the lane last had something to do
}

func (a *alarm) set(wait time.Duration) {
	at := time.Now().Add(wait)
	if a.at.IsZero() || at.Before(a.at) {
		a.at = at
		a.timer.Reset(wait)
	}
}

// ending is how far the end of the lane has come.
type ending struct {
	stop  bool    // nothing more is begun
	leave bool    // nobody waits for records
	cut   []int64 // events whose requests were aborted
}

// ended is a request that is over; no answer means that it was cut off, which is no attempt.
type ended struct {
	item   *webhook.Item
	answer *answer
}

func newLane(d *Dispatcher, partnerID int64, claim cluster.Claim) *lane {
	l := &lane{
		d: d, partnerID: partnerID, claim: claim, box: mailbox{wake: make(chan struct{}, 1)}, done: make(chan struct{}),
		to: &webhook.Destination{}, held: map[int64]*hold{}, pace: pace{limit: firstInFlight}, look: looking{hints: map[int64]bool{}},
		alarm: alarm{timer: time.NewTimer(0), usedAt: time.Now()},
	}
	<-l.alarm.timer.C
	l.requests.cut()
	return l
}

// run is the lane.
func (l *lane) run() {
	defer close(l.done)
	defer l.alarm.timer.Stop()
	for !l.over() {
		select {
		case <-l.box.wake:
		case <-l.alarm.timer.C:
			l.alarm.at, l.look.due = time.Time{}, true
		}
		l.receive(l.box.take())
		l.begin()
		l.search()
	}
}

// receive takes what the lane is told.
func (l *lane) receive(m mail) {
	if m.cut {
		l.requests.cut()
	}
	for _, e := range m.ended {
		l.endRequest(e)
		l.begin() // so that the pace sees how many are in flight while the endpoint is busy
	}
	for _, r := range m.recorded {
		l.endRecord(r)
	}
	if m.found != nil {
		l.endSearch(m.found)
	}
	if m.reload || l.known && m.changed > l.to.Changed {
		l.look.reload, l.look.due = true, true
	}
	if m.due {
		l.look.due, l.look.after = true, webhook.Cursor{}
	}
	for _, it := range m.fresh {
		l.accept(it)
	}
	for _, id := range m.hints {
		l.hear(id)
	}
	l.ending.leave = l.ending.leave || m.leave
	if m.stop && !l.ending.stop {
		l.ending.stop = true
		l.dropQueue()
	}
}

// accept takes a new delivery that is the first open one of its license. One that it has
// no space for, or behind others that are not in memory, is found later.
func (l *lane) accept(it *webhook.Item) {
	h := l.held[it.LicenseID]
	switch {
	case h != nil:
		h.again = true
	case !l.known:
		l.look.due = true
	case !l.open():
	case l.look.more || len(l.held) >= l.pace.capacity() || l.d.limits.memory.take(l, len(l.held), 1) == 0:
		l.look.more = true
	default:
		l.hold(it)
	}
}

// hold takes a delivery into memory, for which there is space.
func (l *lane) hold(it *webhook.Item) {
	l.held[it.LicenseID] = &hold{item: it}
	l.queue = append(l.queue, it)
	l.alarm.usedAt = time.Now()
}

// hear notes that something of a license may be due.
func (l *lane) hear(licenseID int64) {
	if h := l.held[licenseID]; h != nil {
		h.again = true
		return
	}
	l.look.hints[licenseID] = true
}

// letGo drops a delivery. While a search is out that may have found it, its license
// stays held, so that what is recorded meanwhile is not sent again.
func (l *lane) letGo(licenseID int64) {
	h := l.held[licenseID]
	if l.look.out {
		h.item = nil
		return
	}
	delete(l.held, licenseID)
	l.d.limits.memory.give(1)
	if h.again {
		l.look.hints[licenseID] = true
	}
}

// dropQueue lets go of what is not begun.
func (l *lane) dropQueue() {
	for _, it := range l.queue {
		l.letGo(it.LicenseID)
	}
	l.queue = nil
}

// dropEarly lets go of what is not begun and would be sent early.
func (l *lane) dropEarly() {
	l.queue = slices.DeleteFunc(l.queue, func(it *webhook.Item) bool {
		if it.Early {
			l.letGo(it.LicenseID)
		}
		return it.Early
	})
	l.look.due, l.look.after = true, webhook.Cursor{}
}

// begin starts as many requests as may be in flight.
func (l *lane) begin() {
	if len(l.queue) == 0 {
		l.d.limits.requests.leave(l)
	} else if until := l.to.Until; !until.IsZero() && !l.d.Store.Now().Before(until) {
		l.look.reload = true
	}
	if l.ending.stop || l.look.reload || !l.known {
		return
	}
	for len(l.queue) > 0 && l.inFlight < min(int(l.pace.limit), l.most()) {
		if l.queue[0].Early && l.requests.failed > 0 || !l.d.Store.Node.Valid(l.claim) || l.d.limits.requests.take(l, l.inFlight, 1) == 0 {
			return
		}
		it, to, ctx := l.queue[0], l.to, l.requests.ctx
		l.queue = l.queue[1:]
		l.inFlight++
		l.d.limits.inFlight.Add(1)
		soon := l.pace.answersSoon()
		if soon {
			l.d.recorder.soon.Add(1)
		}
		l.d.limits.work.Go(func() { l.send(ctx, it, to, soon) })
	}
}

// most is how many requests the lane may have in flight.
func (l *lane) most() int {
	for _, n := range []int{l.to.InFlight, l.d.Store.Policy.InFlight} {
		if n > 0 {
			return n
		}
	}
	return mostInFlight
}

// send makes one request, whose answer the recorder may expect soon. The lane learns that
// it is over before the recorder does.
func (l *lane) send(ctx context.Context, it *webhook.Item, to *webhook.Destination, soon bool) {
	a := l.d.send(ctx, it, to, l)
	l.box.post(func(m *mail) { m.ended = append(m.ended, ended{it, a}) })
	if soon {
		l.d.recorder.soon.Add(-1)
	}
	if a == nil {
		l.d.limits.requests.give(1)
	} else {
		l.d.recorder.add(a)
	}
}

// endRequest makes way for the next request.
func (l *lane) endRequest(e ended) {
	now := load{lane: l.inFlight, node: int(l.d.limits.inFlight.Load()), spare: l.d.limits.requests.half(), most: l.most()}
	l.inFlight--
	l.d.limits.inFlight.Add(-1)
	if e.answer == nil {
		if l.ending.stop {
			l.ending.cut = append(l.ending.cut, e.item.EventID)
		}
		l.letGo(e.item.LicenseID)
		return
	}
	if !e.answer.OK {
		l.requests.failed++
	}
	l.pace.adapt(e.answer.OK, e.answer.Took, now)
}

// endRecord goes on with the license after an answer is recorded.
func (l *lane) endRecord(r recorded) {
	a := r.answer
	h := l.held[a.LicenseID]
	if !a.OK {
		l.requests.failed--
	}
	if r.Health != nil {
		l.learn(*r.Health)
		l.look.passed = l.look.out
	}
	h.again = h.again || r.Superseded || r.Stale
	if r.Next != nil && l.open() && !l.ending.stop {
		h.item = r.Next
		l.queue = append(l.queue, r.Next)
	} else {
		l.letGo(a.LicenseID)
	}
	if wait := a.Next.Wait; !a.Finished && wait < time.Minute {
		l.alarm.set(wait)
	}
	l.alarm.usedAt = time.Now()
}

// learn takes how the endpoint does, unless something newer is known. A parked endpoint
// has no queue in memory, and one that is back begins with one request at a time, so that
// what waited drains at a ramp. When that is over, what was found for it is let go.
func (l *lane) learn(h webhook.Health) {
	if h.Changed < l.to.Changed {
		return
	}
	parked, draining := l.to.Parked(), l.to.Draining()
	if h != l.to.Health {
		l.to = &webhook.Destination{Endpoint: l.to.Endpoint, Health: h}
	}
	switch {
	case h.Parked():
		l.dropQueue()
	case parked, h.Draining() && !draining:
		l.pace.limit = 1
		l.look.due, l.look.after = true, webhook.Cursor{}
	case draining && !h.Draining():
		l.dropEarly()
	}
}

// open reports whether the endpoint is known to take deliveries.
func (l *lane) open() bool { return l.known && l.to.Open() }

// over reports whether the lane has ended: it has nothing to do for a while, or it was
// stopped, nothing is in flight and all answers are recorded.
func (l *lane) over() bool {
	switch {
	case l.inFlight > 0:
		return false
	case l.ending.stop && (l.ending.leave || len(l.held) == 0 && !l.look.out):
		if !l.ending.leave {
			l.putOff()
		}
		l.d.limits.memory.give(len(l.held))
		l.d.limits.memory.leave(l)
		l.d.limits.requests.leave(l)
		return l.d.end(l, true)
	case l.ending.stop || len(l.held) > 0 || l.look.out || time.Since(l.alarm.usedAt) < l.d.limits.idle:
		return false
	}
	return l.d.end(l, false)
}

// putOff has what was cut off when the shard was handed over tried again a little later.
func (l *lane) putOff() {
	if len(l.ending.cut) == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), recordTime)
	defer cancel()
	err := l.d.Store.PutOff(ctx, l.claim, l.ending.cut, cutRetry)
	l.d.note(context.Background(), "put off webhooks that were cut off", err)
}
