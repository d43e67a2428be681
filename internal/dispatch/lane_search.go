package dispatch

import (
	"context"
	"fmt"
	"slices"

	"claviger/internal/webhook"
)

// search looks at the endpoint and for deliveries, where there is need and space.
func (l *lane) search() {
	k := &l.look
	wants := k.reload || k.due || len(k.hints) > 0 || k.more && len(l.queue) <= 4*int(l.pace.limit)
	if !wants {
		l.d.limits.memory.leave(l)
	}
	if k.out || l.ending.stop || !wants {
		return
	}
	q := webhook.Search{
		PartnerID: l.partnerID, Claim: l.claim, To: l.to, Reload: k.reload || !l.known, Due: k.due || k.more, Held: len(l.held), After: k.after,
	}
	if l.known && l.to.URL == "" && !q.Reload {
		k.due, k.more, k.hints = false, false, map[int64]bool{}
		return
	}
	q.Space = l.d.limits.memory.take(l, len(l.held), l.pace.capacity()-len(l.held))
	if q.Space == 0 && !q.Reload {
		return
	}
	for id := range k.hints {
		if h := l.held[id]; h != nil {
			h.again = true
			delete(k.hints, id)
		} else if len(q.Hints) < q.Space {
			q.Hints = append(q.Hints, id)
			delete(k.hints, id)
		}
	}
	k.out, k.reload = true, false
	k.due = q.Due && q.Space == 0
	l.known = l.known && !q.Reload // until it is known again, nothing is sent
	slices.Sort(q.Hints)
	l.d.limits.work.Go(func() {
		f := l.d.find(q)
		if !l.box.post(func(m *mail) { m.found = f }) {
			l.d.limits.memory.give(f.asked.Space)
		}
	})
}

// findings is what a search brought.
type findings struct {
	webhook.Found
	asked webhook.Search
	err   error // nothing was found
}

// find makes a search. What is wrong with one partner alone concerns no other.
func (d *Dispatcher) find(q webhook.Search) *findings {
	ctx, cancel := context.WithTimeout(context.Background(), queryTime)
	defer cancel()
	f := &findings{asked: q}
	f.Found, f.err = d.Store.Find(ctx, q)
	d.note(context.Background(), fmt.Sprintf("look for webhooks to partner %d", q.PartnerID), f.err) // also that ctx is over
	return f
}

// endSearch takes what a search found.
func (l *lane) endSearch(f *findings) {
	l.look.out = false
	if f.err != nil {
		l.alarm.set(pollEvery) // and the endpoint, if it was looked for, is not known until then
	} else if !l.look.reload {
		if f.asked.Reload {
			l.to, l.known = &webhook.Destination{Endpoint: f.To.Endpoint, Health: l.to.Health}, true
		}
		l.learnFound(f.To.Health)
	}
	l.look.passed = false
	if !l.known || l.to.URL == "" {
		l.dropQueue()
	}
	l.take(f)
	for id, h := range l.held {
		if h.item == nil {
			l.letGo(id)
		}
	}
}

// learnFound takes how the endpoint did when a search looked at it, which is older than
// what a record told meanwhile, unless there was an act since. Where the two differ, the
// next search tells.
func (l *lane) learnFound(h webhook.Health) {
	if !l.look.passed || h.Changed > l.to.Changed {
		l.learn(h)
	} else if h.Parked() != l.to.Parked() || h.Draining() != l.to.Draining() {
		l.look.due = true
	}
}

// take holds what was found as far as there is space. The next search begins behind what
// is held of what is due, unless something may be due before it.
func (l *lane) take(f *findings) {
	left, full, after := f.asked.Space, false, webhook.Cursor{}
	for i, it := range f.Items {
		h := l.held[it.LicenseID]
		switch {
		case h != nil:
			h.again = h.again || h.item == nil || h.item.EventID != it.EventID || h.item.Generation != it.Generation
		case left == 0:
			full = true
		case (l.open() || it.Probe) && !l.look.reload && !l.ending.stop:
			left--
			l.hold(it)
		}
		if i < f.Due && !full {
			after = webhook.Cursor{DueAt: it.DueAt, EventID: it.EventID}
		}
	}
	l.d.limits.memory.give(left)
	if !f.Searched {
		return
	}
	l.look.more, l.look.after = f.More || full, webhook.Cursor{}
	if l.look.more && !l.look.due {
		l.look.after = after
	}
}
