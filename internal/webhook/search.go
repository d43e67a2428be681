package webhook

import (
	"context"
	"fmt"
	"math"
	"slices"
	"time"

	"claviger/internal/cluster"
	"claviger/internal/sqldb"
)

// cursor is a place in the order in which deliveries are searched.
type cursor struct {
	due time.Time
	id  int64
}

// query is what a lane wants of the database.
type query struct {
	partnerID int64
	claim     cluster.Claim
	to        destination // as far as it is known
	reload    bool        // look at the endpoint, too
	due       bool        // search for what is due
	hints     []int64     // licenses to look at
	held      int         // deliveries in memory, which may be found again
	space     int         // for so many more
	after     cursor      // where the search begins
}

// findings is what a query brought.
type findings struct {
	to       destination
	reload   bool    // as asked for
	items    []*Item // what is due first, then what was hinted at
	due      int     // so many of them are due
	space    int     // as asked for
	searched bool
	more     bool // than was asked for
	err      error
}

// find answers a query. What is wrong with one partner alone concerns no other.
func (d *Dispatcher) find(q query) *findings {
	ctx, cancel := context.WithTimeout(context.Background(), queryTime)
	defer cancel()
	f := &findings{to: q.to, reload: q.reload, space: q.space}
	f.err = d.fill(ctx, q, f)
	if f.err != nil {
		f.items, f.searched, f.to.known = nil, false, false
	}
	d.note(context.Background(), fmt.Sprintf("look for webhooks to partner %d", q.partnerID), f.err) // also that ctx is over
	return f
}

func (d *Dispatcher) fill(ctx context.Context, q query, f *findings) (err error) {
	if q.reload {
		f.to, err = d.loadEndpoint(ctx, q.partnerID)
	} else {
		f.to.health, err = d.readHealth(ctx, q.partnerID)
	}
	if err != nil || f.to.URL == "" || q.space == 0 {
		return err
	}
	heads, now := []head(nil), d.Now()
	switch {
	case !f.to.parkedAt.IsZero():
		if q.held == 0 && !f.to.probeAt.After(now) {
			heads, err = d.findProbe(ctx, q.partnerID, f.to.probed)
		}
	default:
		if heads, err = d.findHinted(ctx, q, f.to.draining, now); err == nil && q.due {
			var found []head
			q.space -= len(heads)
			found, err = d.findDue(ctx, q, f, now)
			f.due = len(found)
			heads = append(found, heads...)
		}
	}
	if err != nil || len(heads) == 0 {
		return err
	}
	f.items, err = d.loadPayloads(ctx, heads)
	for _, it := range f.items {
		it.probe = !f.to.parkedAt.IsZero()
	}
	return err
}

// head is the first open delivery of a license.
type head struct {
	Item
	refusals
	notBefore time.Time
}

const headColumns = `h.event_id, h.partner_id, h.license_id, h.attempts, h.generation, h.due_at, h.not_before, h.refusals, h.refused_since, h.refused_alone`

// newestOpen is the newest open event of the license of h.
var newestOpen = `(SELECT max(n.event_id) FROM outbox AS n WHERE n.license_id = h.license_id AND n.` + isPending + `)`

func scanHead(r *sqldb.Row, h *head) error {
	return r.Scan(&h.eventID, &h.partnerID, &h.licenseID, &h.attempts, &h.generation, &h.dueAt, &h.notBefore, &h.n, &h.since, &h.alone, &h.newest)
}

// isFirst is whether h is the first open delivery of its license. Asked for the one that
// stands in the way, it is looked up in the index for each h, whatever the planner
// believes of the table: asked as NOT EXISTS, PostgreSQL may read all that is open.
var isFirst = `(SELECT e.event_id FROM outbox AS e
	WHERE e.license_id = h.license_id AND e.` + isPending + ` AND e.event_id < h.event_id ORDER BY e.event_id LIMIT 1) IS NULL`

// findDue searches for due deliveries: the head of each license's queue and no other.
// While the endpoint drains, what waits for a later time is as good as due.
func (d *Dispatcher) findDue(ctx context.Context, q query, f *findings, now time.Time) ([]head, error) {
	due, until := `h.due_at <= $2`, now
	if f.to.draining != drainNothing {
		due = `h.not_before <= $2`
	}
	if f.to.draining == drainAll {
		until = time.Unix(0, math.MaxInt64)
	}
	limit := q.space
	if q.after == (cursor{}) {
		limit += q.held // which may be found again
	}
	found, err := sqldb.All(ctx, d.DB, scanHead, `SELECT `+headColumns+`, 0 FROM outbox AS h
		WHERE h.partner_id = $1 AND h.`+isPending+` AND `+due+` AND (h.due_at, h.event_id) > ($4, $5) AND `+isFirst+`
		ORDER BY h.due_at, h.event_id LIMIT $3`, q.partnerID, until, limit, q.after.due, q.after.id)
	if err != nil {
		return nil, fmt.Errorf("search for due deliveries: %w", err)
	}
	f.searched, f.more = true, len(found) == limit
	if len(found) == 0 && q.held == 0 && q.after == (cursor{}) {
		return nil, d.nothingDue(ctx, q, f.to.health, now)
	}
	return found, nil
}

