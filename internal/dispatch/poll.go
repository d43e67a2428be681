package dispatch

import (
	"context"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// poller looks for what is due: the net under messages, of which each may be lost.
type poller struct {
	wake  chan struct{}
	every time.Duration // without being told

	gained atomic.Bool // a shard, whose refused events were not looked at

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
		timer.Reset(d.poller.pause(time.Since(began)))
	}
}

// pause is how long to wait after a poll that took so long.
func (p *poller) pause(took time.Duration) time.Duration { return max(p.every, pollShare*took) }

// poll tells lanes that something of theirs is due, or that their endpoint was changed.
func (d *Dispatcher) poll(ctx context.Context) error {
	d.poller.mu.Lock()
	defer d.poller.mu.Unlock()
	ctx, cancel := context.WithTimeout(ctx, queryTime)
	defer cancel()
	d.lanes.mu.Lock()
	inMemory, owned := slices.Collect(maps.Keys(d.lanes.lanes)), len(d.lanes.claims)
	d.lanes.mu.Unlock()
	if owned == 0 {
		return nil
	}
	if err := d.tellChanged(ctx, inMemory); err != nil {
		return err
	}
	partners, err := d.Store.DuePartners(ctx)
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
	versions, err := d.Store.Versions(ctx, partners)
	if err != nil {
		return err
	}
	d.lanes.mu.Lock()
	defer d.lanes.mu.Unlock()
	for id, version := range versions {
		if l := d.lanes.lanes[id]; l != nil {
			l.box.post(func(m *mail) { m.changed = version })
		}
	}
	return nil
}

// refusedEvery is how often all refused events are looked at.
const refusedEvery = 10 * time.Second

// tellRefused has lanes look at licenses whose refused event may make way for a newer one:
// now and then, and when a shard was gained.
func (d *Dispatcher) tellRefused(ctx context.Context) error {
	now := d.Store.Now()
	if since := now.Sub(d.poller.refusedAt); !d.poller.gained.Swap(false) && since >= 0 && since < refusedEvery {
		return nil
	}
	d.poller.refusedAt = now
	list, err := d.Store.RefusedLicenses(ctx)
	for _, r := range list {
		d.post(r.PartnerID, func(m *mail) { m.hints = append(m.hints, r.LicenseID) })
	}
	return err
}
