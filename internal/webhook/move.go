package webhook

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"claviger/internal/cluster"
	"claviger/internal/sqldb"
)

// lock locks what a batch may change, reads it in the same round trip, and tells which
// answers move their deliveries: those under a claim that still holds, to an endpoint that
// nobody else has locked, of a delivery that is as it was when it was sent. Everybody who
// changes open deliveries locks the endpoint first.
func (c *recorder) lock(ctx context.Context, tx *sqldb.Tx, batch []*result, rec *batchRecord) error {
	claims, partners := map[cluster.Claim]bool{}, map[int64]bool{}
	var settled, licenses []int64
	for _, r := range batch {
		claims[r.lane.claim], partners[r.partnerID] = true, true
		if r.finished {
			settled, licenses = append(settled, r.eventID), append(licenses, r.licenseID)
		}
	}
	fence := c.d.Node.Fence(tx, slices.Collect(maps.Keys(claims)))
	endpoints := sqldb.QueueQuery(tx, scanEndpoint, `SELECT partner_id, `+healthColumns+` FROM endpoints
		WHERE partner_id = ANY($1) ORDER BY partner_id`+tx.SkipLockedNoKey(), sortedKeys(partners))
	rows := sqldb.QueueQuery(tx, scanHead, `SELECT `+headColumns+`, 0 FROM outbox AS h WHERE h.event_id = ANY($1) AND h.`+isPending, eventIDs(batch))
	next := queueNext(tx, licenses, settled)
	held, err := fence.Held(ctx)
	if err != nil {
		return fmt.Errorf("lock shards: %w", err)
	}
	if err := rec.read(ctx, endpoints, rows, next); err != nil {
		return err
	}
	exists, err := rec.existing(ctx, tx, partners)
	if err != nil {
		return err
	}
	for _, r := range batch {
		row, open := rec.rows[r.eventID]
		_, ours := rec.health[r.partnerID]
		switch {
		case !held(r.lane.claim), ours && (!open || row.generation != r.generation || row.attempts != r.attempts), !exists[r.partnerID]:
			rec.stale = append(rec.stale, r)
		case !ours:
			rec.locked = append(rec.locked, r)
		default:
			rec.moved = append(rec.moved, r)
		}
	}
	return nil
}

// endpointRow is the row of an endpoint.
type endpointRow struct {
	partnerID int64
	health
}

func scanEndpoint(r *sqldb.Row, e *endpointRow) error {
	h := &e.health
	return r.Scan(&e.partnerID, &h.changed, &h.urlVersion, &h.failingSince, &h.failures, &h.parkedAt, &h.probeAt, &h.probed,
		&h.takenAt, &h.errorAt, &h.error, &h.draining, &h.closed)
}

// queueNext asks for the next open delivery of each license whose head is settled.
func queueNext(tx *sqldb.Tx, licenses, settled []int64) *sqldb.Result[head] {
	return sqldb.QueueQuery(tx, func(r *sqldb.Row, h *head) error {
		return r.Scan(&h.eventID, &h.partnerID, &h.licenseID, &h.attempts, &h.generation, &h.dueAt, &h.notBefore, &h.licenseKey, &h.body)
	}, `SELECT h.event_id, h.partner_id, h.license_id, h.attempts, h.generation, h.due_at, h.not_before, d.license_key, d.body
		FROM outbox AS h JOIN deliveries AS d ON d.event_id = h.event_id
		WHERE h.event_id IN (SELECT min(o.event_id) FROM outbox AS o
			WHERE o.license_id = ANY($1) AND o.`+isPending+` AND NOT (o.event_id = ANY($2)) GROUP BY o.license_id)`, licenses, settled)
}

// read takes what was locked and asked for.
func (rec *batchRecord) read(ctx context.Context, endpoints *sqldb.Result[endpointRow], rows, next *sqldb.Result[head]) error {
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
	rec.health, rec.rows, rec.next = make(map[int64]health, len(locked)), make(map[int64]head, len(open)), make(map[int64]*head, len(heads))
	for _, e := range locked {
		rec.health[e.partnerID] = e.health
	}
	for _, h := range open {
		rec.rows[h.eventID] = h
	}
	for i := range heads {
		rec.next[heads[i].licenseID] = &heads[i]
	}
	return nil
}

