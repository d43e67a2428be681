package webhook

import (
	"context"
	"fmt"
	"slices"
	"time"

	"claviger/internal/sqldb"
)

// What a node finds it keeps without its name in the rows: by a lease of the licenses
// (lease.go), or, alone on its database, by nothing, since nobody else can take it. It
// has to remember what a name would tell: not to take a delivery twice, nor one of a
// license of which another is under way.

// hold notes that a delivery is in memory; the lock is held.
func (d *Dispatcher) hold(l *lane, it *item) {
	d.held[it.eventID] = it
	d.busy[it.licenseID]++
	if it.kept {
		l.kept++
	}
	if it.lease != nil {
		it.lease.items++
	}
}

// letGo notes that a delivery is not in memory any more; the lock is held.
func (d *Dispatcher) letGo(it *item) {
	if d.held[it.eventID] != it {
		return
	}
	delete(d.held, it.eventID)
	if d.busy[it.licenseID]--; d.busy[it.licenseID] == 0 {
		delete(d.busy, it.licenseID)
	}
	if it.kept {
		d.lane(it.partnerID).kept--
	}
	if it.lease != nil {
		it.lease.items--
	}
	if d.left != nil {
		d.left[it.licenseID] = true
	}
}

// keep looks for due deliveries and takes them on.
func (d *Dispatcher) keep(ctx context.Context, now time.Time, wanted []*wish) error {
	d.beginSearch(wanted)
	looked := d.leaseDue
	if d.Alone {
		looked = d.findDue
	}
	items, err := looked(ctx, now, wanted)
	if err != nil {
		wanted, items, err = nil, nil, fmt.Errorf("look for due deliveries: %w", err)
	}
	d.endSearch(now, wanted, items)
	return err
}

// findDue looks for due deliveries of a node that is alone.
func (d *Dispatcher) findDue(ctx context.Context, now time.Time, wanted []*wish) ([]*item, error) {
	err := d.DB.Read(ctx, func(tx *sqldb.Tx) error { return find(ctx, tx, now, wanted, "") })
	if err != nil {
		return nil, err
	}
	return d.prepare(ctx, now, d.unheld(wanted))
}

// few is how many deliveries in memory may be found again by each search, so that none
// is passed by that came free, of another node's lease, behind what was found.
const few = 16

// beginSearch says where in each lane the search begins: with the first delivery, or,
// where much is in memory, after what it found before, until the endpoint is looked at anew.
func (d *Dispatcher) beginSearch(wanted []*wish) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.left = map[int64]bool{}
	for _, w := range wanted {
		l := d.lane(w.partnerID)
		if w.after = l.after; l.kept <= few {
			w.after = place{}
		}
		if w.after == (place{}) {
			w.room += l.kept // which it finds, too
		}
	}
}

// unheld is what was found of licenses of which nothing is in memory.
func (d *Dispatcher) unheld(wanted []*wish) []*item {
	d.mu.Lock()
	defer d.mu.Unlock()
	var items []*item
	for _, w := range wanted {
		for _, it := range w.found {
			if d.busy[it.licenseID] == 0 {
				items = append(items, it)
			}
		}
	}
	return items
}

