package webhook

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"claviger/internal/courier"
	"claviger/internal/sqldb"
)

// A node may hold a delivery for leaseTime without renewing, which it does three
// times in that. Nodes tell by their own clocks whether a lease has run out: a
// node does not begin what it may not end within its lease by the clock of
// another that is clockSkew ahead.
const (
	leaseTime  = 30 * time.Second
	renewEvery = leaseTime / 3
	clockSkew  = 5 * time.Second
	leaseSpare = courier.Timeout + clockSkew
)

const itemColumns = `event_id, partner_id, license_id, attempts, due_at, node`

func scanItem(r *sqldb.Row, it *item) error {
	return r.Scan(&it.eventID, &it.partnerID, &it.licenseID, &it.attempts, &it.dueAt, &it.node)
}

func pointers(found []item) []*item {
	items := make([]*item, len(found))
	for i := range found {
		items[i] = &found[i]
	}
	return items
}

// letter is what is sent of an event.
type letter struct {
	eventID    int64
	licenseKey string
	kind       int
	body       string
}

func scanLetter(r *sqldb.Row, l *letter) error {
	return r.Scan(&l.eventID, &l.licenseKey, &l.kind, &l.body)
}

// letters asks for what is sent of the events.
func letters(tx *sqldb.Tx, events []int64) *sqldb.Result[letter] {
	return sqldb.QueueQuery(tx, scanLetter, `SELECT event_id, license_key, kind, body FROM deliveries WHERE event_id = ANY($1)`, events)
}

// fill gives items what is sent of them.
func fill(items []*item, letters []letter) {
	of := make(map[int64]*letter, len(letters))
	for i := range letters {
		of[letters[i].eventID] = &letters[i]
	}
	for _, it := range items {
		if l := of[it.eventID]; l != nil {
			it.licenseKey, it.kind, it.body = l.licenseKey, l.kind, l.body
		}
	}
}

func eventIDs(items []*item) []int64 {
	list := make([]int64, len(items))
	for i, it := range items {
		list[i] = it.eventID
	}
	return list
}

// due returns the partners that have a delivery due, in order, by jumping from
// partner to partner in the index instead of reading what lies between; and
// those whose endpoint is parked and to be probed, for which nothing need be due.
func due(ctx context.Context, db *sqldb.DB, now time.Time) ([]int64, error) {
	ids, err := sqldb.All(ctx, db, sqldb.Value[int64], `WITH RECURSIVE p(id) AS (
			SELECT min(partner_id) FROM outbox WHERE state = 1
			UNION ALL
			SELECT (SELECT min(d.partner_id) FROM outbox AS d WHERE d.state = 1 AND d.partner_id > p.id) FROM p WHERE p.id IS NOT NULL)
		SELECT id FROM p WHERE id IS NOT NULL AND (
			(SELECT min(d.due_at) FROM outbox AS d WHERE d.partner_id = p.id AND d.state = 1) <= $1
			OR EXISTS (SELECT 1 FROM endpoints AS e WHERE e.partner_id = p.id AND e.parked_at <> 0 AND e.probe_at <= $1))
		ORDER BY id`, now)
	if err != nil {
		return nil, fmt.Errorf("look for due deliveries: %w", err)
	}
	return ids, nil
}

// first is whether d is the first open delivery of its license, and none of them is
// leased at the time $2. Asked for the one that stands in the way, it is looked up in
// the index for each d, whatever the planner believes of the table: asked as NOT
// EXISTS, PostgreSQL may read all that is open to join with it.
const first = `(SELECT e.event_id FROM outbox AS e
	WHERE e.license_id = d.license_id AND e.state = 1 AND (e.event_id < d.event_id OR e.lease_until > $2)
	ORDER BY e.event_id LIMIT 1) IS NULL`

// wish is for how many deliveries of a partner there is room, and what was found.
type wish struct {
	partnerID int64
	room      int
	after     place // where to begin
	found     []*item
	turned    bool // away: another node looks for this partner's deliveries
}

// place is one in the order in which deliveries are looked for.
type place struct {
	due time.Time
	id  int64
}