// existing tells which partners have an endpoint, locked or not. One whose partner was
// removed has none.
func (rec *batchRecord) existing(ctx context.Context, tx *sqldb.Tx, partners map[int64]bool) (map[int64]bool, error) {
	if len(rec.health) == len(partners) {
		return partners, nil
	}
	ids, err := sqldb.All(ctx, tx, sqldb.Value[int64], `SELECT partner_id FROM endpoints WHERE partner_id = ANY($1)`, sortedKeys(partners))
	if err != nil {
		return nil, fmt.Errorf("look for endpoints: %w", err)
	}
	exists := make(map[int64]bool, len(ids))
	for _, id := range ids {
		exists[id] = true
	}
	return exists, nil
}

// move moves deliveries on: what the partner took leaves the outbox, the rest waits for
// its next attempt. It writes how the endpoints do, and makes what comes next due.
func (c *recorder) move(ctx context.Context, tx *sqldb.Tx, rec *batchRecord) error {
	var done []int64
	var failed []*result
	tallies := map[int64]*tally{}
	for _, r := range rec.moved {
		if r.ok {
			done = append(done, r.eventID)
		} else {
			failed = append(failed, r)
		}
		if rec.health[r.partnerID].urlVersion != r.to.urlVersion {
			continue // what another URL did says nothing of this one
		}
		if tallies[r.partnerID] == nil {
			tallies[r.partnerID] = &tally{}
		}
		tallies[r.partnerID].add(r)
	}
	if len(done) > 0 {
		tx.Queue(`DELETE FROM outbox WHERE event_id = ANY($1) AND `+isPending, done)
	}
	if err := c.moveFailed(ctx, tx, failed, rec); err != nil {
		return err
	}
	for _, id := range sortedKeys(tallies) {
		before := rec.health[id]
		after := before.after(tallies[id], rec.now, c.d.Policy)
		writeHealth(tx, id, before, after, tallies[id], rec.now)
		rec.health[id] = after
	}
	makeDue(tx, rec)
	return nil
}

// moveFailed moves failed deliveries on. What waits behind one is put off with it, so that
// the search for due deliveries does not meet it before.
func (c *recorder) moveFailed(ctx context.Context, tx *sqldb.Tx, failed []*result, rec *batchRecord) error {
	if len(failed) == 0 {
		return nil
	}
	var refused []head
	for _, r := range failed {
		h := rec.rows[r.eventID]
		if r.refused {
			h.refusals = h.after(r, rec.health[r.partnerID].takenAt)
		}
		state := pending
		if r.finished {
			state = exhausted
		}
		tx.Queue(`UPDATE outbox SET state = $2, attempts = $3, due_at = $4, not_before = $5, refusals = $6, refused_since = $7, refused_alone = $8,
			updated_at = $9 WHERE event_id = $1`,
			r.eventID, int(state), r.attempts+1, r.next.due, r.next.notBefore, h.n, h.since, h.alone, rec.now)
		if r.refused && state == pending {
			refused = append(refused, h)
		}
	}
	tx.Queue(`UPDATE outbox SET due_at = h.due_at FROM outbox AS h
		WHERE h.event_id = ANY($1) AND h.`+isPending+` AND outbox.license_id = h.license_id AND outbox.`+isPending+`
			AND outbox.event_id > h.event_id AND outbox.due_at < h.due_at`, eventIDs(failed))
	ended, err := c.d.supersede(ctx, tx, refused, rec.now)
	rec.superseded = ended
	return err
}

// makeDue makes deliveries due that waited behind one that is settled, unless the endpoint
// asked to wait: this node may be killed before it sends them.
func makeDue(tx *sqldb.Tx, rec *batchRecord) {
	var waiting []int64
	for _, r := range rec.stale {
		delete(rec.next, r.licenseID) // its head is open again
	}
	for _, r := range rec.locked {
		delete(rec.next, r.licenseID)
	}
	for id, h := range rec.next {
		if h.dueAt.After(rec.now) {
			waiting = append(waiting, h.eventID)
		}
		if h.notBefore.After(rec.now) {
			delete(rec.next, id)
		}
	}
	if len(waiting) > 0 {
		slices.Sort(waiting)
		tx.Queue(`UPDATE outbox SET due_at = CASE WHEN not_before > $2 THEN not_before ELSE $2 END WHERE event_id = ANY($1) AND `+isPending, waiting, rec.now)
	}
}
