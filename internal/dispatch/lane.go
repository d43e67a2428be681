package dispatch

import (
	"cmp"
	"context"
	"slices"
	"time"

	"claviger/internal/cluster"
	"claviger/internal/webhook"
)

// idleTime is how long a lane without deliveries stays.
const idleTime = time.Minute

// lane contains one partner's deliveries in the memory of the node that sends them: a slow or dead
// partner fills its own lane and no other. Other goroutines use only the mailbox; all other fields
// belong to run.
type lane struct {
	d         *Dispatcher
	partnerID int64
	claim     cluster.Claim
	box       mailbox
	done      chan struct{} // closed when the lane has ended

	endpoint knowledge            // of to
	to       *webhook.Destination // last known endpoint; replaced, never modified
	queue    []*head              // ready to be sent, in order
	held     map[int64]*head      // by license: deliveries in memory, until they are recorded
	inFlight int                  // requests
	pace     pace
	look     looking
	requests requests
	alarm    alarm
	ending   ending
}

// ending is the progress of ending the lane.
type ending struct {
	phase phase
	cut   []int64 // events with aborted requests
}

// requests is the cancelable context of requests, and the number of failures.
type requests struct {
	ctx    context.Context //nolint:containedctx // shared by many requests
	cancel context.CancelFunc
	failed int // not yet recorded: meanwhile nothing is sent early
}

// cut aborts running requests.
func (r *requests) cut() {
	if r.cancel != nil {
		r.cancel()
	}
	r.ctx, r.cancel = context.WithCancel(context.Background())
}

// alarm wakes the lane for a retry that is due before the next poll.
type alarm struct {
	timer  *time.Timer
	at     time.Time // zero: not set
	usedAt time.Time // when the lane was last in use
}

func (a *alarm) set(wait time.Duration) {
	at := time.Now().Add(wait)
	if a.at.IsZero() || at.Before(a.at) {
		a.at = at
		a.timer.Reset(wait)
	}
}

// ended is a finished request; a nil answer means that it was cut off, which is not an attempt.
type ended struct {
	head   *head
	answer *answer
}

func newLane(d *Dispatcher, partnerID int64, claim cluster.Claim) *lane {
	l := &lane{
		d: d, partnerID: partnerID, claim: claim, box: mailbox{wake: make(chan struct{}, 1)}, done: make(chan struct{}),
		to: &webhook.Destination{}, held: map[int64]*head{}, pace: pace{limit: firstInFlight},
		look:  looking{hints: map[int64]bool{}},
		alarm: alarm{timer: time.NewTimer(0), usedAt: time.Now()},
	}
	<-l.alarm.timer.C
	l.requests.cut()
	return l
}

// run handles messages and alarms until the lane ends.
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

// receive handles the lane's messages.
func (l *lane) receive(m mail) {
	if m.orders&orderCut != 0 {
		l.requests.cut()
	}
	for _, e := range m.ended {
		l.endRequest(e)
		l.begin() // so that the pace sees the requests in flight while the endpoint is busy
	}
	for _, r := range m.recorded {
		l.endRecord(r)
	}
	if m.found != nil {
		l.endSearch(m.found)
	}
	if m.orders&orderReload != 0 {
		l.know(onReload, nil)
	}
	if m.changed > l.to.Changed {
		l.know(onNewer, nil)
	}
	if m.orders&orderDue != 0 {
		l.searchFromStart()
	}
	for _, it := range m.fresh {
		l.accept(it)
	}
	for _, id := range m.hints {
		l.setHead(l.head(id), onNews)
	}
	if m.orders&orderStop != 0 {
		l.setPhase(onStop)
	}
	if m.orders&orderLeave != 0 {
		l.setPhase(onLeave)
	}
}

// head is the first pending delivery of a license.
type head struct {
	licenseID int64
	state     headState
	check     bool          // when it is free, the license must be checked
	item      *webhook.Item // its delivery, unless it is free
}

// head returns the head of a license. It is not in memory until it is taken.
func (l *lane) head(licenseID int64) *head {
	if h := l.held[licenseID]; h != nil {
		return h
	}
	return &head{licenseID: licenseID}
}

// accept adds a new delivery that is the first pending one of its license. If there is no space, or
// others before it are not in memory, a search finds it later.
func (l *lane) accept(it *webhook.Item) {
	h := l.head(it.LicenseID)
	switch {
	case h.state != free, l.look.found.has(it.EventID): // the outbox shows whether it was sent
		l.setHead(h, onNews)
	case !l.known():
		l.look.due = true
	case !l.open():
	case l.look.more || len(l.held) >= l.pace.capacity() || l.d.limits.memory.take(l, len(l.held), 1) == 0:
		l.look.more = true
	default:
		l.take(h, it)
	}
}

// take adds a delivery to memory; the caller must have reserved space.
func (l *lane) take(h *head, it *webhook.Item) {
	h.item = it
	l.setHead(h, onTaken)
	l.alarm.usedAt = time.Now()
}

// letGo removes a head from memory. While a running search may have found it, its license stays
// held, so that a delivery recorded meanwhile is not sent again.
func (l *lane) letGo(h *head, m message) {
	l.setHead(h, m)
	if l.look.search == idle {
		l.setHead(h, onFree)
	}
}

// dropQueue drops deliveries that are not started.
func (l *lane) dropQueue() {
	for _, h := range l.queue {
		l.letGo(h, onDrop)
	}
	l.queue = nil
}