// find looks for due deliveries: the head of each license's queue and no other,
// unless something of the license is leased, by name or with others. With the name of
// a node it passes by the licenses that other nodes have.
func find(ctx context.Context, tx *sqldb.Tx, now time.Time, wanted []*wish, node string) error {
	var free string
	if node != "" {
		free = ` AND d.license_id NOT IN (SELECT elements.value FROM leases AS l, ` + tx.Unnest("l.licenses") + `
			WHERE l.partner_id = $1 AND l.node <> $6)`
	}
	answers := make([]*sqldb.Result[item], len(wanted))
	for i, w := range wanted {
		args := []any{w.partnerID, now, w.room, w.after.due, w.after.id}
		if node != "" {
			args = append(args, node)
		}
		answers[i] = sqldb.QueueQuery(tx, scanItem, `SELECT `+itemColumns+` FROM outbox AS d
			WHERE d.partner_id = $1 AND d.state = 1 AND d.due_at <= $2 AND (d.due_at, d.event_id) > ($4, $5)
				AND `+first+free+`
			ORDER BY d.due_at, d.event_id LIMIT $3`, args...)
	}
	for i, w := range wanted {
		found, err := answers[i].All(ctx)
		if err != nil {
			return err
		}
		w.found = pointers(found)
	}
	return nil
}

// claimNext leases the next open delivery of each license whose head is settled,
// in the transaction that settled it, unless the endpoint is parked. That it was
// put off behind the head does not count any more.
func claimNext(ctx context.Context, tx *sqldb.Tx, node string, now time.Time, licenses []int64) ([]*item, error) {
	items, err := freed(ctx, tx, node, now, licenses)
	if err != nil || len(items) == 0 {
		return nil, err
	}
	return leaseByName(ctx, tx, node, now, items)
}

// freed finds the next open delivery of each license, unless something of it is leased
// by name, another node has it, or the endpoint is parked.
func freed(ctx context.Context, tx *sqldb.Tx, node string, now time.Time, licenses []int64) ([]*item, error) {
	if len(licenses) == 0 {
		return nil, nil
	}
	heads, err := sqldb.All(ctx, tx, sqldb.Value[int64], `SELECT min(event_id) FROM outbox WHERE license_id = ANY($1) AND state = 1 GROUP BY license_id`, licenses)
	if err != nil || len(heads) == 0 {
		return nil, err // mostly there is none
	}
	found, err := sqldb.All(ctx, tx, scanItem, `SELECT `+itemColumns+` FROM outbox AS d
		WHERE d.event_id = ANY($1) AND d.state < 2 AND `+first+`
			AND NOT EXISTS (SELECT 1 FROM endpoints AS p WHERE p.partner_id = d.partner_id AND p.parked_at <> 0)
			AND NOT EXISTS (SELECT 1 FROM leases AS l, `+tx.Unnest("l.licenses")+`
				WHERE l.partner_id = d.partner_id AND l.node <> $3 AND elements.value = d.license_id)`+tx.SkipLocked(), heads, now, node)
	return pointers(found), err
}

// leaseByName leases deliveries that are locked, each by the node's name in its row,
// and returns those that it got. It looks again whether each is the first of its
// license: where transactions run side by side, one that reopens an earlier event may
// have been missed by the statement that found them, but not by this one, which begins
// after the rows are locked.
func leaseByName(ctx context.Context, tx *sqldb.Tx, node string, now time.Time, items []*item) ([]*item, error) {
	until := now.Add(leaseTime)
	wanted := eventIDs(items)
	bodies := letters(tx, wanted)
	got, err := sqldb.All(ctx, tx, sqldb.Value[int64], `UPDATE outbox AS d SET node = $3, lease_until = $4,
			due_at = CASE WHEN d.due_at > $2 THEN $2 ELSE d.due_at END
		WHERE d.event_id = ANY($1) AND d.state < 2 AND `+first+` RETURNING event_id`, wanted, now, node, until)
	if err != nil {
		return nil, err
	}
	found, err := bodies.All(ctx)
	if err != nil {
		return nil, err
	}
	fill(items, found)
	for _, it := range items {
		it.leaseUntil = until
	}
	return slices.DeleteFunc(items, func(it *item) bool { return !slices.Contains(got, it.eventID) }), nil
}

