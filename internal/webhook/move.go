package webhook

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"claviger/internal/cluster"
	"claviger/internal/sqldb"
)

// lock locks and reads the rows that a batch may change, in one round trip. It decides which
// answers change their deliveries: the claim must still hold, no other transaction has locked the
// endpoint, and the delivery is as it was when it was sent. Every change of pending deliveries
// locks the endpoint first.
func (s *Store) lock(ctx context.Context, tx *sqldb.Tx, b *batch) error {
	claims := map[cluster.Claim]bool{}
	partners := map[int64]bool{}
	var settled, licenses []int64
	for _, a := range b.attempts {
		claims[a.Claim] = true
		partners[a.PartnerID] = true
		if a.Finished {
			settled = append(settled, a.EventID)
			licenses = append(licenses, a.LicenseID)
		}
	}
	fence := s.Node.Fence(tx, slices.Collect(maps.Keys(claims)))
	endpoints := sqldb.QueueQuery(tx, scanHealth, selectHealth+`= ANY($1) ORDER BY partner_id`+tx.SkipLocked,
		slices.Sorted(maps.Keys(partners)))
	rows := sqldb.QueueQuery(tx, scanHead, `SELECT `+headColumns+`, 0 FROM outbox AS h
		WHERE h.event_id = ANY($1) AND h.`+isPendingToo, eventIDs(b.attempts))
	next := s.queueNext(tx, settled, licenses)
	held, err := fence.Held(ctx)
	if err != nil {
		return fmt.Errorf("lock shards: %w", err)
	}
	if err := b.load(ctx, endpoints, rows, next); err != nil {
		return err
	}
	exists, err := b.existing(ctx, tx, partners)
	if err != nil {
		return err
	}
	for i, a := range b.attempts {
		row, open := b.rows[a.EventID]
		ours := b.health[a.PartnerID] != nil
		b.recorded[i].Locked = exists[a.PartnerID] && !ours
		b.recorded[i].Stale = !b.recorded[i].Locked && (!ours || !held(a.Claim) || !open ||
			row.Generation != a.Generation || row.Attempts != a.Attempts)
	}
	return nil
}

// queueNext queries the next pending delivery of each license with a settled head. For NOT IN
// PostgreSQL builds a hash table of the settled ids; for = ANY it would scan the list for each
// license.
func (s *Store) queueNext(tx *sqldb.Tx, settled, licenses []int64) *sqldb.Result[head] {
	return sqldb.QueueQuery(tx, scanSent, `SELECT `+headColumns+`, 0, `+sentColumn+` FROM `+s.DB.Numbers("$2")+`
		JOIN outbox AS h ON h.event_id = (SELECT o.event_id FROM outbox AS o
		WHERE o.license_id = value AND o.`+IsPending+` AND o.event_id NOT IN (SELECT value FROM `+s.DB.Numbers("$1")+`)
			ORDER BY o.event_id LIMIT 1)`, settled, licenses)
}

// load collects the results of the queries of lock.
func (b *batch) load(ctx context.Context, endpoints *sqldb.Result[Health], rows, next *sqldb.Result[head]) error {
	locked, err := endpoints.All(ctx)
	if err != nil {
		return fmt.Errorf("lock endpoints: %w", err)
	}
	open, err := rows.All(ctx)
	if err != nil {
		return fmt.Errorf("read deliveries: %w", err)
	}
	heads, err := next.All(ctx)
	if err != nil {
		return fmt.Errorf("read the next deliveries: %w", err)
	}
	b.health = make(map[int64]*Health, len(locked))
	b.rows = make(map[int64]head, len(open))
	b.next = make(map[int64]*head, len(heads))
	for i := range locked {
		b.health[locked[i].partnerID] = &locked[i]
	}
	for _, h := range open {
		b.rows[h.EventID] = h
	}
	for i := range heads {
		b.next[heads[i].LicenseID] = &heads[i]
	}
	return nil
}