// prepare makes ready to be sent what was found.
func (d *Dispatcher) prepare(ctx context.Context, now time.Time, items []*item) ([]*item, error) {
	if slices.ContainsFunc(items, func(it *item) bool { return it.stale(now) }) {
		err := d.DB.Write(ctx, func(tx *sqldb.Tx) (err error) {
			items, err = freshen(ctx, tx, items, now)
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	if len(items) == 0 {
		return nil, nil
	}
	err := d.DB.Read(ctx, func(tx *sqldb.Tx) error { return address(ctx, tx, items) })
	return items, err
}

// endSearch takes on what was found. What was let go since the search began is left
// out: that may have settled what it found. What is left out, or was reopened while a
// later one of its license is under way, has to be found again.
func (d *Dispatcher) endSearch(now time.Time, wanted []*wish, items []*item) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, w := range wanted {
		l := d.lane(w.partnerID)
		if l.more = len(w.found) == w.room; len(w.found) > 0 {
			last := w.found[len(w.found)-1]
			l.after = place{last.dueAt, last.eventID}
		}
		if w.turned {
			time.AfterFunc(turnAgain, func() { d.want(w.partnerID) })
		}
		for _, it := range w.found {
			if had := d.held[it.eventID]; had != nil && (had.attempts != it.attempts || !had.dueAt.Equal(it.dueAt)) {
				had.missed = true // its answer is on record, and it was not let go of yet
			}
		}
		if slices.ContainsFunc(w.found, func(it *item) bool {
			return d.left[it.licenseID] || d.busy[it.licenseID] > 0 && d.held[it.eventID] == nil
		}) {
			l.after = place{}
		}
	}
	for _, it := range items {
		if it.lease != nil {
			d.leases[it.lease.id] = it.lease // also where nothing of it is taken on: it has to end
		}
	}
	items = slices.DeleteFunc(items, func(it *item) bool { return d.left[it.licenseID] })
	d.left = nil
	d.take(now, items)
}

// missed has a delivery found that was not there yet when it became due.
func (d *Dispatcher) missed(it *item) {
	if d == nil || d.wake == nil {
		return
	}
	d.mu.Lock()
	if l := d.lanes[it.partnerID]; l != nil {
		l.passed(it.dueAt)
	}
	d.mu.Unlock()
	d.want(it.partnerID)
}

// searchAnew makes the dispatcher look for the partners' deliveries from the first on.
func (d *Dispatcher) searchAnew(batch []*result) {
	if len(batch) == 0 {
		return
	}
	d.mu.Lock()
	for _, r := range batch {
		d.lane(r.partnerID).after = place{}
		d.wants[r.partnerID] = true
	}
	d.mu.Unlock()
	signal(d.wake)
}

// keepNext is claimNext for what is kept: the next is kept as the one before it was.
func keepNext(ctx context.Context, tx *sqldb.Tx, node string, now time.Time, batch []*result) ([]*item, error) {
	items, err := freed(ctx, tx, node, now, settled(batch))
	if err != nil || len(items) == 0 {
		return nil, err
	}
	if items, err = freshen(ctx, tx, items, now); err != nil {
		return nil, err
	}
	leases := make(map[int64]*lease, len(batch))
	for _, r := range batch {
		leases[r.licenseID] = r.lease
	}
	for _, it := range items {
		it.lease = leases[it.licenseID]
	}
	return items, address(ctx, tx, items)
}

// address reads what is sent of the deliveries, and says that they are kept.
func address(ctx context.Context, tx *sqldb.Tx, items []*item) error {
	texts, err := letters(tx, eventIDs(items)).All(ctx)
	if err != nil {
		return err
	}
	fill(items, texts)
	for _, it := range items {
		it.kept = true
	}
	return nil
}

// stale is whether the delivery bears the name of a node whose lease ran out, or was
// called back, or waits for later behind one that is settled now.
func (it *item) stale(now time.Time) bool { return it.node != "" || it.dueAt.After(now) }

// freshen makes stale deliveries as good as new, and leaves out those that are not the
// first of their license any more, as when an earlier one was reopened and they were
// called back since they were found.
func freshen(ctx context.Context, tx *sqldb.Tx, items []*item, now time.Time) ([]*item, error) {
	var stale []int64
	for _, it := range items {
		if it.stale(now) {
			stale = append(stale, it.eventID)
		}
	}
	if len(stale) == 0 {
		return items, nil
	}
	fresh, err := sqldb.All(ctx, tx, sqldb.Value[int64], `UPDATE outbox AS d SET node = '', lease_until = 0,
			due_at = CASE WHEN d.due_at > $2 THEN $2 ELSE d.due_at END
		WHERE d.event_id = ANY($1) AND d.state < 2 AND `+first+` RETURNING event_id`, stale, now)
	return slices.DeleteFunc(slices.Clone(items), func(it *item) bool { return it.stale(now) && !slices.Contains(fresh, it.eventID) }), err
}