// claimProbe leases one head of a parked endpoint, that of the license after the
// one probed with last, so that one poisoned event cannot keep it parked. Only
// the node that moves probe_at on gets to; the others get sqldb.ErrNone, as does
// everybody while there is nothing to probe with. nil means that it is under way
// since before the endpoint was parked, which is as good as a probe.
func (d *Dispatcher) claimProbe(ctx context.Context, now time.Time, partnerID int64) (*item, error) {
	// The search reads all that waits for the endpoint, so it does not keep the
	// writer busy.
	license, err := sqldb.One(ctx, d.DB, sqldb.Value[int64], `SELECT d.license_id FROM outbox AS d
		WHERE d.partner_id = $1 AND d.state = 1
		ORDER BY CASE WHEN d.license_id > (SELECT probed FROM endpoints WHERE partner_id = $1) THEN 0 ELSE 1 END, d.license_id LIMIT 1`, partnerID)
	if err != nil {
		return nil, err
	}
	d.mu.Lock()
	busy := d.busy[license] > 0
	d.mu.Unlock()
	var found *item
	err = d.DB.Write(ctx, func(tx *sqldb.Tx) error {
		turn := tx.TryLock(searching(partnerID))
		expire(tx, d.node, now, partnerID)
		moved := sqldb.QueueQuery(tx, sqldb.Value[int64], `UPDATE endpoints SET probe_at = $3, probed = $4
			WHERE partner_id = $1 AND parked_at <> 0 AND probe_at <= $2 RETURNING partner_id`, partnerID, now, now.Add(d.ProbeEvery), license)
		if _, err := moved.One(ctx); err != nil || busy {
			return err
		}
		if ours, err := turn.One(ctx); err != nil || !ours {
			return cmp.Or(err, sqldb.ErrNone)
		}
		it, err := sqldb.One(ctx, tx, scanItem, `UPDATE outbox SET node = $1, lease_until = $2
			WHERE state = 1 AND event_id = (SELECT min(d.event_id) FROM outbox AS d WHERE d.state = 1 AND d.license_id = $4)
				AND NOT EXISTS (SELECT 1 FROM outbox AS e WHERE e.state = 1 AND e.license_id = $4 AND e.lease_until > $3)
				AND $4 NOT IN (SELECT elements.value FROM leases AS l, `+tx.Unnest("l.licenses")+` WHERE l.partner_id = $5 AND l.node <> $1)
			RETURNING `+itemColumns, d.node, now.Add(leaseTime), now, license, partnerID)
		if err != nil {
			return err
		}
		it.probe, it.leaseUntil, found = true, now.Add(leaseTime), &it
		texts, err := letters(tx, []int64{it.eventID}).All(ctx)
		fill([]*item{found}, texts)
		return err
	})
	if err != nil {
		return nil, err
	}
	return found, nil
}

// Leases are renewed by these: $1 are the ids, $2 is the node, $3 until when.
const (
	renewNames  = `UPDATE outbox SET lease_until = $3 WHERE event_id = ANY($1) AND node = $2 AND state < 2 RETURNING event_id`
	renewLeases = `UPDATE leases SET lease_until = $3 WHERE id = ANY($1) AND node = $2 RETURNING id`
)

// extend renews the node's leases and returns which it has.
func extend(ctx context.Context, db *sqldb.DB, renewal, node string, until time.Time, held []int64) (map[int64]bool, error) {
	ours := make(map[int64]bool, len(held))
	for part := range slices.Chunk(held, batchSize) {
		var renewed []int64
		err := db.Write(ctx, func(tx *sqldb.Tx) (err error) {
			renewed, err = sqldb.All(ctx, tx, sqldb.Value[int64], renewal, part, node, until)
			return err
		})
		if err != nil {
			return nil, fmt.Errorf("renew leases: %w", err)
		}
		for _, id := range renewed {
			ours[id] = true
		}
	}
	return ours, nil
}

// release ends the node's leases of deliveries that it gives back without a
// counted attempt, and those that were called back from it.
func release(ctx context.Context, db *sqldb.DB, node string, back []int64) error {
	for part := range slices.Chunk(back, batchSize) {
		err := db.Write(ctx, func(tx *sqldb.Tx) error {
			tx.Queue(`UPDATE outbox SET node = '', lease_until = 0 WHERE event_id = ANY($1) AND state < 2 AND (node = $2 OR node = '*')`, part, node)
			return nil
		})
		if err != nil {
			return fmt.Errorf("give back deliveries: %w", err)
		}
	}
	return nil
}

// handBack ends the leases of the node, or of all nodes for "", without a
// counted attempt.
func handBack(ctx context.Context, db *sqldb.DB, node string) error {
	return db.Write(ctx, func(tx *sqldb.Tx) error {
		tx.Queue(`UPDATE outbox SET node = '', lease_until = 0 WHERE state = 1 AND (lease_until <> 0 OR node <> '') AND (node = $1 OR $1 = '')`, node)
		tx.Queue(`DELETE FROM leases WHERE node = $1 OR $1 = ''`, node)
		return nil
	})
}
