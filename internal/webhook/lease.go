package webhook

import (
	"context"
	"fmt"
	"time"

	"claviger/internal/sqldb"
)

// lease is the right to send what is due of some licenses of a partner: one for all
// that a search found, where a name in every row would cost as much as the rest of a
// delivery. Its row is there for as long as something of it is in memory; whoever
// finds the row run out removes it, and with it the right.
type lease struct {
	id        int64
	partnerID int64
	until     time.Time
	items     int            // in memory, of one license each
	listed    int            // licenses in its row
	only      map[int64]bool // licenses that it was trimmed to; nil: all that it was made for
}

// covers is whether something of a license may be sent under the lease.
func (l *lease) covers(license int64) bool { return l.only == nil || l.only[license] }

// searching is the lock under which a node looks for due deliveries of a partner: what
// one finds is leased before the next looks.
func searching(partnerID int64) string { return fmt.Sprintf("webhooks of partner %d", partnerID) }

// turnAgain is when a node looks again that was turned away.
const turnAgain = 10 * time.Millisecond

// expire removes the leases of other nodes that have run out.
func expire(tx *sqldb.Tx, node string, now time.Time, partners ...int64) {
	remove(tx, `partner_id = ANY($1) AND node <> $2 AND lease_until <= $3`, partners, node, now)
}

// remove removes leases. One stays whose answers are being recorded.
func remove(tx *sqldb.Tx, where string, args ...any) {
	tx.Queue(`DELETE FROM leases WHERE id IN (SELECT id FROM leases WHERE `+where+tx.SkipLocked()+`)`, args...)
}

// leaseDue looks for due deliveries and leases the licenses of what it finds. Where
// another node is looking, too, it is turned away.
func (d *Dispatcher) leaseDue(ctx context.Context, now time.Time, wanted []*wish) (items []*item, err error) {
	err = d.DB.Write(ctx, func(tx *sqldb.Tx) error {
		turns, partners := make([]*sqldb.Result[bool], len(wanted)), make([]int64, len(wanted))
		for i, w := range wanted {
			turns[i], partners[i] = tx.TryLock(searching(w.partnerID)), w.partnerID
		}
		expire(tx, d.node, now, partners...)
		if err := find(ctx, tx, now, wanted, d.node); err != nil {
			return err
		}
		for i, w := range wanted {
			ours, err := turns[i].One(ctx)
			if err != nil {
				return err
			}
			if w.turned = !ours; w.turned {
				w.found = nil
			}
		}
		var err error
		if items, err = freshen(ctx, tx, d.unheld(wanted), now); err != nil || len(items) == 0 {
			return err
		}
		return d.leaseLicenses(ctx, tx, now, items)
	})
	return items, err
}

// leaseLicenses leases the licenses of what was found, and reads what is sent.
func (d *Dispatcher) leaseLicenses(ctx context.Context, tx *sqldb.Tx, now time.Time, items []*item) error {
	licenses, until := map[int64][]int64{}, now.Add(leaseTime)
	for _, it := range items {
		licenses[it.partnerID] = append(licenses[it.partnerID], it.licenseID)
	}
	partners := keys(licenses)
	ids := make([]*sqldb.Result[int64], len(partners))
	for i, p := range partners {
		ids[i] = sqldb.QueueQuery(tx, sqldb.Value[int64], `INSERT INTO leases (partner_id, node, lease_until, licenses) VALUES ($1, $2, $3, $4) RETURNING id`,
			p, d.node, until, licenses[p])
	}
	if err := address(ctx, tx, items); err != nil {
		return err
	}
	leases := make(map[int64]*lease, len(partners))
	for i, p := range partners {
		id, err := ids[i].One(ctx)
		if err != nil {
			return err
		}
		leases[p] = &lease{id: id, partnerID: p, until: until, listed: len(licenses[p])}
	}
	for _, it := range items {
		it.lease = leases[it.partnerID]
	}
	return nil
}

// ours is the answers to what the node still has the right to send: where a lease was
// removed, another node may be at it.
func ours(ctx context.Context, tx *sqldb.Tx, batch []*result) ([]*result, error) {
	wanted := map[int64]bool{}
	for _, r := range batch {
		if r.lease != nil {
			wanted[r.lease.id] = true
		}
	}
	if len(wanted) == 0 {
		return batch, nil
	}
	there, err := sqldb.All(ctx, tx, sqldb.Value[int64], `SELECT id FROM leases WHERE id = ANY($1)`+tx.ForKeyShare(), keys(wanted))
	if err != nil || len(there) == len(wanted) {
		return batch, err
	}
	for _, id := range there {
		delete(wanted, id)
	}
	var list []*result
	for _, r := range batch {
		if r.lease == nil || !wanted[r.lease.id] {
			list = append(list, r)
		}
	}
	return list, nil
}

