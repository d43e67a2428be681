package webhook

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"claviger/internal/sqldb"
)

// start makes the dispatcher ready. Alone on its database, it takes back what an
// earlier run held; otherwise such leases run out by themselves.
func (d *Dispatcher) start(ctx context.Context) error {
	if d.Alone {
		if err := handBack(ctx, d.DB, ""); err != nil {
			return fmt.Errorf("take back the deliveries of an earlier run: %w", err)
		}
	}
	d.mu.Lock()
	d.started = true
	d.mu.Unlock()
	d.nudge()
	return nil
}

// share is how many partners are served in one transaction, so that none keeps
// the database to itself for long.
const share = 16

// round sees to the partners that something is due for: those that were named,
// or all when it was not said which.
func (d *Dispatcher) round(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, askTime)
	defer cancel()
	d.mu.Lock()
	named, search, back, spent := d.wants, d.search, d.returned, d.spent()
	d.wants, d.search, d.returned = map[int64]bool{}, false, nil
	d.mu.Unlock()
	if err := errors.Join(release(ctx, d.DB, d.node, back), end(ctx, d.DB, spent)); err != nil {
		return err // what is not given back runs out
	}
	d.note(ctx, "supersede refused webhooks", d.supersede(ctx)) // sending goes on
	ids := keys(named)
	if search {
		all, err := due(ctx, d.DB, d.Now())
		if err != nil {
			return err
		}
		for _, id := range d.turned(all) {
			if !named[id] {
				ids = append(ids, id)
			}
		}
	}
	for part := range slices.Chunk(ids, share) {
		if err := d.serve(ctx, part); err != nil {
			return err
		}
		if search {
			d.last = part[len(part)-1]
		}
		d.mu.Lock()
		full := len(d.held) >= d.limits.held
		d.mu.Unlock()
		if full {
			break // the rest comes first at the next search
		}
	}
	return nil
}

// turned is the partners in such an order that the one after the last that was
// served comes first.
func (d *Dispatcher) turned(ids []int64) []int64 {
	i, _ := slices.BinarySearch(ids, d.last+1)
	return slices.Concat(ids[i:], ids[:i])
}

// serve claims of the partners' due deliveries as much as their lanes have room
// for, and probes parked endpoints.
func (d *Dispatcher) serve(ctx context.Context, partners []int64) error {
	now := d.Now()
	var wanted []*wish
	for _, id := range partners {
		l, err := d.look(ctx, id)
		if err != nil {
			return err
		}
		if l == nil {
			continue
		}
		d.mu.Lock()
		l.usedAt = now
		room, e := l.room(), l.endpoint
		l.more = l.open() && room <= 0
		d.mu.Unlock()
		switch {
		case e.URL == "":
		case !e.ParkedAt.IsZero():
			if err := d.probe(ctx, l, e, now); err != nil {
				return err
			}
		case room > 0:
			wanted = append(wanted, &wish{partnerID: id, room: room})
		}
	}
	if len(wanted) == 0 {
		return nil
	}
	return d.keep(ctx, now, wanted)
}

// look returns the partner's lane after it looked anew at the endpoint, if what
// the lane knows of it is old; nil when that cannot be told. An error is the
// database's; what is wrong with one partner alone concerns no other.
func (d *Dispatcher) look(ctx context.Context, partnerID int64) (*lane, error) {
	now := d.Now()
	d.mu.Lock()
	l := d.lane(partnerID)
	fresh, forgotten := l.fresh(now), l.forgotten
	d.mu.Unlock()
	if fresh {
		return l, nil
	}
	e, failing, err := d.load(ctx, partnerID)
	if err != nil && d.DB.Ping(ctx) != nil {
		return nil, err
	}
	d.note(ctx, fmt.Sprintf("look up the webhook endpoint of partner %d", partnerID), err)
	if err != nil {
		return nil, nil //nolint:nilnil // said above
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	l.failing = failing
	if l.forgotten == forgotten {
		l.loadedAt = now
	}
	d.learn(l, e)
	d.pump()
	return l, nil
}

// load reads an endpoint and how it fares.
func (d *Dispatcher) load(ctx context.Context, partnerID int64) (e Endpoint, failing bool, err error) {
	e, err = d.Endpoint(ctx, partnerID)
	if err != nil {
		return e, false, fmt.Errorf("look up the endpoint of partner %d: %w", partnerID, err)
	}
	type state struct{ failing, parked, probe time.Time }
	s, err := sqldb.One(ctx, d.DB, func(r *sqldb.Row, s *state) error { return r.Scan(&s.failing, &s.parked, &s.probe) },
		`SELECT failing_since, parked_at, probe_at FROM endpoints WHERE partner_id = $1`, partnerID)
	if err != nil && !errors.Is(err, sqldb.ErrNone) {
		return e, false, fmt.Errorf("see how the endpoint of partner %d fares: %w", partnerID, err)
	}
	e.ParkedAt, e.ProbeAt = s.parked, s.probe
	return e, !s.failing.IsZero(), nil
}

// probe sends one delivery to a parked endpoint when it is time.
func (d *Dispatcher) probe(ctx context.Context, l *lane, e Endpoint, now time.Time) error {
	if e.ProbeAt.After(now) {
		return nil
	}
	it, err := d.claimProbe(ctx, now, l.partnerID)
	if err != nil && !errors.Is(err, sqldb.ErrNone) {
		return fmt.Errorf("probe the endpoint of partner %d: %w", l.partnerID, err)
	}
	d.mu.Lock()
	if err == nil {
		l.endpoint.ProbeAt = now.Add(d.ProbeEvery)
	} else {
		l.loadedAt = time.Time{} // another node probes, or the endpoint is open again
	}
	d.mu.Unlock()
	if it != nil {
		d.accept(it)
	}
	return nil
}

// stop ends requests in flight in their own time, or cuts them off when that is
// up, records what came of them and hands everything else back.
func (d *Dispatcher) stop(recorded <-chan struct{}) {
	d.mu.Lock()
	d.stopping = true
	d.mu.Unlock()
	late := time.AfterFunc(d.drain, d.cut)
	d.flying.Wait()
	late.Stop()
	d.cut()
	d.mu.Lock()
	d.closed = true
	d.mu.Unlock()
	signal(d.told)
	late = time.AfterFunc(bookTime, d.shut)
	<-recorded
	late.Stop()
	d.shut()
	ctx, cancel := context.WithTimeout(context.Background(), bookTime)
	defer cancel()
	d.note(ctx, "hand back webhooks", handBack(ctx, d.DB, d.node))
}
