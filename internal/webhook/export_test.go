package webhook

import (
	"context"
	"errors"
	"testing"
	"time"

	"claviger/internal/audit"
	"claviger/internal/sqldb"
)

// What tests of the inside use. A dispatcher that is not run can be stepped: it
// does what it does by itself otherwise, when the test says so.

// Begin makes a dispatcher that is not run take deliveries, and search for them.
func (d *Dispatcher) Begin(ctx context.Context) error {
	if d.started {
		d.nudge()
		return nil
	}
	return d.start(ctx)
}

// Round does one round.
func (d *Dispatcher) Round(ctx context.Context) error { return d.round(ctx) }

// Search does one round over everything that is due.
func (d *Dispatcher) Search(ctx context.Context) error {
	d.nudge()
	return d.round(ctx)
}

// Record records the answers there are and returns how many.
func (d *Dispatcher) Record() int {
	d.mu.Lock()
	batch := d.answers
	d.answers = nil
	d.mu.Unlock()
	if len(batch) > 0 {
		d.persist(batch, false, lockTime)
	}
	return len(batch)
}

// RecordOnly records the answers there are, and calls between when that is committed;
// what it returns takes on what they set free.
func (d *Dispatcher) RecordOnly(t testing.TB, between func()) (takeOn func()) {
	t.Helper()
	d.mu.Lock()
	batch := d.answers
	d.answers = nil
	d.mu.Unlock()
	next, err := d.record(batch, false, askTime)
	if err != nil {
		t.Fatal(err)
	}
	between()
	d.settle(batch)
	return func() { d.accept(next...) }
}

// RecordClosed records the answers there are, one by one, when no more come.
func (d *Dispatcher) RecordClosed() {
	d.mu.Lock()
	batch := d.answers
	d.answers, d.closed, d.stopping = nil, true, true
	d.mu.Unlock()
	for _, r := range batch {
		d.persist([]*result{r}, false, lockTime)
	}
}

// RecordAgain records the answers there are twice, as when it is not known
// whether the first time was committed, and calls between in between.
func (d *Dispatcher) RecordAgain(between func()) error {
	d.mu.Lock()
	batch := d.answers
	d.answers = nil
	d.mu.Unlock()
	if _, err := d.record(batch, false, askTime); err != nil {
		return err
	}
	between()
	next, err := d.record(batch, true, askTime)
	d.settle(batch)
	d.accept(next...)
	return err
}

// Step does all there is to do at this time.
func (d *Dispatcher) Step(ctx context.Context) error {
	if err := d.Begin(ctx); err != nil {
		return err
	}
	for {
		if err := d.round(ctx); err != nil {
			return err
		}
		d.flying.Wait()
		d.mu.Lock()
		busy := len(d.wants) > 0 || d.search
		d.mu.Unlock()
		if d.Record() == 0 && !busy {
			return nil
		}
	}
}

// Renew renews leases; Refresh looks at endpoints.
func (d *Dispatcher) Renew(ctx context.Context) error { return d.renew(ctx) }

// Trim trims leases.
func (d *Dispatcher) Trim(ctx context.Context) error { return d.trim(ctx) }

// Refresh looks at endpoints anew.
func (d *Dispatcher) Refresh(ctx context.Context) { d.refresh(ctx) }

// Apart waits until nothing is recorded apart.
func (d *Dispatcher) Apart() { d.apart.Wait() }

// Landed waits until nothing is in flight.
func (d *Dispatcher) Landed() { d.flying.Wait() }

// Node is the dispatcher's name on its leases.
func (d *Dispatcher) Node() string { return d.node }

// Limit sets other bounds over all lanes.
func (d *Dispatcher) Limit(inFlight, held, unrecorded int) {
	d.limits = limits{inFlight: inFlight, held: held, unrecorded: unrecorded}
}

// DrainIn sets how long requests in flight have at the end.
func (d *Dispatcher) DrainIn(t time.Duration) { d.drain = t }

// Stop makes the dispatcher take nothing more.
func (d *Dispatcher) Stop() {
	d.mu.Lock()
	d.stopping = true
	d.mu.Unlock()
}

// Width is how many requests to a partner may be in flight.
func (d *Dispatcher) Width(partnerID int64) int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return int(d.lane(partnerID).width)
}

