package webhook

import (
	"context"
	"time"
)

// The bounds of a lane.
const (
	laneStart = 8    // requests in flight that a new lane may have
	laneMost  = 64   // that a lane may grow to
	laneSlow  = 4    // that slowness alone leaves it
	laneQueue = 1024 // deliveries that are in memory for one lane
	slow      = 2 * time.Second
	prompt    = 50 * time.Millisecond
	laneCrowd = 128 // requests in flight over all lanes, past which those of prompt endpoints grow no more
)

// item is a delivery that this node has.
type item struct {
	eventID    int64
	partnerID  int64
	licenseID  int64
	licenseKey string
	kind       int
	body       string
	attempts   int // made before this one
	dueAt      time.Time
	node       string // whose name it bore when it was found
	leaseUntil time.Time
	kept       bool   // held without a name in its row
	lease      *lease // by which it is kept; nil: none is needed
	again      bool   // leased by name once more while it was in memory
	missed     bool   // found once more meanwhile, as it was not taken
	probe      bool   // sent to see whether a parked endpoint is back
}

// lane is one partner's share of the dispatcher: a slow or dead partner fills
// its own lane and no other. It is guarded by the dispatcher's lock.
type lane struct {
	partnerID int64
	queue     []*item
	inFlight  int
	width     float64       // how many may be in flight; adapts to the endpoint
	best      time.Duration // that the endpoint has answered in since it last failed
	successAt time.Time     // when a success was last written down
	endpoint  Endpoint
	failing   bool      // its latest answers were failures, as far as is known
	loadedAt  time.Time // zero: look again before sending
	forgotten int       // how often; what was read before the last time is not trusted
	usedAt    time.Time
	more      bool  // more is due than the lane had room for
	kept      int   // deliveries in memory that are held without a name in their rows
	after     place // up to which due deliveries were found
	lined     bool  // it stands in the ring
}

// open is whether the lane takes deliveries at all.
func (l *lane) open() bool { return l.endpoint.URL != "" && l.endpoint.ParkedAt.IsZero() }

// room is how many more deliveries may be in memory: a few for each that may be
// in flight, so that a slow lane leaves its deliveries to other nodes.
func (l *lane) room() int { return min(16*int(l.width), laneQueue) - len(l.queue) - l.inFlight }

// fresh is whether what is known of the endpoint is still trusted.
func (l *lane) fresh(now time.Time) bool {
	if l.open() {
		return l.knownFor(now, freshFor)
	}
	return l.knownFor(now, closedFor)
}

// knownFor is whether the endpoint was looked at no longer ago than that. What will
// have been in the future was before the clock was set back.
func (l *lane) knownFor(now time.Time, most time.Duration) bool {
	age := now.Sub(l.loadedAt)
	return !l.loadedAt.IsZero() && age >= 0 && age < most
}

// passed makes the next search begin at the first delivery, if the last one ended
// behind what is due then: that was not there yet.
func (l *lane) passed(due time.Time) {
	if !due.After(l.after.due) {
		l.after = place{}
	}
}

// ready is whether the lane may send its next delivery: to an endpoint that is
// known and takes it, within its width. In a crowd, each has one in flight.
func (l *lane) ready(crowd bool) bool {
	if len(l.queue) == 0 || l.loadedAt.IsZero() || l.endpoint.URL == "" || !l.endpoint.ParkedAt.IsZero() && !l.queue[0].probe {
		return false
	}
	if crowd {
		return l.inFlight == 0
	}
	return l.inFlight < int(l.width)
}

func (l *lane) pop() *item {
	it := l.queue[0]
	l.queue[0] = nil
	l.queue = l.queue[1:]
	return it
}

// adapt widens the lane by what one success in a full lane is worth, and halves
// it on failure or slowness. In a crowd, it is this node that cannot send faster:
// more in flight to an endpoint that can be prompt would only wait longer.
func (l *lane) adapt(ok bool, took time.Duration, crowd bool) {
	if l.best == 0 || took < l.best {
		l.best = took
	}
	switch {
	case !ok:
		l.best = 0
		l.width = max(l.width/2, 1)
	case took > slow:
		l.width = max(l.width/2, min(l.width, laneSlow))
	case l.inFlight+1 >= int(l.width) && (!crowd || l.best >= prompt):
		l.width = min(l.width+1, laneMost)
	}
}

