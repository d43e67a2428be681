package dispatch

import (
	"context"
	"fmt"
	"slices"

	"claviger/internal/webhook"
)

// looking contains the lane's demands on the database.
type looking struct {
	search searchState
	due    bool           // search for due deliveries
	more   bool           // the last search found more than fits
	hints  map[int64]bool // licenses to check
	after  webhook.Cursor // everything up to here was found
	found  foundNew
}

// searchFromStart demands a search for all due deliveries.
func (l *lane) searchFromStart() {
	l.look.due = true
	l.look.after = webhook.Cursor{}
}

// search loads the endpoint and searches for deliveries, if necessary and if there is space.
func (l *lane) search() {
	k := &l.look
	wants := l.endpoint == outdated || k.due || len(k.hints) > 0 || k.more && len(l.queue) <= 4*int(l.pace.limit)
	if !wants {
		l.d.limits.memory.leave(l)
	}
	if k.search != idle || l.ending.phase != running || !wants {
		return
	}
	q := webhook.Search{
		PartnerID: l.partnerID, Claim: l.claim, To: l.to, Reload: l.endpoint != current,
		Due: k.due || k.more, Held: len(l.held), After: k.after,
	}
	if l.to.URL == "" && !q.Reload {
		k.due = false
		k.more = false
		k.hints = map[int64]bool{}
		return
	}
	q.Space = l.d.limits.memory.take(l, len(l.held), l.pace.capacity()-len(l.held))
	if q.Space == 0 && !q.Reload {
		return
	}
	for id := range k.hints {
		if h := l.held[id]; h != nil {
			l.setHead(h, onNews)
			delete(k.hints, id)
		} else if len(q.Hints) < q.Space {
			q.Hints = append(q.Hints, id)
			delete(k.hints, id)
		}
	}
	slices.Sort(q.Hints)
	k.due = q.Due && q.Space == 0
	l.setSearch(onSearch, nil)
	if q.Reload {
		l.know(onLoad, nil)
	}
	l.d.limits.work.Go(func() {
		f := l.d.find(q)
		if !l.box.post(func(m *mail) { m.found = f }) {
			l.d.limits.memory.give(f.asked.Space)
		}
	})
}

// findings is the result of a search.
type findings struct {
	webhook.Found
	asked webhook.Search
	err   error // nothing was found
}

// find runs a search. An error of one partner does not affect others.
func (d *Dispatcher) find(q webhook.Search) *findings {
	ctx, cancel := context.WithTimeout(context.Background(), queryTime)
	defer cancel()
	f := &findings{asked: q}
	f.Found, f.err = d.Store.Find(ctx, q)
	// Also logs a timeout.
	d.note(context.Background(), fmt.Sprintf("look for webhooks to partner %d", q.PartnerID), f.err)
	return f
}

// endSearch handles the result of a search.
func (l *lane) endSearch(f *findings) {
	m := onFound
	if f.err != nil {
		m = onFailed
	}
	l.know(m, f) // until it is loaded, nothing is sent
	if m == onFound && l.endpoint != current {
		m = onStale
	}
	l.setSearch(m, f)
	if !l.known() || l.to.URL == "" {
		l.dropQueue()
	}
	l.takeFound(f)
	for _, h := range l.held {
		if h.state == settled {
			l.setHead(h, onFree)
		}
	}
}

// takeFound takes found deliveries as far as there is space. The next search starts after the last
// due delivery taken, unless something may be due before it.
func (l *lane) takeFound(f *findings) {
	left := f.asked.Space
	full := false
	after := webhook.Cursor{}
	for i, it := range f.Items {
		h := l.head(it.LicenseID)
		switch {
		case h.state != free:
			if h.state == settled || h.item.EventID != it.EventID || h.item.Generation != it.Generation {
				l.setHead(h, onNews)
			}
		case left == 0:
			full = true
		case (l.open() || it.Probe) && l.endpoint == current && l.ending.phase == running:
			left--
			l.take(h, it)
			if it.Attempts == 0 {
				l.look.found.add(it.EventID)
			}
		}
		if i < f.Due && !full {
			after = webhook.Cursor{DueAt: it.DueAt, EventID: it.EventID}
		}
	}
	l.d.limits.memory.give(left)
	if !f.Searched {
		return
	}
	l.look.more = f.More || full
	l.look.after = webhook.Cursor{}
	if l.look.more && !l.look.due {
		l.look.after = after
	}
}