// Counts is how many deliveries are in memory, in flight, and wait to be
// recorded.
func (d *Dispatcher) Counts() (held, inFlight, unrecorded int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return len(d.held), d.inFlight, d.unrecorded
}

// Lanes is how many lanes there are.
func (d *Dispatcher) Lanes() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return len(d.lanes)
}

// Next is the schedule's rule.
func (s Schedule) Next(n int, retryAfter time.Duration, random float64) (time.Duration, bool) {
	return s.next(n, retryAfter, random)
}

// Adapt is how wide a lane is after an answer.
func Adapt(width float64, inFlight int, ok bool, took time.Duration, crowd bool) float64 {
	l := &lane{width: width, inFlight: inFlight}
	l.adapt(ok, took, crowd)
	return l.width
}

// The bounds of a lane, and the times of a lease.
const (
	LaneStart  = laneStart
	LaneMost   = laneMost
	LaneSlow   = laneSlow
	Slow       = slow
	Prompt     = prompt
	LeaseTime  = leaseTime
	LeaseSpare = leaseSpare
	RenewEvery = renewEvery
	ClockSkew  = clockSkew
	FreshFor   = freshFor
	ClosedFor  = closedFor
	UsedFor    = usedFor
)

// Cut ends the requests in flight.
func (d *Dispatcher) Cut() {
	d.Stop()
	d.cut()
	d.flying.Wait()
}

// RedeliverIn is Redeliver in a transaction of the caller's.
func (o *Outbox) RedeliverIn(ctx context.Context, tx *sqldb.Tx, by audit.Actor, partnerID, eventID int64) error {
	return o.redeliver(ctx, tx, by, partnerID, eventID)
}

// LeaseIn leases a delivery in a transaction of the caller's, who has found it to
// be the head of its license, and returns whether that was right.
func (d *Dispatcher) LeaseIn(ctx context.Context, tx *sqldb.Tx, eventID int64) (bool, error) {
	items, err := leaseByName(ctx, tx, d.node, d.Now(), []*item{{eventID: eventID}})
	return len(items) == 1, err
}

// SearchWhile does one search of a node that is alone, from the first delivery on,
// and calls before when it has found some, and after when it is about to take them on.
func (d *Dispatcher) SearchWhile(ctx context.Context, partnerID int64, before, after func()) error {
	now, wanted := d.Now(), []*wish{{partnerID: partnerID, room: laneQueue}}
	d.mu.Lock()
	d.lane(partnerID).after = place{}
	d.mu.Unlock()
	d.beginSearch(wanted)
	err := d.DB.Read(ctx, func(tx *sqldb.Tx) error { return find(ctx, tx, now, wanted, "") })
	before()
	items, aerr := d.prepare(ctx, now, d.unheld(wanted))
	after()
	d.endSearch(now, wanted, items)
	return errors.Join(err, aerr)
}

// Searching is the lock under which due deliveries of a partner are looked for.
func Searching(partnerID int64) string { return searching(partnerID) }

// LeaseWhile leases what is due of a partner as if nothing of it were in memory, and calls
// between before it is taken on.
func (d *Dispatcher) LeaseWhile(t testing.TB, partnerID int64, between func()) {
	t.Helper()
	now, wanted := d.Now(), []*wish{{partnerID: partnerID, room: laneQueue}}
	d.mu.Lock()
	d.lane(partnerID).after = place{}
	busy := d.busy
	d.busy = map[int64]int{}
	d.mu.Unlock()
	d.beginSearch(wanted)
	items, err := d.leaseDue(t.Context(), now, wanted)
	if err != nil || len(items) == 0 {
		t.Fatalf("%d found, %v", len(items), err)
	}
	d.mu.Lock()
	d.busy = busy
	d.mu.Unlock()
	between()
	d.endSearch(now, wanted, items)
}

// Refused is an event that was refused, for the rule of superseding.
type Refused struct {
	Times       int
	Since       time.Time
	Alone       bool
	EventID     int64
	NewestEvent int64
}

// Applies is the rule of superseding.
func (s Supersede) Applies(r Refused, now time.Time) bool {
	return s.applies(refusals{n: r.Times, since: r.Since, alone: r.Alone, eventID: r.EventID, newest: r.NewestEvent}, now)
}

// Refuses is which answers are refusals.
func Refuses(status int, body string) bool { return refuses(status, body) }
