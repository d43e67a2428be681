package webhook

import "slices"

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
	q := query{partnerID: l.partnerID, claim: l.claim, to: l.to, reload: k.reload || !l.to.known, due: k.due || k.more, held: len(l.held), after: k.after}
	if l.to.known && l.to.URL == "" && !q.reload {
		k.due, k.more, k.hints = false, false, map[int64]bool{}
		return
	}
	q.space = l.d.limits.memory.take(l, len(l.held), l.pace.capacity()-len(l.held))
	if q.space == 0 && !q.reload {
		k.more = k.more || k.due
		return
	}
	for id := range k.hints {
		if h := l.held[id]; h != nil {
			h.again = true
			delete(k.hints, id)
		} else if len(q.hints) < q.space {
			q.hints = append(q.hints, id)
			delete(k.hints, id)
		}
	}
	k.out, k.reload = true, false
	k.due = q.due && q.space == 0
	l.to.known = l.to.known && !q.reload // until it is known again, nothing is sent
	slices.Sort(q.hints)
	l.d.limits.work.Go(func() {
		f := l.d.find(q)
		if !l.box.post(func(m *mail) { m.found = f }) {
			l.d.limits.memory.give(f.space)
		}
	})
}

// endSearch takes what a search found.
func (l *lane) endSearch(f *findings) {
	l.look.out = false
	if f.err != nil {
		l.look.reload = l.look.reload || f.reload
		l.alarm.set(pollEvery)
	}
	if f.to.known && !l.look.reload {
		l.to.Endpoint, l.to.known = f.to.Endpoint, true
		l.learn(f.to.health)
	}
	if !l.to.known || l.to.URL == "" {
		l.dropQueue()
	}
	l.take(f)
	for id, h := range l.held {
		if h.item == nil {
			l.letGo(id)
		}
	}
}

// take holds what was found as far as there is space. The next search begins behind what
// is held of what is due, unless something may be due before it.
func (l *lane) take(f *findings) {
	left, full, after := f.space, false, cursor{}
	for i, it := range f.items {
		h := l.held[it.licenseID]
		switch {
		case h != nil:
			h.again = h.again || h.item == nil || h.item.eventID != it.eventID || h.item.generation != it.generation
		case left == 0:
			full = true
		case (l.to.open() || it.probe) && !l.look.reload && !l.ending.stop:
			left--
			l.hold(it)
		}
		if i < f.due && !full {
			after = cursor{it.dueAt, it.eventID}
		}
	}
	l.d.limits.memory.give(left)
	if !f.searched {
		return
	}
	l.look.more, l.look.after = f.more || full, cursor{}
	if l.look.more && !l.look.due {
		l.look.after = after
	}
}