// spent is the leases of which nothing is in memory any more; the lock is held. The
// node has them no longer.
func (d *Dispatcher) spent() []int64 {
	var ids []int64
	for _, id := range keys(d.leases) {
		if d.leases[id].items == 0 {
			delete(d.leases, id)
			ids = append(ids, id)
		}
	}
	return ids
}

// trim takes off the lists of leases the licenses of which nothing is in memory any more,
// so that another node may have what of them is due: a lease lasts as long as the slowest
// of what it was made for. What comes next of such a license has to be found again.
func (d *Dispatcher) trim(ctx context.Context) error {
	d.mu.Lock()
	left := map[*lease][]int64{}
	for _, it := range d.held {
		if l := it.lease; l != nil && l.items < l.listed {
			left[l] = append(left[l], it.licenseID)
		}
	}
	for l, licenses := range left {
		l.only = make(map[int64]bool, len(licenses))
		for _, id := range licenses {
			l.only[id] = true
		}
	}
	d.mu.Unlock()
	if len(left) == 0 {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, askTime)
	defer cancel()
	err := d.DB.Write(ctx, func(tx *sqldb.Tx) error {
		for l, licenses := range left {
			tx.Queue(`UPDATE leases SET licenses = $2 WHERE id = $1`, l.id, licenses)
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("trim leases: %w", err)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	for l, licenses := range left {
		l.listed = len(licenses)
	}
	return nil
}

// end removes leases.
func end(ctx context.Context, db *sqldb.DB, ids []int64) error {
	if len(ids) == 0 {
		return nil
	}
	err := db.Write(ctx, func(tx *sqldb.Tx) error {
		tx.Queue(`DELETE FROM leases WHERE id = ANY($1)`, ids)
		return nil
	})
	if err != nil {
		return fmt.Errorf("end leases: %w", err)
	}
	return nil
}

// runsOut is whether another node may have the delivery before a request that begins
// now has ended.
func (it *item) runsOut(now time.Time) bool {
	until := it.leaseUntil
	switch {
	case it.lease != nil:
		until = it.lease.until
	case it.kept:
		return false
	}
	return until.Sub(now) < leaseSpare
}

// renew extends the leases of what is in memory, and lets go of what is not
// ours any more. What is not in memory is not renewed: whatever went wrong, it
// comes free by itself.
func (d *Dispatcher) renew(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, askTime)
	defer cancel()
	d.mu.Lock()
	var named []int64
	for _, id := range keys(d.held) {
		if !d.held[id].kept {
			named = append(named, id)
		}
	}
	leases := keys(d.leases)
	d.mu.Unlock()
	now := d.Now()
	until := now.Add(leaseTime)
	names, err := extend(ctx, d.DB, renewNames, d.node, until, named)
	if err != nil {
		return err
	}
	rows, err := extend(ctx, d.DB, renewLeases, d.node, until, leases)
	if err != nil {
		return err
	}
	d.renewed(until, named, names, leases, rows)
	if d.Alone {
		return nil
	}
	return sweep(ctx, d.DB, d.node, leases, now)
}

// sweep removes the node's leases but for those that it knows of, since it may not have heard
// of a commit, and those of others that have run out, which nobody may come by otherwise.
func sweep(ctx context.Context, db *sqldb.DB, node string, known []int64, now time.Time) error {
	err := db.Write(ctx, func(tx *sqldb.Tx) error {
		remove(tx, `node = $1 AND NOT (id = ANY($2)) OR node <> $1 AND lease_until <= $3`, node, known, now)
		return nil
	})
	if err != nil {
		return fmt.Errorf("sweep out leases: %w", err)
	}
	return nil
}

// renewed notes which leases were renewed, of those by name and of the others, and lets go
// of what is lost.
func (d *Dispatcher) renewed(until time.Time, named []int64, names map[int64]bool, leases []int64, rows map[int64]bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	lost := map[*lane]bool{}
	for _, id := range named {
		it := d.held[id]
		if it == nil {
			continue
		}
		if it.leaseUntil = until; !names[id] {
			it.leaseUntil = time.Time{}
			lost[d.lane(it.partnerID)] = true
		}
	}
	for _, id := range leases {
		l := d.leases[id]
		if l == nil {
			continue
		}
		if l.until = until; !rows[id] {
			l.until = time.Time{}
			delete(d.leases, id)
			lost[d.lane(l.partnerID)] = true
		}
	}
	for l := range lost {
		d.drop(l)
	}
}

// drop lets go of what waits in a lane and is not ours any more; the lock is held.
func (d *Dispatcher) drop(l *lane) {
	kept := l.queue[:0]
	for _, it := range l.queue {
		if it.lease != nil && it.lease.until.IsZero() || !it.kept && it.leaseUntil.IsZero() {
			d.giveBack(it)
		} else {
			kept = append(kept, it)
		}
	}
	clear(l.queue[len(kept):])
	l.queue = kept
}