// dropEarly drops early retries that are not started.
func (l *lane) dropEarly() {
	l.queue = slices.DeleteFunc(l.queue, func(h *head) bool {
		if h.item.Early {
			l.letGo(h, onDrop)
		}
		return h.item.Early
	})
	l.searchFromStart()
}

// begin starts as many requests as allowed.
func (l *lane) begin() {
	if len(l.queue) == 0 {
		l.d.limits.requests.leave(l)
	} else if until := l.to.Until; !until.IsZero() && !l.d.Store.Now().Before(until) {
		l.know(onExpiry, nil)
	}
	if l.ending.phase != running || l.endpoint != current {
		return
	}
	for len(l.queue) > 0 && l.inFlight < min(int(l.pace.limit), l.most()) {
		if l.queue[0].item.Early && l.requests.failed > 0 || !l.d.Store.Node.Valid(l.claim) ||
			l.d.limits.requests.take(l, l.inFlight, 1) == 0 {
			return
		}
		h := l.queue[0]
		l.queue = l.queue[1:]
		l.setHead(h, onBegin)
		l.inFlight++
		l.d.limits.inFlight.Add(1)
		soon := l.pace.answersSoon()
		if soon {
			l.d.recorder.soon.Add(1)
		}
		ctx := l.requests.ctx
		it := h.item
		to := l.to
		l.d.limits.work.Go(func() { l.send(ctx, h, it, to, soon) })
	}
}

// most returns the lane's maximum of requests in flight.
func (l *lane) most() int { return cmp.Or(l.to.InFlight, l.d.Store.Policy.InFlight, mostInFlight) }

// send makes one request, for the delivery it of h, which belongs to run; soon says that the recorder
// expects the answer soon. The lane learns of the end before the recorder does.
func (l *lane) send(ctx context.Context, h *head, it *webhook.Item, to *webhook.Destination, soon bool) {
	a := l.d.send(ctx, it, to, l)
	l.box.post(func(m *mail) { m.ended = append(m.ended, ended{h, a}) })
	if soon {
		l.d.recorder.soon.Add(-1)
	}
	if a == nil {
		l.d.limits.requests.give(1)
	} else {
		l.d.recorder.add(a)
	}
}

// endRequest frees the place of a finished request.
func (l *lane) endRequest(e ended) {
	now := load{
		lane: l.inFlight, node: int(l.d.limits.inFlight.Load()), spare: l.d.limits.requests.half(), most: l.most(),
	}
	l.inFlight--
	l.d.limits.inFlight.Add(-1)
	if e.answer == nil {
		if l.ending.phase != running {
			l.ending.cut = append(l.ending.cut, e.head.item.EventID)
		}
		l.letGo(e.head, onCut)
		return
	}
	l.setHead(e.head, onAnswer)
	if !e.answer.OK {
		l.requests.failed++
	}
	l.pace.adapt(e.answer.OK, e.answer.Took, now)
}

// endRecord continues with the license after an answer is recorded.
func (l *lane) endRecord(r recorded) {
	a := r.answer
	h := l.held[a.LicenseID]
	if !a.OK {
		l.requests.failed--
	}
	if r.Health != nil {
		l.learn(*r.Health)
		l.setSearch(onRecord, nil)
	}
	if r.Superseded || r.Stale {
		l.setHead(h, onNews)
	}
	if r.Next != nil && l.open() && l.ending.phase == running {
		h.item = r.Next
		l.setHead(h, onNext)
	} else {
		l.letGo(h, onSettle)
	}
	if wait := a.Next.Wait; !a.Finished && wait < time.Minute {
		l.alarm.set(wait)
	}
	l.alarm.usedAt = time.Now()
}

// open reports whether the endpoint is known to accept deliveries.
func (l *lane) open() bool { return l.known() && l.to.Open() }

// known reports whether the endpoint has been loaded. If it changed since, nothing is sent.
func (l *lane) known() bool { return l.endpoint == current || l.endpoint == outdated }

// over reports whether the lane has ended: it was idle for a while, or it was stopped, nothing is
// in flight and all answers are recorded.
func (l *lane) over() bool {
	rests := len(l.held) == 0 && l.look.search == idle
	switch {
	case l.inFlight > 0, l.ending.phase != leaving && !rests:
		return false
	case l.ending.phase == running:
		return time.Since(l.alarm.usedAt) >= l.d.limits.idle && l.d.end(l)
	case l.ending.phase == stopping:
		l.putOff()
	}
	l.d.limits.memory.give(len(l.held))
	l.d.limits.memory.leave(l)
	l.d.limits.requests.leave(l)
	return l.d.end(l)
}

// putOff delays deliveries that were cut off when the shard was handed over.
func (l *lane) putOff() {
	if len(l.ending.cut) == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), recordTime)
	defer cancel()
	err := l.d.Store.PutOff(ctx, l.claim, l.ending.cut, cutRetry)
	l.d.note(context.Background(), "put off webhooks that were cut off", err)
}

// offerLate is how late an offer may arrive after its commit and still be recognized as already
// found.
const offerLate = 10 * time.Second

// foundNew remembers the untried deliveries that searches found in the last offerLate. A search
// sees a delivery from its commit on. On a busy machine the goroutine of the commit may offer it
// only after it was found, sent and recorded.
type foundNew struct {
	newer, older map[int64]bool // by event
	since        time.Time      // start of newer
}

func (f *foundNew) add(eventID int64) {
	now := time.Now()
	if now.Sub(f.since) >= offerLate {
		f.older = f.newer
		f.newer = map[int64]bool{}
		f.since = now
	}
	f.newer[eventID] = true
}

func (f *foundNew) has(eventID int64) bool { return f.newer[eventID] || f.older[eventID] }
