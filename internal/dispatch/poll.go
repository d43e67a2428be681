package dispatch

import (
	"context"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// poller finds due deliveries with a lost notification.
type poller struct {
	wake  chan struct{}
	every time.Duration // without a wake-up

	missed atomic.Bool // hints may have been missed: a shard was gained, or the listener was away

	mu        sync.Mutex // one poll at a time
	checkedAt time.Time  // last check for missed hints
}

// pollOften polls every second, less often if a poll takes long, and when woken.
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

// pause returns the wait after a poll of this duration.
func (p *poller) pause(took time.Duration) time.Duration { return max(p.every, pollShare*took) }

// poll tells lanes that a delivery is due, or that their endpoint changed.
func (d *Dispatcher) poll(ctx context.Context) error {
	d.poller.mu.Lock()
	defer d.poller.mu.Unlock()
	ctx, cancel := context.WithTimeout(ctx, queryTime)
	defer cancel()
	d.lanes.mu.Lock()
	inMemory := slices.Collect(maps.Keys(d.lanes.lanes))
	owned := len(d.lanes.claims)
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
		d.post(id, ordered(orderDue))
	}
	return d.tellMissed(ctx)
}

// tellChanged sends the lanes in memory the current version of their endpoint.
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

// checkEvery is the interval of checks for missed hints.
const checkEvery = 10 * time.Second

// tellMissed makes lanes check licenses that may have an event to send before it is due: a newer event
// may supersede a refused one, or the clock of another node was ahead when it scheduled the event.
// Lanes normally learn this from hints. tellMissed runs at intervals, and after hints may have been
// missed.
func (d *Dispatcher) tellMissed(ctx context.Context) error {
	now := d.Store.Now()
	if since := now.Sub(d.poller.checkedAt); !d.poller.missed.Swap(false) && since >= 0 && since < checkEvery {
		return nil
	}
	d.poller.checkedAt = now
	refused, err := d.Store.RefusedLicenses(ctx)
	if err != nil {
		return err
	}
	ahead, err := d.Store.AheadLicenses(ctx)
	for _, v := range slices.Concat(refused, ahead) {
		d.post(v.PartnerID, func(m *mail) { m.hints = append(m.hints, v.LicenseID) })
	}
	return err
}