// nothingDue ends the draining of an endpoint for which nothing waits, and puts off what
// is due behind a head that waits, so that the poll does not meet it before.
func (d *Dispatcher) nothingDue(ctx context.Context, q query, h health, now time.Time) error {
	return d.DB.Write(ctx, func(tx *sqldb.Tx) error {
		if h.draining != drainNothing {
			tx.Queue(`UPDATE endpoints SET draining = $3 WHERE partner_id = $1 AND changed = $2 AND draining = $4`,
				q.partnerID, h.changed, int(drainNothing), int(h.draining))
		}
		tx.Queue(`UPDATE outbox SET due_at = (SELECT e.due_at FROM outbox AS e WHERE e.license_id = outbox.license_id AND e.`+isPending+`
				ORDER BY e.event_id LIMIT 1)
			WHERE partner_id = $1 AND `+isPending+` AND due_at <= $2 AND $2 < (SELECT e.due_at FROM outbox AS e
				WHERE e.license_id = outbox.license_id AND e.`+isPending+` ORDER BY e.event_id LIMIT 1)`, q.partnerID, now)
		return nil
	})
}

// findHinted looks at the first open delivery of licenses of which something was heard.
// An untried one is sent whatever its time, which may be that of another node's clock.
// One that was refused often enough makes way for a newer one, unless it is due: then its
// next answer tells.
func (d *Dispatcher) findHinted(ctx context.Context, q query, draining drain, now time.Time) ([]head, error) {
	if len(q.hints) == 0 {
		return nil, nil
	}
	found, err := d.headsOf(ctx, q.hints)
	if err != nil {
		return nil, err
	}
	refused := slices.DeleteFunc(slices.Clone(found), func(h head) bool { return !h.dueAt.After(now) || !d.Policy.Supersede.applies(h, now) })
	if len(refused) > 0 {
		if err := d.supersedeWaiting(ctx, q.claim, refused, now); err != nil {
			return nil, err
		}
		if found, err = d.headsOf(ctx, q.hints); err != nil {
			return nil, err
		}
	}
	return slices.DeleteFunc(found, func(h head) bool {
		early := h.attempts == 0 || draining != drainNothing
		return h.dueAt.After(now) && (!early || h.notBefore.After(now) && draining != drainAll)
	}), nil
}

// headsOf reads the first open deliveries of licenses.
func (d *Dispatcher) headsOf(ctx context.Context, licenses []int64) ([]head, error) {
	found, err := sqldb.All(ctx, d.DB, scanHead, `SELECT `+headColumns+`, `+newestOpen+` FROM outbox AS h
		WHERE h.license_id = ANY($1) AND h.`+isPending+` AND `+isFirst, licenses)
	if err != nil {
		return nil, fmt.Errorf("look at the next events of licenses: %w", err)
	}
	return found, nil
}

// findProbe returns the head of the license after the one probed with last, so that one
// event that is never taken cannot keep an endpoint parked.
func (d *Dispatcher) findProbe(ctx context.Context, partnerID, probed int64) ([]head, error) {
	found, err := sqldb.All(ctx, d.DB, scanHead, `SELECT `+headColumns+`, 0 FROM outbox AS h WHERE h.partner_id = $1 AND h.`+isPending+` AND `+isFirst+`
		ORDER BY CASE WHEN h.license_id > $2 THEN 0 ELSE 1 END, h.license_id LIMIT 1`, partnerID, probed)
	if err != nil {
		return nil, fmt.Errorf("look for a probe: %w", err)
	}
	return found, nil
}

// payload is what is sent of an event.
type payload struct {
	eventID    int64
	licenseKey string
	body       string
}

// loadPayloads reads what is sent of deliveries.
func (d *Dispatcher) loadPayloads(ctx context.Context, heads []head) ([]*Item, error) {
	items := make(map[int64]*Item, len(heads))
	for i := range slices.Backward(heads) {
		items[heads[i].eventID] = &heads[i].Item
	}
	list, err := sqldb.All(ctx, d.DB, func(r *sqldb.Row, p *payload) error { return r.Scan(&p.eventID, &p.licenseKey, &p.body) },
		`SELECT event_id, license_key, body FROM deliveries WHERE event_id = ANY($1)`, sortedKeys(items))
	if err != nil {
		return nil, fmt.Errorf("read what is to be sent: %w", err)
	}
	for _, p := range list {
		it := items[p.eventID]
		it.licenseKey, it.body = p.licenseKey, p.body
	}
	sorted := make([]*Item, 0, len(items))
	for i := range heads {
		if it := items[heads[i].eventID]; it == &heads[i].Item { // hinted and due is one
			sorted = append(sorted, it)
		}
	}
	return sorted, nil
}

// putOff makes what was cut off when a shard was handed over due a little later, without
// a counted attempt: the endpoint may still be at work with it.
func (d *Dispatcher) putOff(c cluster.Claim, events []int64) {
	if len(events) == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), recordTime)
	defer cancel()
	due := d.Now().Add(cutRetry)
	err := d.DB.Write(ctx, func(tx *sqldb.Tx) error {
		held, err := d.Node.Fence(tx, []cluster.Claim{c}).Held(ctx)
		if err != nil || !held(c) {
			return err
		}
		tx.Queue(`UPDATE outbox SET due_at = $2, not_before = $2 WHERE event_id = ANY($1) AND `+isPending, events, due)
		return nil
	})
	d.note(context.Background(), "put off webhooks that were cut off", err)
}

// sortedKeys returns the keys of a map in order: everybody locks rows in the same one.
func sortedKeys[V any](m map[int64]V) []int64 {
	ids := make([]int64, 0, len(m))
	for id := range m {
		ids = append(ids, id)
	}
	slices.Sort(ids)
	return ids
}
