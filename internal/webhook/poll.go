package webhook

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"claviger/internal/sqldb"
)

// poller looks for what is due: the net under messages, of which each may be lost.
type poller struct {
	wake chan struct{}

	mu        sync.Mutex // one poll at a time
	refusedAt time.Time  // when refused events were last looked at
}

// pollOften polls each second, or less often where a poll takes long, and when it is told to.
func (d *Dispatcher) pollOften(ctx context.Context) {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-d.poller.wake:
		case <-timer.C:
		}
		began := time.Now()
		d.note(ctx, "look for due webhooks", d.poll(ctx))
		timer.Reset(max(pollEvery, pollShare*time.Since(began)))
	}
}

// poll tells lanes that something of theirs is due, or that their endpoint was changed.
func (d *Dispatcher) poll(ctx context.Context) error {
	d.poller.mu.Lock()
	defer d.poller.mu.Unlock()
	ctx, cancel := context.WithTimeout(ctx, queryTime)
	defer cancel()
	d.lanes.mu.Lock()
	inMemory, owned := sortedKeys(d.lanes.lanes), len(d.lanes.claims)
	d.lanes.mu.Unlock()
	if owned == 0 {
		return nil
	}
	if err := d.tellChanged(ctx, inMemory); err != nil {
		return err
	}
	partners, err := d.due(ctx)
	if err != nil {
		return err
	}
	for _, id := range partners {
		d.post(id, func(m *mail) { m.due = true })
	}
	return d.tellRefused(ctx)
}

// tellChanged tells lanes in memory which version of their endpoint there is.
func (d *Dispatcher) tellChanged(ctx context.Context, partners []int64) error {
	type version struct{ partnerID, changed int64 }
	for part := range slices.Chunk(partners, 1000) {
		list, err := sqldb.All(ctx, d.DB, func(r *sqldb.Row, v *version) error { return r.Scan(&v.partnerID, &v.changed) },
			`SELECT partner_id, changed FROM endpoints WHERE partner_id = ANY($1)`, part)
		if err != nil {
			return fmt.Errorf("look for changed endpoints: %w", err)
		}
		d.lanes.mu.Lock()
		for _, v := range list {
			if l := d.lanes.lanes[v.partnerID]; l != nil {
				l.box.post(func(m *mail) { m.changed = v.changed })
			}
		}
		d.lanes.mu.Unlock()
	}
	return nil
}

// due returns the partners that have a delivery due, by jumping from partner to partner
// in the index instead of reading what lies between; and those whose endpoint is to be
// probed or drained, for which nothing need be due.
func (d *Dispatcher) due(ctx context.Context) ([]int64, error) {
	ids, err := sqldb.All(ctx, d.DB, sqldb.Value[int64], `WITH RECURSIVE p (id) AS (
			SELECT min(partner_id) FROM outbox WHERE `+isPending+`
			UNION ALL SELECT (SELECT min(o.partner_id) FROM outbox AS o WHERE o.`+isPending+` AND o.partner_id > p.id) FROM p WHERE p.id IS NOT NULL)
		SELECT p.id FROM p LEFT JOIN endpoints AS e ON e.partner_id = p.id
		WHERE p.id IS NOT NULL AND coalesce(e.closed, FALSE) = FALSE AND (
			CASE WHEN coalesce(e.parked_at, 0) <> 0 THEN e.probe_at <= $1
			ELSE coalesce(e.draining, 0) <> 0 OR (SELECT min(o.due_at) FROM outbox AS o WHERE o.partner_id = p.id AND o.`+isPending+`) <= $1 END)
		ORDER BY p.id`, d.Now())
	if err != nil {
		return nil, fmt.Errorf("look for due deliveries: %w", err)
	}
	return ids, nil
}

// refusedEvery is how often all refused events are looked at.
const refusedEvery = 10 * time.Second

// tellRefused has lanes look at licenses whose refused event may make way for a newer
// one: who was told of the newer one may have ended before it was seen to.
func (d *Dispatcher) tellRefused(ctx context.Context) error {
	now := d.Now()
	if since := now.Sub(d.poller.refusedAt); d.Policy.Supersede.Attempts <= 0 || since >= 0 && since < refusedEvery {
		return nil
	}
	d.poller.refusedAt = now
	type refused struct{ partnerID, licenseID int64 }
	list, err := sqldb.All(ctx, d.DB, func(r *sqldb.Row, v *refused) error { return r.Scan(&v.partnerID, &v.licenseID) },
		`SELECT h.partner_id, h.license_id FROM outbox AS h WHERE h.`+isPending+` AND h.refused_alone = TRUE AND h.refused_since <= $1 AND h.refusals >= $2
			AND EXISTS (SELECT 1 FROM outbox AS n WHERE n.license_id = h.license_id AND n.`+isPending+` AND n.event_id > h.event_id)
		ORDER BY h.refused_since LIMIT 1000`, now.Add(-d.Policy.Supersede.After), d.Policy.Supersede.Attempts)
	if err != nil {
		return fmt.Errorf("look for refused events: %w", err)
	}
	for _, r := range list {
		d.post(r.partnerID, func(m *mail) { m.hints = append(m.hints, r.licenseID) })
	}
	return nil
}