// lane returns the partner's lane; the lock is held.
func (d *Dispatcher) lane(partnerID int64) *lane {
	l := d.lanes[partnerID]
	if l == nil {
		l = &lane{partnerID: partnerID, width: laneStart, usedAt: d.Now()}
		d.lanes[partnerID] = l
	}
	return l
}

// learn takes what was read of an endpoint; the lock is held. One that takes
// nothing has no queue in memory, and one that is back begins narrow, so that
// what waited drains at a ramp.
func (d *Dispatcher) learn(l *lane, e Endpoint) {
	if !l.endpoint.ParkedAt.IsZero() && e.ParkedAt.IsZero() {
		l.width = 1
	}
	l.endpoint, l.after = e, place{}
	if !l.open() {
		kept := l.queue[:0]
		for _, it := range l.queue {
			if it.probe && e.URL != "" {
				kept = append(kept, it)
			} else {
				d.giveBack(it)
			}
		}
		clear(l.queue[len(kept):])
		l.queue, l.more = kept, false
	}
	d.line(l)
}

// line puts a lane that can send at the end of the ring; the lock is held.
func (d *Dispatcher) line(l *lane) {
	if !l.lined && l.ready(false) {
		l.lined = true
		d.ring = append(d.ring, l)
	}
}

// flight is one delivery on its way.
type flight struct {
	lane     *lane
	item     *item
	endpoint Endpoint
}

// next takes the delivery whose turn it is, if there is one; the lock is held.
// Lanes take turns. When half of all requests there may be are in flight, a lane
// has only one of the rest, so that many that hang leave room for those that do
// not. What is leased for no longer than a request may take is not begun.
func (d *Dispatcher) next() (flight, bool) {
	if d.stopping || d.inFlight >= d.limits.inFlight || d.unrecorded >= d.limits.unrecorded {
		return flight{}, false
	}
	now := d.Now()
	for len(d.ring) > 0 {
		l := d.ring[0]
		d.ring[0] = nil
		d.ring = d.ring[1:]
		l.lined = false
		if !l.ready(2*d.inFlight >= d.limits.inFlight) {
			continue // an answer of its own lines it up again
		}
		it := l.pop()
		if it.runsOut(now) {
			d.giveBack(it)
			l.after = place{}
			d.line(l)
			continue
		}
		l.inFlight++
		d.inFlight++
		d.line(l)
		return flight{l, it, l.endpoint}, true
	}
	return flight{}, false
}

// pump starts all that may be in flight; the lock is held.
func (d *Dispatcher) pump() {
	for f, ok := d.next(); ok; f, ok = d.next() {
		d.flying.Go(func() {
			for ok := true; ok; {
				f, ok = d.land(f, d.send(d.ctx, f.item, f.endpoint))
			}
		})
	}
}

// land takes what came of a flight, nil if it was cut off, and returns the next,
// which may be another lane's.
func (d *Dispatcher) land(f flight, r *result) (flight, bool) {
	l := f.lane
	d.mu.Lock()
	defer d.mu.Unlock()
	l.inFlight--
	d.inFlight--
	if r == nil {
		d.giveBack(f.item)
	} else {
		l.adapt(r.ok, r.took, d.inFlight >= laneCrowd)
		d.unrecorded++
		d.answers = append(d.answers, r)
		signal(d.told)
	}
	d.line(l)
	if l.more && len(l.queue) <= 4*int(l.width) {
		l.more = false
		d.wants[l.partnerID] = true
		signal(d.wake)
	}
	f, ok := d.next()
	d.pump()
	return f, ok
}

// refresh looks anew at the endpoints of lanes in use, so that a new delivery
// finds its lane ready and a saved URL takes effect, and ends lanes that are not.
func (d *Dispatcher) refresh(ctx context.Context) {
	now := d.Now()
	var old []int64
	d.mu.Lock()
	for id, l := range d.lanes {
		switch {
		case len(l.queue) == 0 && l.inFlight == 0 && l.kept == 0 && now.Sub(l.usedAt).Abs() > usedFor:
			delete(d.lanes, id)
		case (l.open() || len(l.queue) > 0) && !l.fresh(now):
			old = append(old, id)
		}
	}
	d.mu.Unlock()
	for _, id := range old {
		if _, err := d.look(ctx, id); err != nil {
			return // the round that follows tells of it
		}
	}
}