// existing returns the partners that have an endpoint, locked or not. A removed partner has none.
func (b *batch) existing(ctx context.Context, tx *sqldb.Tx, partners map[int64]bool) (map[int64]bool, error) {
	if len(b.health) == len(partners) {
		return partners, nil
	}
	ids, err := sqldb.All(ctx, tx, sqldb.Value[int64], `SELECT partner_id FROM endpoints WHERE partner_id = ANY($1)`,
		slices.Sorted(maps.Keys(partners)))
	if err != nil {
		return nil, fmt.Errorf("look for endpoints: %w", err)
	}
	exists := make(map[int64]bool, len(ids))
	for _, id := range ids {
		exists[id] = true
	}
	return exists, nil
}

// move updates the deliveries. Accepted ones leave the outbox; the others wait for their next
// attempt. It stores the health of the endpoints and makes the next deliveries due.
func (s *Store) move(ctx context.Context, tx *sqldb.Tx, b *batch) error {
	var done []int64
	var failed []*Attempt
	tallies := map[int64]*tally{}
	for _, a := range b.moved() {
		if a.OK {
			done = append(done, a.EventID)
		} else {
			failed = append(failed, a)
		}
		if b.health[a.PartnerID].urlVersion != a.To.urlVersion {
			continue // answers of another URL say nothing about this one
		}
		if tallies[a.PartnerID] == nil {
			tallies[a.PartnerID] = &tally{}
		}
		tallies[a.PartnerID].add(a)
	}
	if len(done) > 0 {
		tx.Queue(`DELETE FROM outbox WHERE event_id = ANY($1) AND `+isPendingToo, done)
	}
	if err := s.moveFailed(ctx, tx, failed, b); err != nil {
		return err
	}
	for _, id := range slices.Sorted(maps.Keys(tallies)) {
		before := *b.health[id]
		after := before.after(tallies[id], b.now, s.Policy)
		writeHealth(tx, id, before, after, tallies[id], b.now)
		b.health[id] = &after
	}
	makeDue(tx, b)
	return nil
}

// moveFailed updates failed deliveries. Deliveries behind a failed one are delayed with it, so that
// the search for due deliveries skips them until then.
func (s *Store) moveFailed(ctx context.Context, tx *sqldb.Tx, failed []*Attempt, b *batch) error {
	if len(failed) == 0 {
		return nil
	}
	var refused []head
	for _, a := range failed {
		h := b.rows[a.EventID]
		if a.Refused {
			h.refusals = h.after(a, b.health[a.PartnerID].takenAt)
		}
		state := Pending
		if a.Finished {
			state = Exhausted
		}
		uncounted := h.Uncounted
		if a.Early {
			uncounted++
		}
		tx.Queue(`UPDATE outbox SET state = $2, attempts = $3, due_at = $4, not_before = $5, refusals = $6,
			refused_since = $7, refused_alone = $8, updated_at = $9, uncounted = $10 WHERE event_id = $1`,
			a.EventID, int(state), a.Attempts+1, a.Next.Due, a.Next.NotBefore, h.n, h.since, h.alone, b.now, uncounted)
		if a.Refused && state == Pending {
			refused = append(refused, h)
		}
	}
	tx.Queue(`UPDATE outbox SET due_at = h.due_at FROM outbox AS h
		WHERE h.event_id = ANY($1) AND h.`+isPendingToo+` AND outbox.license_id = h.license_id AND outbox.`+IsPending+`
			AND outbox.event_id > h.event_id AND outbox.due_at < h.due_at`, eventIDs(failed))
	var err error
	b.superseded, err = s.supersede(ctx, tx, refused, b.now)
	return err
}

// makeDue makes deliveries due that waited behind a settled one, unless the endpoint asked to wait.
// The node may be killed before it sends them.
func makeDue(tx *sqldb.Tx, b *batch) {
	var waiting []int64
	for i, a := range b.attempts {
		if r := b.recorded[i]; r.Stale || r.Locked {
			delete(b.next, a.LicenseID) // its head is still pending
		}
	}
	for id, h := range b.next {
		if h.DueAt.After(b.now) {
			waiting = append(waiting, h.EventID)
		}
		if h.notBefore.After(b.now) {
			delete(b.next, id)
		}
	}
	if len(waiting) > 0 {
		slices.Sort(waiting)
		tx.Queue(`UPDATE outbox SET due_at = CASE WHEN not_before > $2 THEN not_before ELSE $2 END
			WHERE event_id = ANY($1) AND `+isPendingToo, waiting, b.now)
	}
}
